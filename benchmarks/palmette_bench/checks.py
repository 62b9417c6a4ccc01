"""What the checks catch: seeded bugs in correct scripts, false alarms, and how many mutants the tests kill.

The exit status is 0 when over 95 % of the bugs are caught, no correct script raises an alarm, and the
generated tests of every view kill at least 85 % of the mutants. A bug counts where its kind has a place.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from palmette.delivery.markdown import table
from palmette.engine.actor import Measurement, Verdict
from palmette.features.checks import ALL, Check, ScriptUnderTest, run_checks
from palmette.features.harness.connect import ConnectHarness
from palmette.features.script_tree import parse
from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder
from palmette_bench import scripts
from palmette_bench.bugs import KINDS, Bug
from palmette_bench.featbench.suite import task

CAUGHT = 0.95
VIEWS = (
    "usr_ofr_rdm_ftrs",
    "usr_tier_rdm_ftrs",
    "tp_ofr_ftrs",
    "usr_visit_ftrs",
    "usr_intr_hour_ftrs",
    "usr_ofr_rec_pit_ftrs",
)
"""Tasks of FeatBench in which every kind of bug has a place."""
QUICK = ("usr_ofr_rdm_ftrs", "usr_tier_rdm_ftrs")
WITHOUT_TESTS: tuple[Check, ...] = tuple(check for check in ALL if check.code not in ("tests", "mutation"))
"""What a bug has to be caught by: nothing that the generated tests do counts."""


@dataclass(frozen=True)
class SeededResult:
    """One kind of bug in one view's script."""

    kind: str
    view: str
    caught_by: str
    """Name of the cheapest check that failed; empty when none did."""
    codes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class SoundResult:
    """The correct script of one view under all checks."""

    view: str
    verdict: Verdict
    seconds: float

    @property
    def alarms(self) -> list[str]:
        """What was found although nothing is wrong."""
        return [v.message for v in self.verdict.violations if v.code not in ("mutant-survived", "mutation")]

    @property
    def mutation(self) -> Measurement | None:
        return next((item for item in self.verdict.measurements if item.name == "mutation"), None)


@dataclass(frozen=True)
class CheckBench:
    """Runs everything on one warm Spark."""

    harness: ConnectHarness
    folder: Path

    def subject(self, name: str) -> ScriptUnderTest:
        """The view's correct script and its generated tests, written to the folder."""
        view = task(name).view
        root = self.folder / name
        root.mkdir()
        script = root / f"{name}.py"
        script.write_text(scripts.script_of(view), encoding="utf-8")
        tests = root / f"test_{name}.py"
        tests.write_text(scripts.tests_of(view), encoding="utf-8")
        (root / "conftest.py").write_text(scripts.CONFTEST, encoding="utf-8")
        return ScriptUnderTest(view=view, script=script, root=root, entry="build", harness=self.harness, tests=tests)

    def sound(self, subject: ScriptUnderTest) -> SoundResult:
        started = time.monotonic()
        return SoundResult(subject.view.name, run_checks(subject, ALL), time.monotonic() - started)

    def seeded(self, subject: ScriptUnderTest, bug: Bug) -> SeededResult | None:
        """What catches the bug in the view's script; None where the bug has no place in it."""
        text = subject.script.read_text(encoding="utf-8")
        changed = bug.inject(parse(text, subject.view, subject.entry))
        if changed is None or changed == text:
            return None
        script = subject.script.with_name("seeded.py")
        script.write_text(changed, encoding="utf-8")
        started = time.monotonic()
        wrong = replace(subject, script=script)
        for check in WITHOUT_TESTS:
            verdict = run_checks(wrong, [check])
            if not verdict.ok:
                codes = tuple(dict.fromkeys(violation.code for violation in verdict.violations))
                return SeededResult(bug.name, subject.view.name, check.code, codes, time.monotonic() - started)
        return SeededResult(bug.name, subject.view.name, "", (), time.monotonic() - started)


