"""Answers as a good model gives them from the prompts alone: cases, their tests and the script meet the criteria."""

from pathlib import Path
from typing import Any

import pytest
from canned import Canned, models
from small_team import SmallTeam

from palmette.engine import Context, Verdict, create
from palmette.features.actors.code_generator import actor as code_generator
from palmette.features.checks import registered
from palmette.sandbox import Sandbox, WarmSpark

ANSWERS = Path(__file__).with_name("answers")
CHEAP = 10
"""Checks below this cost need few runs of Spark."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox, warm_spark: WarmSpark) -> SmallTeam:
    return SmallTeam(tmp_path_factory.mktemp("team"), sandbox, warm_spark)


def judged(
    team: SmallTeam, name: str, folder: Path, edit: tuple[str, str] = ("# (c)", "# (c)"), **given: Any
) -> tuple[Any, Verdict]:
    """What became of an answer, and the verdict on it."""
    reply = (ANSWERS / f"{name}.md").read_text("utf-8").replace(*edit)
    actor = create("actor", f"features.{name}", {**team.services, "models": models(Canned([reply]))})
    asked = team.input(f"features.{name}").model_copy(update=given)
    context = Context(name, folder)
    output = actor.run(asked, context).output
    return output, actor.check(asked, output, context)


def test_cases_that_say_only_what_is_given_cover_the_view(team: SmallTeam, tmp_path: Path) -> None:
    cases, verdict = judged(team, "testcase_generator", tmp_path)
    assert verdict.ok, verdict.violations
    assert [len(case.expect) for case in cases.cases] == [19, 2], "by the oracle"


@pytest.mark.parametrize(("edit", "code"), [
    (("# (c)", "# (c)"), None),
    (("made: several_sales_and_nulls", "made: several_sales_and_nulls\n    given = {}"), "test-failed"),
    (("def test_several", "def several"), "tests-not-run"),
], ids=["good", "wrong", "short"])  # fmt: skip
def test_tests_written_from_the_cases_are_measured_on_the_stand_in(
    team: SmallTeam, tmp_path: Path, edit: tuple[str, str], code: str | None
) -> None:
    cases, _ = judged(team, "testcase_generator", tmp_path / "cases")
    (tmp_path / "tests").mkdir()
    _, verdict = judged(team, "testcase_coder", tmp_path / "tests", edit, cases=cases)
    assert verdict.ok is (code is None)
    assert [found.code for found in verdict.violations] == ([code] if code else [])


@pytest.mark.parametrize(("edit", "codes"), [
    (("# (c) shop", "# (c) shop"), set()),
    (("def build(", "def make("), {"missing-function"}),
    (('< F.lit(as_of)', '<= F.lit(as_of)'), {"differential"}),
], ids=["good", "without its function", "wrong at the edge"])  # fmt: skip
def test_scripts_written_from_the_meaning_are_measured(
    team: SmallTeam, tmp_path: Path, edit: tuple[str, str], codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [check for check in registered() if check.cost < CHEAP or check.code == "differential"]
    monkeypatch.setattr(code_generator, "registered", lambda: wanted)
    _, verdict = judged(team, "code_generator", tmp_path, edit)
    assert {found.code for found in verdict.violations} >= codes
    assert verdict.ok is (not codes), verdict.violations
