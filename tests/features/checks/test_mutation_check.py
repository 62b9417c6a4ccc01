"""The mutation check: who is killed, who is equivalent, and what a survivor's evidence says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from palmette.features.checks import ScriptUnderTest
from palmette.features.checks.mutation import FIRST_SCENARIOS, ORIGINAL, MutationCheck
from palmette.features.frame import Frame
from palmette.features.harness.connect import (
    RUNNER_FAILED,
    SPARK_DIED,
    CaseResult,
    OrderOfTests,
    ScriptCase,
    SuiteResult,
)
from palmette.features.mutation.mutants import MutantHistory
from palmette.features.oracle.compare import ExpectedFrame
from palmette.features.passed import PassedBefore
from palmette.features.spec.resolve import load_view
from palmette.features.spec.view import View

ACTIVITY = Path(__file__).parent / "activity"


@dataclass
class FakeHarness:
    """Tests notice the given share of the mutants; every mutant changes `orders_30d`, or none does."""

    view: View
    noticed: float
    harmless: bool = False
    wrong: bool = False
    """The tests do not pass on the script either."""
    breaks: str = ""
    """Error of the last mutant."""
    ends: str = ""
    """The same of the script itself."""
    tested: dict[str, OrderOfTests] = field(default_factory=dict)
    """The mutants that the tests ran on, and which tests came first."""
    survivors: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """The scenarios that ran on mutants."""

    def execute(self, script: Path, entry: str, cases: Sequence[ScriptCase], **_: Any) -> list[CaseResult]:
        counts = [2 if case.script and not self.harmless else 1 for case in cases]
        frames = [Frame.of(self.view.output, [{"customer_id": 1, "orders_30d": count}]) for count in counts]
        self.compared += [case.name for case in cases if case.script]
        return [CaseResult(case.name, frame) for case, frame in zip(cases, frames, strict=True)]

    def run_tests(
        self, tests: Path, variants: Mapping[str, str], script: Path, orders: Mapping[str, OrderOfTests], **_: Any
    ) -> dict[str, SuiteResult]:
        mutants = [name for name in variants if name != ORIGINAL]
        self.survivors = self.survivors or mutants[round(self.noticed * len(mutants)) :]
        self.tested = {**orders, **self.tested}
        found = {name: SuiteResult(("a",), {} if name in self.survivors else {"b": "failed"}) for name in mutants}
        own = SuiteResult(("a",), {"b": "failed"} if self.wrong else {}, self.ends)
        return {ORIGINAL: own, **found, **({mutants[-1]: SuiteResult(error=self.breaks)} if self.breaks else {})}


@pytest.fixture(scope="module")
def activity() -> View:
    return load_view(ACTIVITY / "fsc.yaml", ACTIVITY / "dfr.yaml")


def subject_of(view: View, harness: FakeHarness) -> ScriptUnderTest:
    return ScriptUnderTest(
        view=view,
        script=ACTIVITY / "activity.py",
        root=ACTIVITY,
        entry="build",
        harness=harness,
        tests=ACTIVITY / "activity_tests.py",
    )


def test_all_killed(activity: View) -> None:
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=1.0)))
    assert not outcome.violations
    assert outcome.detail.startswith("10 of 10 mutants killed")


def test_few_survivors_are_tolerated_and_say_what_they_change(activity: View) -> None:
    harness = FakeHarness(activity, noticed=0.9)
    outcome = MutationCheck(size=10).check(subject_of(activity, harness))
    assert [violation.code for violation in outcome.violations] == ["mutant-survived"]
    assert len(harness.compared) == FIRST_SCENARIOS, "a difference needs no more scenarios"
    evidence = outcome.violations[0].evidence
    assert evidence.startswith("- ")
    assert "\n+ " in evidence
    assert "orders_30d: expected 1, got 2" in evidence


def test_too_many_survivors_fail(activity: View) -> None:
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=0.5)))
    assert [violation.code for violation in outcome.violations] == ["mutation", *["mutant-survived"] * 5]
    assert "5 of 10 mutants, 50%" in outcome.violations[0].message


def test_a_mutant_that_changes_no_output_is_presumed_equivalent(activity: View) -> None:
    harness = FakeHarness(activity, noticed=0.5, harmless=True)
    outcome = MutationCheck(size=10).check(subject_of(activity, harness))
    assert not outcome.violations
    assert set(harness.compared) == {one.name for one in subject_of(activity, harness).scenarios}
    assert outcome.detail.startswith("5 of 5 mutants killed")
    assert outcome.detail.endswith("5 presumed equivalent)")


def test_a_later_run_measures_the_same_mutants_with_less_work(activity: View, tmp_path: Path) -> None:
    history = MutantHistory(PassedBefore(tmp_path))
    first, again, other = (FakeHarness(activity, noticed=0.5, harmless=one) for one in (True, True, False))
    outcomes = [
        MutationCheck(size=10).check(replace(subject_of(activity, harness), history=history))
        for harness in (first, again, other)
    ]
    assert outcomes[0].detail.startswith("5 of 5 mutants killed") and not outcomes[1].violations
    assert len(first.tested) == 10 and len(again.tested) == 5, "an output that is unchanged again needs no test"
    assert all(order.hints[0] == "b" for order in again.tested.values()), "first the test that noticed it before"
    assert len(other.tested) == 10 and outcomes[2].violations, "what changes an output now is tested"


def test_a_mutant_of_what_tests_cannot_expect_is_shown_and_not_counted(
    activity: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ExpectedFrame({}, (), {"orders_30d": "the function map"})
    monkeypatch.setattr("palmette.features.checks.mutation.expected", lambda *_: answer)
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=0.5)))
    assert {violation.code for violation in outcome.violations} == {"mutant-survived"}
    assert outcome.detail.startswith("5 of 5 mutants killed, 5 could not be judged")


@pytest.mark.parametrize("harmless", [True, False])
def test_without_a_mutant_that_can_be_judged_the_check_is_skipped(
    harmless: bool, activity: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ExpectedFrame({}, (), {"orders_30d": "the function map"})
    monkeypatch.setattr("palmette.features.checks.mutation.expected", lambda *_: answer)
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=0.0, harmless=harmless)))
    assert outcome.skipped.startswith("no mutant could be judged") and not outcome.violations


def test_tests_that_fail_anyway_kill_nothing(activity: View) -> None:
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=1.0, wrong=True)))
    assert outcome.skipped == "the tests do not pass on the script itself: b: failed"


@pytest.mark.parametrize(
    "said",
    [{"breaks": f"{RUNNER_FAILED} (internal_error)"}, {"breaks": f"{SPARK_DIED}: twice"}, {"ends": "NotRun: late"}],
)
def test_a_runner_or_a_spark_that_is_gone_kills_nothing(said: dict[str, str], activity: View) -> None:
    """Nor does whoever ends it come around the check."""
    outcome = MutationCheck(size=10).check(subject_of(activity, FakeHarness(activity, noticed=1.0, **said)))
    assert [violation.code for violation in outcome.violations] == ["mutation"]
    assert next(iter(said.values())) in outcome.violations[0].message
