"""Runs under `kill -9`: before and after every event, and at random moments; each ends as if nothing had been.

`python -m palmette.bench.kills toys=300 automl=20 features=20` kills so often, one run after the other: a third of the
kills before events, a third after them, a third at random, where there are as many events. Exit status 1 when a
resumed run differs from undisturbed ones, repeats what was done or paid, leaves a process or a broken file behind.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from palmette.bench.comparing import Leaves, artefacts, damaged, differing, steady
from palmette.bench.kill_cases import Case, Features, Models, Toys, forge
from palmette.bench.killing import Chain, Moment, adopt_orphans, killed_until_done
from palmette.engine import run_state
from palmette.sandbox.temporary import temporary_folder

MOMENTS: tuple[Moment, ...] = ("before", "after", "random")
NAMES = (Toys.name, Models.name, Features.name)


@dataclass
class Tally:
    """What came of one kind of run."""

    kills: Counter[Moment] = field(default_factory=Counter)
    runs: int = 0
    seconds: float = 0.0
    span: float = math.inf
    """Seconds of the quickest run that was not killed."""
    compared: int = 0
    """Values of artefacts that are the same in every undisturbed run."""
    measured: int = 0
    """Those that are not."""
    wrong: list[str] = field(default_factory=list)

    def line(self, name: str) -> str:
        each = "".join(f"{self.kills[moment]:>9}" for moment in MOMENTS)
        figures = f"{self.runs:>7}{self.compared:>10}{self.measured:>10}{len(self.wrong):>7}"
        return f"{name:<10}{self.kills.total():>7}{each}{figures}{self.seconds:>10.0f}"


HEADER = (
    f"{'runs of':<10}{'kills':>7}{'before':>9}{'after':>9}{'random':>9}{'ended':>7}{'compared':>10}{'measured':>10}"
    f"{'wrong':>7}{'seconds':>10}"
)


def tally(case: Case, kills: int, root: Path, rng: random.Random) -> Tally:
    """Kills runs of one kind so often, and holds each against two that were left alone."""
    found = Tally()
    begun = time.monotonic()
    one, other = (_run(case, root / f"undisturbed-{number}", (), rng, found) for number in (1, 2))
    wanted = {place: value for place, value in steady(one, other).items() if not place.startswith(case.timed)}
    found.compared, found.measured = len(wanted), len(one) - len(wanted)
    shares = dict(zip(MOMENTS, (kills // 3, kills // 3, kills - 2 * (kills // 3)), strict=True))
    for moments in (MOMENTS,) if case.is_slow else ((moment,) for moment in MOMENTS):
        while not found.wrong:
            plan = [moment for moment in moments for _ in range(shares[moment] - found.kills[moment])]
            rng.shuffle(plan)
            before = found.kills.total()
            if plan:
                made = _run(case, root / f"{moments[0]}-{found.runs}", plan, rng, found)
                found.wrong += differing(made, wanted)
            if found.kills.total() == before and "random" not in plan:
                break
    found.seconds = time.monotonic() - begun
    return found


def _run(case: Case, place: Path, plan: Sequence[Moment], rng: random.Random, found: Tally) -> Leaves:
    """One run, killed at these moments as long as it lasts; what it made."""
    place.mkdir()
    run = place / "run"
    chain = killed_until_done(case.job(place), run, plan, rng, found.span)
    if not chain.kills:
        found.span = min(found.span, chain.seconds)
    found.kills.update(chain.kills)
    found.runs += 1
    found.wrong += [f"{place.name}: {what}" for what in _wrong(case, place, chain)]
    return artefacts(run)


def _wrong(case: Case, place: Path, chain: Chain) -> Iterator[str]:
    run = place / "run"
    yield from (f"{command!r} outlived its run" for command in chain.orphans)
    yield from (f"{path.name} is left in the temporary folder" for path in (place / "scratch").iterdir())
    ended = run_state(run).ended
    if ended and ended.status == "finished":
        yield from damaged(run)
        yield from case.wrong(place, run)
    else:
        yield f"it did not end: {chain.failed or (ended.reason if ended else 'for no reason')}"


def _so_often(text: str) -> tuple[str, int]:
    """`toys=300`: of which kind, and how many kills."""
    name, _, number = text.partition("=")
    if name not in NAMES or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(f'{one}=N' for one in NAMES)}")
    return name, int(number)


def main(arguments: Sequence[str]) -> int:
    """Prints a line for each kind of run, then what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m palmette.bench.kills", description=__doc__)
    parser.add_argument("kills", nargs="*", type=_so_often, default=[("toys", 300)], metavar="toys|automl|features=N")
    parser.add_argument("--run-file", type=Path, default=Path("build/offers/runs/user_offer_redemptions.yaml"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if "features" in dict(given.kills) and not given.run_file.is_file():
        parser.error(f"{given.run_file} is not there: `python examples/offers/prepare.py` makes the example")
    adopt_orphans()
    wrong = []
    print(HEADER)
    with ExitStack() as held:
        root = held.enter_context(temporary_folder())
        cases: list[Case] = [Toys(0.002), Models(5.0), Features(given.run_file.absolute(), held.enter_context(forge()))]
        for name, number in given.kills:
            (case,) = [case for case in cases if case.name == name]
            (root / name).mkdir()
            found = tally(case, number, root / name, random.Random(given.seed))
            print(found.line(name), flush=True)
            wrong += [f"{name}: {what}" for what in found.wrong]
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
