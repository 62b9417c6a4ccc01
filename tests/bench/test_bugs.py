"""The catalogue of seeded bugs: large enough, and every kind makes a real change somewhere."""

import ast

import pytest

from palmette.engine.actor import Measurement, Verdict, Violation
from palmette.features.checks.static.check import violations
from palmette.features.script_tree import ScriptTree, parse
from palmette_bench import scripts
from palmette_bench.bugs import KINDS, Bug
from palmette_bench.checks import VIEWS, SeededResult, SoundResult, is_good, report
from palmette_bench.featbench.suite import task


@pytest.fixture(scope="module")
def sources() -> dict[str, ScriptTree]:
    found = {}
    for name in VIEWS:
        view = task(name).view
        found[name] = parse(scripts.script_of(view), view, "build")
    return found


def test_the_catalogue_is_large_and_its_names_are_unique() -> None:
    assert len({bug.name for bug in KINDS}) == len(KINDS) >= 24


@pytest.mark.parametrize("bug", KINDS, ids=lambda bug: bug.name)
def test_a_bug_changes_some_script_into_other_python(bug: Bug, sources: dict[str, ScriptTree]) -> None:
    changed = {name: text for name, source in sources.items() if (text := bug.inject(source)) is not None}
    assert changed
    for name, text in changed.items():
        assert ast.dump(ast.parse(text)) != ast.dump(sources[name].tree)


def test_static_rules_raise_no_alarm_on_correct_scripts(sources: dict[str, ScriptTree]) -> None:
    assert [violation.message for name, source in sources.items() for violation in violations(source, name)] == []


def sound(*codes: str, mutation: str = "passed") -> SoundResult:
    found = tuple(Violation(code=code, message=code) for code in codes)
    return SoundResult(
        "v",
        Verdict(
            ok=not found,
            violations=found,
            measurements=(Measurement(name="mutation", status=mutation, detail="9 of 10"),),
        ),
        1.0,
    )


@pytest.mark.parametrize(
    ("sounds", "caught", "good"),
    [
        ([sound()], 20, True),
        ([sound()], 19, False),
        ([sound("differential")], 20, False),
        ([sound("mutant-survived", mutation="warning")], 20, True),
        ([sound("mutation", mutation="failed")], 20, False),
    ],
)
def test_what_is_required(sounds: list[SoundResult], caught: int, good: bool) -> None:
    cells = [SeededResult(f"k{number}", "v", "static" if number < caught else "", (), 1.0) for number in range(20)]
    assert is_good(sounds, cells) is good


def test_the_report_names_what_was_missed() -> None:
    text = report(
        [sound()], [SeededResult("fan-out join", "v", "", (), 1.0), SeededResult("append", "v", "static", (), 1.0)]
    )
    assert "| fan-out join | **missed** |" in text
    assert "1 of 2 caught" in text
