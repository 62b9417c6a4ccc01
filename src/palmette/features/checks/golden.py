"""Checks that script, oracle and the author's own examples agree, two at a time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.errors import counted
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import Example, difference, examples, failure, unlike
from palmette.features.oracle import ExpectedFrame, NotCovered, WouldFail, expected, skipped_text
from palmette.features.spec.view import View

NO_TESTS = "the specification has no unit tests"


class SpecCheck:
    """The specification's own examples agree with its definitions."""

    code: ClassVar[str] = "spec"
    codes: ClassVar[tuple[str, ...]] = ("spec",)
    owner: ClassVar[Owner] = "human"
    cost: ClassVar[int] = 1

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        judged = list(_compare_examples(subject.view))
        skipped = {name: reason for _, _, reasons in judged for name, reason in reasons.items()}
        count = sum(example.name not in skipped for example, _, _ in judged)
        if not count:
            return CheckResult(skipped=skipped_text(skipped) or NO_TESTS)
        parts = [f"{counted(count, 'unit test')} of the specification", skipped_text(skipped)]
        return CheckResult(_contradictions(judged), detail="; ".join(part for part in parts if part))


def contradictions(view: View) -> tuple[Violation, ...]:
    """Examples that contradict the specification's definitions, according to the oracle; `subject` is the example."""
    return _contradictions(_compare_examples(view))


def _contradictions(judged: Iterable[tuple[Example, str, dict[str, str]]]) -> tuple[Violation, ...]:
    return tuple(
        Violation(
            code=SpecCheck.code,
            subject=example.name,
            message=f"Unit test {example.name!r} of the specification contradicts its definitions.",
            evidence=problem,
        )
        for example, problem, _ in judged
        if problem
    )


def _compare_examples(view: View) -> Iterator[tuple[Example, str, dict[str, str]]]:
    """Yields each example, its difference from the definitions, and what the oracle cannot check, with reasons."""
    for example in examples(view):
        try:
            output = expected(view, example.frames, example.as_of)
        except NotCovered as reason:
            yield example, "", {example.name: str(reason)}
        except WouldFail as reason:
            yield example, f"the computation fails: {reason}", {}
        else:
            skipped = {name: why for name, why in output.skipped.items() if name in example.expect.schema}
            yield example, unlike(view, example.without(output.skipped), output), skipped


class GoldenCheck:
    """The script gives the rows that the specification's own examples expect."""

    code: ClassVar[str] = "golden"
    codes: ClassVar[tuple[str, ...]] = ("golden", "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 10

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if not subject.examples:
            return CheckResult(skipped=NO_TESTS)
        violations = []
        for example, result in zip(subject.examples, subject.outputs.examples, strict=True):
            if result.frame is None:
                violations.append(failure(result))
            elif problem := unlike(subject.view, example, result.frame):
                message = f"Unit test {example.name!r} of the specification fails on the script."
                violations.append(Violation(code=self.code, subject=example.name, message=message, evidence=problem))
        detail = f"{counted(len(subject.examples), 'unit test')} of the specification"
        return CheckResult(tuple(violations), detail=detail)


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
