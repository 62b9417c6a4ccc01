"""What every check must keep to: every registered one, and that of the team's suite."""

from pathlib import Path
from typing import get_args

import pytest
from check_cases import CASES, FILES, CheckCase, subject, without

from palmette.features.checks import OWNERS, Check, Owner, ScriptUnderTest, TeamSuiteCheck, registered
from palmette.features.harness.connect import ConnectHarness
from palmette.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("few_scenarios")
KNOWN = [*registered(), TeamSuiteCheck]
by_code = pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)


def test_every_registered_check_has_a_case() -> None:
    assert [case.code for case in CASES] == [check.code for check in KNOWN]


def test_checks_have_codes_of_their_own_and_run_cheapest_first() -> None:
    assert len({check.code for check in KNOWN}) == len(KNOWN)
    assert [check.cost for check in registered()] == sorted(check.cost for check in registered())


@pytest.mark.parametrize("check", KNOWN, ids=lambda check: check.code)
def test_it_says_what_it_holds_and_who_answers_for_it(check: Check) -> None:
    assert (check.__doc__ or "").strip().endswith(".")
    assert check.owner in get_args(Owner)
    assert check.cost >= 0
    assert check.codes
    assert all(code in OWNERS for code in check.codes)


@pytest.fixture(scope="module")
def right(harness: ConnectHarness, tmp_path_factory: pytest.TempPathFactory) -> ScriptUnderTest:
    """Everything in it is correct; all checks share the outputs of its script."""
    return subject(tmp_path_factory.mktemp("right"), harness)


@by_code
def test_it_is_quiet_on_what_is_correct_and_says_what_it_measured(
    case: CheckCase, right: ScriptUnderTest, sandbox: Sandbox
) -> None:
    outcome = case.check(sandbox).check(right)
    assert not [item.message + item.evidence for item in outcome.violations if item.code != "mutant-survived"]
    assert outcome.detail and not outcome.skipped


@by_code
def test_it_finds_a_mistake_and_shows_it(
    case: CheckCase, harness: ConnectHarness, sandbox: Sandbox, tmp_path: Path
) -> None:
    check = case.check(sandbox)
    outcome = check.check(subject(tmp_path / "wrong", harness, case.mistake.made(FILES)))
    found = [violation for violation in outcome.violations if violation.code in (case.finds or {case.code})]
    assert found and not outcome.skipped
    assert {violation.code for violation in outcome.violations} <= set(check.codes) | {"test-failed"}
    assert all(violation.message and violation.evidence for violation in found)


@pytest.mark.parametrize("case", [case for case in CASES if case.needs], ids=lambda case: case.code)
def test_with_nothing_to_check_it_is_skipped_and_says_why(
    case: CheckCase, right: ScriptUnderTest, sandbox: Sandbox
) -> None:
    outcome = case.check(sandbox).check(without(right, case.needs))
    assert outcome.skipped and not outcome.violations
