"""`python -m palmette.bench.hostile [LEVEL ...]`: hostile programs at each level of isolation that works here.

Levels are those of PALMETTE_ISOLATION; without any, all. Exit status 1 when one succeeds where programs are isolated.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from palmette.bench.hostile.bench import Kind, Outcome, attempt, programs
from palmette.errors import MachineError
from palmette.sandbox import LEVELS, Sandbox, isolation_of, python_command
from palmette.sandbox.levels import UNSAFE

RUNS = 20
KINDS: tuple[Kind, ...] = ("refused", "harmless", "succeeded")


def main(levels: Sequence[str]) -> int:
    """Prints a table for each level."""
    wrong = 0
    plain = overhead(())
    print(f"a program of nothing, without the sandbox: {plain:.0f} ms\n")
    for level in levels or LEVELS:
        try:
            sandbox = Sandbox(isolation_of(level))
            own = overhead((sandbox,))
        except MachineError as error:
            print(f"{level}: {error}\n")
            continue
        outcomes = [attempt(program, sandbox) for program in programs()]
        print_table(sandbox.isolation.name, outcomes)
        print(f"overhead of a run: {own - plain:.0f} ms\n")
        wrong += sum(one.kind == "succeeded" for one in outcomes) * (level != UNSAFE)
    return int(wrong > 0)


def overhead(sandboxes: Sequence[Sandbox]) -> float:
    """The median time of a Python program that does nothing, in milliseconds; in the sandbox where one is given."""
    import subprocess

    times, command = [], python_command("-c", "")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            started = time.perf_counter()
            for sandbox in sandboxes:
                sandbox.run(command, cwd=Path(folder))
            if not sandboxes:
                subprocess.run(command, cwd=folder, check=True)
            times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def print_table(name: str, outcomes: Sequence[Outcome]) -> None:
    """A line for each aim, then what succeeded and how."""
    print(f"{name:<28}" + "".join(f"{kind:>11}" for kind in KINDS))
    for aim in dict.fromkeys(one.program.aim for one in outcomes):
        counts = Counter(one.kind for one in outcomes if one.program.aim == aim)
        print(f"  {aim:<26}" + "".join(f"{counts[kind]:>11}" for kind in KINDS))
    counts = Counter(one.kind for one in outcomes)
    print(f"  {f'{len(outcomes)} programs':<26}" + "".join(f"{counts[kind]:>11}" for kind in KINDS))
    for one in outcomes:
        if one.found:
            print(f"  {one.program.aim}/{one.program.name}: {'; '.join(one.found)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