def run(names: Sequence[str], kinds: Sequence[Bug]) -> tuple[list[SoundResult], list[SeededResult]]:
    """All views, all kinds; progress goes to standard error."""
    sounds, cells = [], []
    with temporary_folder() as folder, WarmSpark() as spark:
        bench = CheckBench(ConnectHarness(spark), folder)
        for name in names:
            subject = bench.subject(name)
            sounds.append(bench.sound(subject))
            _log(f"{name}: {len(sounds[-1].alarms)} false alarms, {sounds[-1].seconds:.0f} s")
            for bug in kinds:
                cell = bench.seeded(subject, bug)
                if cell is not None:
                    cells.append(cell)
                    _log(f"  {bug.name}: {cell.caught_by or 'MISSED'} {cell.codes} {cell.seconds:.1f} s")
    return sounds, cells


def _log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def report(sounds: Sequence[SoundResult], cells: Sequence[SeededResult]) -> str:
    """The figures and the table, as Markdown."""
    caught = sum(bool(cell.caught_by) for cell in cells)
    kinds = list(dict.fromkeys(cell.kind for cell in cells))
    names = [sound.view for sound in sounds]
    by_place = {(cell.kind, cell.view): cell.caught_by or "**missed**" for cell in cells}
    seconds = sum(cell.seconds for cell in cells) / max(1, len(cells))
    mutants = {sound.view: sound.mutation.detail if sound.mutation else "not run" for sound in sounds}
    parts = [
        "# What the checks catch",
        "Made by `python -m palmette_bench checks --markdown FILE`.",
        f"- Seeded bugs: {len(kinds)} kinds in {len(names)} views, {caught} of {len(cells)} caught "
        f"({caught / max(1, len(cells)):.1%}), {seconds:.1f} s each on average.\n"
        f"- False alarms on the correct scripts: {sum(len(sound.alarms) for sound in sounds)}.",
        table(
            ("view", "all checks", "false alarms", "mutants"),
            [(one.view, f"{one.seconds:.0f} s", str(len(one.alarms)), mutants[one.view]) for one in sounds],
        ),
        table(("bug", *names), [(kind, *(by_place.get((kind, name), "–") for name in names)) for kind in kinds]),
        "A dash: this kind of bug has no place in the script. A name: the cheapest check that caught it.",
    ]
    return "\n\n".join(parts) + "\n"


def is_good(sounds: Sequence[SoundResult], cells: Sequence[SeededResult]) -> bool:
    """Whether the required shares are reached."""
    caught = sum(bool(cell.caught_by) for cell in cells)
    quiet = not any(sound.alarms for sound in sounds)
    killed = all(sound.mutation is None or sound.mutation.status in ("passed", "warning") for sound in sounds)
    return quiet and killed and (not cells or caught > CAUGHT * len(cells))


@click.command()
@click.option("--views", "chosen", multiple=True, type=click.Choice(VIEWS), help="Only this view; repeatable.")
@click.option("--kinds", multiple=True, metavar="WORD", help="Only bugs with this word in their name; repeatable.")
@click.option("--quick", is_flag=True, help=f"Only the views {', '.join(QUICK)}.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the report here.")
def main(chosen: tuple[str, ...], kinds: tuple[str, ...], quick: bool, markdown: Path | None) -> None:
    """Count the seeded bugs that the checks catch; exit status 1 when they catch too few or raise a false alarm."""
    names = chosen or (QUICK if quick else VIEWS)
    bugs = [bug for bug in KINDS if not kinds or any(word in bug.name for word in kinds)]
    sounds, cells = run(names, bugs)
    text = report(sounds, cells)
    if markdown:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write_text(text, encoding="utf-8")
    print(text)
    for sound in sounds:
        for alarm in sound.alarms:
            _log(f"false alarm in {sound.view}: {alarm}")
    sys.exit(0 if is_good(sounds, cells) else 1)
