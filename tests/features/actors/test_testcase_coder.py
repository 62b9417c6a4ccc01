"""The test file of a small view, run on Spark: it tells right from wrong; the criterion notices a bad one."""

from pathlib import Path
from typing import Any

import pytest
from small_team import SmallTeam

from palmette.engine.actor import Context, Verdict
from palmette.features.actors.testcase_coder.actor import CaseCoderInput, TestcaseCoder, verdict
from palmette.features.artefacts import Tests
from palmette.features.harness.connect import SuiteResult
from palmette.features.workbench import Workbench
from palmette.sandbox import Sandbox, WarmSpark

CODER, WRITER = "features.testcase_coder", "features.code_generator"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox, warm_spark: WarmSpark) -> SmallTeam:
    return SmallTeam(tmp_path_factory.mktemp("team"), sandbox, warm_spark)


@pytest.fixture(scope="module")
def asked(team: SmallTeam) -> CaseCoderInput:
    return CaseCoderInput.model_validate(team.input(CODER))


@pytest.fixture(scope="module")
def written(team: SmallTeam, asked: CaseCoderInput) -> Tests:
    output = team.actor(CODER).run(asked, Context(CODER, Path())).output
    assert isinstance(output, Tests)
    return output


def changed(tests: Tests, text: str) -> Tests:
    return tests.model_copy(update={"file": tests.file.model_copy(update={"text": text})})


def judged(team: SmallTeam, asked: CaseCoderInput, tests: Tests, folder: Path) -> Verdict:
    actor: TestcaseCoder = team.actor(CODER)
    return actor.check(asked, tests, Context(CODER, folder))


def test_a_file_that_cannot_run_or_leaves_cases_out_is_refused(
    team: SmallTeam, asked: CaseCoderInput, written: Tests, tmp_path: Path
) -> None:
    text = written.file.text
    short = text.replace("CASES.values(), ids=CASES", "[*CASES.values()][:1], ids=[*CASES][:1]")
    for name, changed_text in {"broken": f"{text}\nnowhere()\n", "short": short}.items():
        verdict = judged(team, asked, changed(written, changed_text), tmp_path / name)
        assert not verdict.ok
        assert [violation.code for violation in verdict.violations] == ["tests-not-run"]
        assert ("nowhere" if name == "broken" else "1 tests ran") in verdict.violations[0].message


def test_tests_that_fail_although_the_answers_are_right_are_reported(
    team: SmallTeam, asked: CaseCoderInput, written: Tests, tmp_path: Path
) -> None:
    first = asked.cases.cases[0].name
    text = written.file.text.replace("    actual = ", f"    assert rows != CASES[{first!r}][0]\n    actual = ")
    verdict = judged(team, asked, changed(written, text), tmp_path)
    assert [violation.subject for violation in verdict.violations] == [f"test_cases[{first}]"]


def test_tests_that_did_not_run_on_wrong_answers_are_not_said_to_notice_them() -> None:
    found = verdict(SuiteResult(("a",)), SuiteResult(error="TimeoutError: it ran longer than 20 s"), 1, "test_a.py")
    assert [violation.code for violation in found.violations] == ["tests-not-run"] and not found.ok


def test_the_tests_pass_on_the_script_and_fail_on_a_wrong_one(
    team: SmallTeam, asked: CaseCoderInput, written: Tests, tmp_path: Path
) -> None:
    bench: Any = team.services["workbench"]
    assert isinstance(bench, Workbench)
    script = team.actor(WRITER).run(team.input(WRITER), Context(WRITER, tmp_path)).output.file
    assert "30" in script.text
    root = bench.assemble([script, written.file], tmp_path / "checkout")
    results = bench.harness.run_tests(
        root / written.file.path,
        {"right": script.text, "wrong": script.text.replace("30", "31")},
        root / script.path,
        root=root,
    )
    assert results["right"].ok, results["right"]
    assert results["wrong"].failed and not results["wrong"].error
