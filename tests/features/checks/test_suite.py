"""The suite: order, stopping, skipping, tolerating, and one contract for every registered check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from palmette.engine.actor import Violation
from palmette.features.checks import ALL, OWNERS, Check, Outcome, Owner, Subject, TeamSuiteCheck, registered, run_checks

SUBJECT: Any = SimpleNamespace()
PASSED = Outcome()


@dataclass
class Fake:
    """A check with a made-up outcome."""

    code: str
    cost: int
    outcome: Outcome = PASSED
    owner: Owner = "code_generator"
    codes: tuple[str, ...] = ()

    def check(self, subject: Subject) -> Outcome:
        return self.outcome


def found(code: str) -> Outcome:
    return Outcome((Violation(code=code, message="x"),))


def run(*checks: Fake) -> tuple[bool, list[tuple[str, str]]]:
    verdict = run_checks(SUBJECT, checks)  # type: ignore[arg-type]
    return verdict.ok, [(item.name, item.status) for item in verdict.measurements]


def test_cheap_checks_run_first() -> None:
    assert run(Fake("dear", 30), Fake("cheap", 0)) == (True, [("cheap", "passed"), ("dear", "passed")])


def test_an_expensive_check_is_skipped_after_a_failure_and_says_why() -> None:
    assert run(Fake("cheap", 0, found("x")), Fake("middle", 5), Fake("dear", 30)) == (
        False,
        [("cheap", "failed"), ("middle", "passed"), ("dear", "skipped")],
    )
    verdict = run_checks(SUBJECT, [Fake("cheap", 0, found("x")), Fake("dear", 30)])  # type: ignore[list-item]
    assert verdict.measurements[1].detail == "not run, because cheap failed"


def test_a_skipped_check_is_no_passed_one() -> None:
    assert run(Fake("a", 0, Outcome(skipped="no tests"))) == (True, [("a", "skipped")])


def test_surviving_mutants_are_shown_and_tolerated() -> None:
    verdict = run_checks(SUBJECT, [Fake("mutation", 40, found("mutant-survived"))])  # type: ignore[list-item]
    assert verdict.ok
    assert [violation.code for violation in verdict.violations] == ["mutant-survived"]
    assert verdict.measurements[0].status == "warning"


@pytest.mark.parametrize("check", [*registered(), TeamSuiteCheck], ids=lambda check: check.code)
def test_every_check_keeps_the_contract(check: Check) -> None:
    assert (check.__doc__ or "").strip().endswith(".")
    assert check.owner in get_args(Owner)
    assert check.cost >= 0
    assert check.codes
    assert all(code in OWNERS for code in check.codes)


def test_names_of_checks_are_unique_and_sorted_by_cost() -> None:
    assert len({check.code for check in ALL}) == len(ALL)
    assert [check.cost for check in ALL] == sorted(check.cost for check in ALL)


@pytest.mark.parametrize("check", [check for check in ALL if check.code in ("tests", "mutation")], ids=lambda c: c.code)
def test_without_a_test_file_there_is_nothing_to_check(check: Check, tmp_path: Path) -> None:
    subject: Any = SimpleNamespace(tests=None, script=tmp_path / "x.py")
    assert check.check(subject).skipped
