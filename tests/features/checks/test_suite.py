"""The suite: order, stopping, skipping, tolerating."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palmette.engine.actor import Violation
from palmette.features.checks import CheckResult, Owner, ScriptUnderTest, run_checks
from palmette.features.passed import PassedBefore

SUBJECT: Any = None
"""No check here looks at it."""
PASSED = CheckResult()


@dataclass
class Fake:
    """A check with a made-up outcome."""

    code: str
    cost: int
    outcome: CheckResult = PASSED
    owner: Owner = "code_generator"
    codes: tuple[str, ...] = ()

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        return self.outcome


def found(code: str) -> CheckResult:
    return CheckResult((Violation(code=code, message="x"),))


def run(*checks: Fake) -> tuple[bool, list[tuple[str, str]]]:
    verdict = run_checks(SUBJECT, checks)
    return verdict.ok, [(item.name, item.status) for item in verdict.measurements]


def test_cheap_checks_run_first() -> None:
    assert run(Fake("dear", 30), Fake("cheap", 0)) == (True, [("cheap", "passed"), ("dear", "passed")])


def test_a_check_of_the_script_that_has_passed_is_not_run_again(tmp_path: Path) -> None:
    def run(detail: str, *content: object, fails: bool = False) -> list[str]:
        outcome = CheckResult(found("x").violations if fails else (), detail=detail)
        passed = PassedBefore(tmp_path, *content)
        verdict = run_checks(SUBJECT, [Fake("static", 0, outcome), Fake("mutation", 10, outcome)], passed=passed)
        return [one.detail.rpartition("; ")[2] for one in verdict.measurements]

    assert run("failed", "script", fails=True) == ["failed", "failed"]
    assert run("first", "script") == ["first", "first"]
    assert run("again", "script") == ["kept: first", "again"], "mutation depends on the tests, too"
    assert run("changed", "another script") == ["changed", "changed"]


def test_an_expensive_check_is_skipped_after_a_failure_and_says_why() -> None:
    assert run(Fake("cheap", 0, found("x")), Fake("middle", 5), Fake("dear", 30)) == (
        False,
        [("cheap", "failed"), ("middle", "passed"), ("dear", "skipped")],
    )
    verdict = run_checks(SUBJECT, [Fake("cheap", 0, found("x")), Fake("dear", 30)])
    assert verdict.measurements[1].detail == "not run, because cheap failed"


def test_a_skipped_check_is_no_passed_one() -> None:
    assert run(Fake("a", 0, CheckResult(skipped="no tests"))) == (True, [("a", "skipped")])


def test_surviving_mutants_are_shown_and_tolerated() -> None:
    verdict = run_checks(SUBJECT, [Fake("mutation", 40, found("mutant-survived"))])
    assert verdict.ok
    assert [violation.code for violation in verdict.violations] == ["mutant-survived"]
    assert verdict.measurements[0].status == "warning"
