"""The author's own examples: against the oracle, and against the script."""

from __future__ import annotations

from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.cases import Example, examples, failure, unlike
from palmette.features.oracle import NotCovered, WouldFail, expected, skipped_text
from palmette.features.spec.view import View

NO_TESTS = "the specification has no unit tests"


class SpecCheck:
    """The specification's own examples agree with its definitions."""

    code: ClassVar[str] = "spec"
    codes: ClassVar[tuple[str, ...]] = ("spec",)
    owner: ClassVar[Owner] = "human"
    cost: ClassVar[int] = 1

    def check(self, subject: Subject) -> Outcome:
        view = subject.view
        found = examples(view)
        skipped = {name: reason for example in found for name, reason in _not_covered(view, example).items()}
        judged = [example for example in found if example.name not in skipped]
        if not judged:
            return Outcome(skipped=skipped_text(skipped) or NO_TESTS)
        parts = [f"{len(judged)} unit tests of the specification", skipped_text(skipped)]
        return Outcome(contradictions(view), detail="; ".join(part for part in parts if part))


def contradictions(view: View) -> tuple[Violation, ...]:
    """The author's examples that the author's definitions do not fulfil, by the oracle; `subject` is the example."""
    found = []
    for example in examples(view):
        try:
            output = expected(view, example.frames, example.as_of)
            problem = unlike(view, example.without(output.skipped), output)
        except NotCovered:
            continue
        except WouldFail as reason:
            problem = f"the computation fails: {reason}"
        if problem:
            message = f"Unit test {example.name!r} of the specification contradicts its definitions."
            found.append(Violation(code=SpecCheck.code, subject=example.name, message=message, evidence=problem))
    return tuple(found)


def _not_covered(view: View, example: Example) -> dict[str, str]:
    """The features that the oracle cannot judge in an example, or the example itself; each with the reason."""
    try:
        skipped = expected(view, example.frames, example.as_of).skipped
    except NotCovered as reason:
        return {example.name: str(reason)}
    except WouldFail:
        return {}
    return {name: reason for name, reason in skipped.items() if name in example.expect.schema}


class GoldenCheck:
    """The script gives the rows that the specification's own examples expect."""

    code: ClassVar[str] = "golden"
    codes: ClassVar[tuple[str, ...]] = ("golden", "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 10

    def check(self, subject: Subject) -> Outcome:
        if not subject.examples:
            return Outcome(skipped=NO_TESTS)
        violations = []
        for example, result in zip(subject.examples, subject.outputs.examples, strict=True):
            if result.frame is None:
                violations.append(failure(result))
            elif problem := unlike(subject.view, example, result.frame):
                message = f"Unit test {example.name!r} of the specification fails on the script."
                violations.append(Violation(code=self.code, subject=example.name, message=message, evidence=problem))
        return Outcome(tuple(violations), detail=f"{len(subject.examples)} unit tests of the specification")
