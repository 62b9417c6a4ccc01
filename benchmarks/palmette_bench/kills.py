"""Runs under `kill -9`: before and after every event, and at random moments; each ends as if nothing had been.

`python -m palmette_bench kills toys=300 automl=20 features=20` kills so often, one run after the other: a third of the
kills before events, a third after them, a third at random, where there are as many events. Exit status 1 when a
resumed run differs from undisturbed ones, repeats what was done or paid, leaves a process or a broken file behind.
"""

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click

from palmette.engine import run_state
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.kill_cases import FeatureRuns, KillCase, ModelRuns, ToyRuns, forge
from palmette_bench.kill_chain import Chain, Moment, adopt_orphans, killed_until_done
from palmette_bench.run_comparison import Leaves, artefacts, damaged, differing, steady

MOMENTS: tuple[Moment, ...] = ("before", "after", "random")
EXAMPLE = Path("build/offers/runs/user_offer_redemptions.yaml")
NAMES = (ToyRuns.name, ModelRuns.name, FeatureRuns.name)


@dataclass
class KillTally:
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


def tally(case: KillCase, kills: int, root: Path, rng: random.Random) -> KillTally:
    """Kills runs of one kind so often, and holds each against two that were left alone."""
    found = KillTally()
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


def _run(case: KillCase, place: Path, plan: Sequence[Moment], rng: random.Random, found: KillTally) -> Leaves:
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


def _wrong(case: KillCase, place: Path, chain: Chain) -> Iterator[str]:
    run = place / "run"
    yield from (f"{command!r} outlived its run" for command in chain.orphans)
    yield from (f"{path.name} is left in the temporary folder" for path in (place / "scratch").iterdir())
    ended = run_state(run).ended
    if ended and ended.status == "finished":
        yield from damaged(run)
        yield from case.wrong(place, run)
    else:
        yield f"it did not end: {chain.failed or (ended.reason if ended else 'for no reason')}"


def _kill_count(text: str) -> tuple[str, int]:
    """`toys=300`: the kind of run, and how many kills."""
    name, _, number = text.partition("=")
    if name not in NAMES or not number.isdecimal():
        raise click.BadParameter(f"{text!r} is not one of {', '.join(f'{one}=N' for one in NAMES)}")
    return name, int(number)


@click.command()
@click.argument("kills", nargs=-1, metavar="[toys|automl|features=N]...")
@click.option("--run-file", type=click.Path(path_type=Path), default=EXAMPLE, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(kills: tuple[str, ...], run_file: Path, seed: int) -> None:
    """Kill runs N times with kill -9; exit status 1 when a resumed run differs from an undisturbed one."""
    wanted = [_kill_count(text) for text in kills or ("toys=300",)]
    if "features" in dict(wanted) and not run_file.is_file():
        raise click.UsageError(f"{run_file} does not exist: run `python examples/offers/prepare.py` first")
    adopt_orphans()
    wrong = []
    print(HEADER)
    with ExitStack() as held:
        root = held.enter_context(temporary_folder())
        cases: list[KillCase] = [
            ToyRuns(0.002),
            ModelRuns(5.0),
            FeatureRuns(run_file.absolute(), held.enter_context(forge())),
        ]
        for name, number in wanted:
            (case,) = [case for case in cases if case.name == name]
            (root / name).mkdir()
            found = tally(case, number, root / name, random.Random(seed))
            print(found.line(name), flush=True)
            wrong += [f"{name}: {what}" for what in found.wrong]
    print("\n".join(wrong))
    sys.exit(int(bool(wrong)))
