"""Compares the script with the independent oracle on adversarial frames."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import difference, failure
from palmette.features.oracle import ExpectedFrame, NotCovered, WouldFail, expected, skipped_text


class DifferentialCheck:
    """The script and the oracle, which share no code, agree on adversarial frames."""

    code: ClassVar[str] = "differential"
    codes: ClassVar[tuple[str, ...]] = ("differential", "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 20

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        view, reason = subject.view, "no scenario could be made for this view"
        wanted: dict[str, ExpectedFrame] = {}
        for scenario in subject.scenarios:
            try:
                wanted[scenario.name] = expected(view, scenario.frames, scenario.as_of)
            except (NotCovered, WouldFail) as error:
                reason = str(error)
        rows = sum(len(frame.rows) for frame in wanted.values())
        if not rows:
            return CheckResult(skipped="no row of the scenarios is one of the view" if wanted else reason)
        violations = []
        for scenario, result in zip(subject.scenarios, subject.outputs.scenarios, strict=True):
            if scenario.name not in wanted:
                continue
            if result.frame is None:
                violations.append(failure(result))
            elif problem := difference(view, wanted[scenario.name], result.frame):
                message = f"Script and oracle disagree in scenario {scenario.name!r}: {scenario.why}"
                violations.append(Violation(code=self.code, subject=scenario.name, message=message, evidence=problem))
        left_out = len(subject.scenarios) - len(wanted)
        left = f"{left_out} left out: {reason}" if left_out else ""
        parts = [f"{len(wanted)} scenarios, {rows} rows", left, _skipped(list(wanted.values()))]
        return CheckResult(tuple(violations), detail="; ".join(part for part in parts if part))


def _skipped(wanted: Sequence[ExpectedFrame]) -> str:
    """Lists the skipped features; includes the number of scenarios unless it is all that have rows."""
    wanted = [frame for frame in wanted if frame.rows]
    counts = Counter(name for frame in wanted for name in frame.skipped)
    reasons = {name: reason for frame in wanted for name, reason in frame.skipped.items()}
    return skipped_text(
        {
            name: reason if counts[name] == len(wanted) else f"{reason} (in {counts[name]} scenarios)"
            for name, reason in reasons.items()
        }
    )
