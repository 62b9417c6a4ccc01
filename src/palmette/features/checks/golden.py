"""Checks the author's own examples against the oracle and against the script."""

from collections.abc import Iterator
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.errors import counted
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import Example, examples, failure, unlike
from palmette.features.oracle import NotCovered, WouldFail, expected, skipped_text
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
        return CheckResult(contradictions(subject.view), detail="; ".join(part for part in parts if part))


def contradictions(view: View) -> tuple[Violation, ...]:
    """Examples that contradict the specification's definitions, according to the oracle; `subject` is the example."""
    return tuple(
        Violation(
            code=SpecCheck.code,
            subject=example.name,
            message=f"Unit test {example.name!r} of the specification contradicts its definitions.",
            evidence=problem,
        )
        for example, problem, _ in _compare_examples(view)
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
