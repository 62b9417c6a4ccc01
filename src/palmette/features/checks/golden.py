"""The author's own examples: against the oracle, and against the script."""

from __future__ import annotations

from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.cases import examples, failure, unlike
from palmette.features.harness.harness import Case
from palmette.features.oracle import NotCovered, WouldFail, expected

NO_TESTS = "the specification has no unit tests"


class SpecCheck:
    """The specification's own examples agree with its definitions."""

    code: ClassVar[str] = "spec"
    codes: ClassVar[tuple[str, ...]] = ("spec",)
    owner: ClassVar[Owner] = "human"
    cost: ClassVar[int] = 1

    def check(self, subject: Subject) -> Outcome:
        violations, skipped = [], []
        found = examples(subject.view)
        for example in found:
            try:
                computed = expected(subject.view, example.frames, example.as_of)
            except NotCovered as reason:
                skipped.append(f"{example.name}: {reason}")
                continue
            except WouldFail as reason:
                problem = f"the computation fails: {reason}"
            else:
                problem = unlike(subject.view, example, computed)
            if problem:
                message = f"Unit test {example.name!r} of the specification contradicts its definitions."
                violations.append(
                    Violation(code=self.code, subject=example.name, message=message, evidence=problem)
                )
        if len(skipped) == len(found):
            return Outcome(skipped="; ".join(skipped) or NO_TESTS)
        return Outcome(
            tuple(violations), detail=f"{len(found) - len(skipped)} unit tests of the specification"
        )


class GoldenCheck:
    """The script gives the rows that the specification's own examples expect."""

    code: ClassVar[str] = "golden"
    codes: ClassVar[tuple[str, ...]] = ("golden", "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 10

    def check(self, subject: Subject) -> Outcome:
        found = examples(subject.view)
        if not found:
            return Outcome(skipped=NO_TESTS)
        results = subject.harness.execute(
            subject.script,
            subject.entry,
            [Case(example.name, example.frames, example.as_of) for example in found],
            root=subject.root,
            python_path=subject.python_path,
        )
        violations = []
        for example, result in zip(found, results, strict=True):
            if result.frame is None:
                violations.append(failure(result))
            elif problem := unlike(subject.view, example, result.frame):
                message = f"Unit test {example.name!r} of the specification fails on the script."
                violations.append(
                    Violation(code=self.code, subject=example.name, message=message, evidence=problem)
                )
        return Outcome(tuple(violations), detail=f"{len(found)} unit tests of the specification")
