"""Hostile programs at each level of isolation that works here, and what isolation adds to a run.

`python -m palmette_bench hostile [LEVEL ...] [--cost]`. Exit status 1 when one succeeds where programs are isolated.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import click

from palmette.errors import MachineError, UserError
from palmette.sandbox import LEVELS, Sandbox, isolation_of, python_command
from palmette.sandbox.isolation import UNSAFE
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.hostile.attempts import AttemptResult, Kind, attempt, programs

RUNS = 20
KINDS: tuple[Kind, ...] = ("refused", "harmless", "succeeded")


@click.command()
@click.argument("levels", nargs=-1, metavar="[LEVEL]...")
@click.option("--only", multiple=True, metavar="NAME", help="Only the program of this name; repeatable.")
@click.option("--cost", "cost_only", is_flag=True, help="Only what isolation adds to a run.")
def main(levels: tuple[str, ...], only: tuple[str, ...], cost_only: bool) -> None:
    """Run hostile programs at each LEVEL of isolation; exit status 1 when one succeeds where it is isolated."""
    wrong = 0
    plain = cost(())
    print(f"a program that does nothing takes {plain.wall:.0f} ms, {plain.processor:.0f} of them on a processor\n")
    for level in levels or LEVELS:
        try:
            sandbox = Sandbox(isolation_of(level))
            own = cost((sandbox,))
        except (MachineError, UserError) as error:
            print(f"{level}: {error}\n")
            continue
        outcomes = [attempt(program, sandbox) for program in (() if cost_only else programs(frozenset(only)))]
        print_table(sandbox.isolation.name, outcomes)
        wall, processor = own.wall - plain.wall, own.processor - plain.processor
        print(f"  added to a run: {wall:.0f} ms, {processor:.0f} of them on a processor\n")
        wrong += sum(one.kind == "succeeded" for one in outcomes) * (level != UNSAFE)
    sys.exit(int(wrong > 0))


class RunCost(NamedTuple):
    """The median of some runs, in milliseconds; on a busy machine processor time is the better measure."""

    wall: float
    processor: float


def cost(sandboxes: Sequence[Sandbox]) -> RunCost:
    """What a Python program that does nothing takes; in the sandbox where one is given."""
    walls, processors, command = [], [], python_command("-c", "")
    with temporary_folder() as folder:
        for _ in range(RUNS):
            started, used = time.perf_counter(), _processor()
            for sandbox in sandboxes:
                sandbox.run(command, cwd=folder)
            if not sandboxes:
                subprocess.run(command, cwd=folder, check=True)
            walls.append(1000 * (time.perf_counter() - started))
            processors.append(1000 * (_processor() - used))
    return RunCost(statistics.median(walls), statistics.median(processors))


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def print_table(name: str, outcomes: Sequence[AttemptResult]) -> None:
    """A line for each aim, then what succeeded and how; the name alone where none was tried."""
    print(f"{name:<28}" + "".join(f"{kind:>11}" for kind in KINDS if outcomes))
    if not outcomes:
        return
    for aim in dict.fromkeys(one.program.aim for one in outcomes):
        counts = Counter(one.kind for one in outcomes if one.program.aim == aim)
        print(f"  {aim:<26}" + "".join(f"{counts[kind]:>11}" for kind in KINDS))
    counts = Counter(one.kind for one in outcomes)
    print(f"  {f'{len(outcomes)} programs':<26}" + "".join(f"{counts[kind]:>11}" for kind in KINDS))
    for one in outcomes:
        if one.found:
            print(f"  {one.program.aim}/{one.program.name}: {'; '.join(one.found)}")
