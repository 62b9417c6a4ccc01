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


def test_cases_cover_the_view_and_tests_written_from_them_pass_on_the_stand_in(team: SmallTeam, tmp_path: Path) -> None:
    cases, verdict = judged(team, "testcase_generator", tmp_path / "cases")
    assert verdict.ok, verdict.violations
    assert [len(case.expect) for case in cases.cases] == [19, 2], "by the oracle"
    (tmp_path / "tests").mkdir()
    _, verdict = judged(team, "testcase_coder", tmp_path / "tests", cases=cases)
    assert verdict.ok, verdict.violations


@pytest.mark.parametrize(("edit", "codes"), [
    (("# (c) shop", "# (c) shop"), set()),
    (('< F.lit(as_of)', '<= F.lit(as_of)'), {"differential"}),
], ids=["good", "wrong at the edge"])  # fmt: skip
def test_scripts_written_from_the_meaning_are_measured(
    team: SmallTeam, tmp_path: Path, edit: tuple[str, str], codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [check for check in registered() if check.cost < CHEAP or check.code == "differential"]
    monkeypatch.setattr(code_generator, "registered", lambda: wanted)
    _, verdict = judged(team, "code_generator", tmp_path, edit)
    assert {found.code for found in verdict.violations} >= codes
    assert verdict.ok is (not codes), verdict.violations
