"""The actor that says by example what the feature view must do; it never sees a script."""

from __future__ import annotations

import re
from functools import lru_cache

from palmette.documents import Model
from palmette.engine.actor import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.features.actors.testcase_generator.offline import MOST, Suite
from palmette.features.artefacts import Request, Template, TestCases
from palmette.features.frame_json import encode, encode_row, frame_of_unit_test, instant_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.view import View

SURVIVED = "mutant-survived"
"""A deviation of the script that the tests let pass."""


class Inputs(Model):
    request: Request
    template: Template | None = None


class TestcaseGenerator(BaseActor):
    """Chooses the fewest adversarial rows that tell the view from everything that could be built by mistake."""

    __test__ = False

    name = "testcase_generator"
    description = "Writes at most ten test cases that cover paths and boundaries, with expectations from the oracle."
    produces = "cases"
    Input = Inputs
    Output = TestCases
    has_criterion = True

    def __init__(self, view: View, seed: int = 0) -> None:
        self.view = view
        self.suite = lru_cache(maxsize=1)(lambda: Suite(view, seed))

    def run(self, input: Inputs, context: Context) -> Attempt[TestCases]:
        survivors = self._survivors(context.evidence)
        cases = self.suite().cases(survivors)
        if not cases:
            return Attempt(None, "The oracle cannot compute this view.", TERMINATE, (self._uncomputable(),))
        reason = f"Mutants of {', '.join(survivors)} survived." if survivors else ""
        fix = "Each deviation of these features is now told apart by several rows." if survivors else ""
        return Attempt(TestCases(cases=tuple(cases)), reason, fix)

    def _survivors(self, evidence: tuple[Violation, ...]) -> list[str]:
        """Features whose mutants survived; all of them when none is named."""
        relevant = [violation for violation in evidence if violation.code == SURVIVED]
        words = {
            word
            for violation in relevant
            for word in re.findall(r"\w+", f"{violation.subject} {violation.message} {violation.evidence}")
        }
        names = [feature.name for feature in self.view.features]
        return [name for name in names if name in words] or (names if relevant else [])

    def _uncomputable(self) -> Violation:
        return Violation(
            code="no-oracle",
            subject=self.view.name,
            message="The oracle has no answer for this view on any of its scenarios.",
        )

    def check(self, input: Inputs, output: TestCases, context: Context) -> Verdict:
        """1 to 10 cases, expectations as the oracle computes them, every feature and edge of time covered."""
        violations = [*self._count(output), *self._expectations(output)]
        told = self.suite().told(output.cases)
        possible = frozenset[str]().union(*(candidate.tells for candidate in self.suite().candidates))
        edges = [other.what for other in self.suite().deviants if other.is_boundary and other.what in possible]
        violations += [
            Violation(
                code="boundary-not-covered",
                subject=what,
                message=f"No case would notice this deviation: {what}.",
            )
            for what in edges
            if what not in told
        ]
        violations += self._features(output, possible)
        known = [other.what for other in self.suite().deviants if other.what in possible]
        detail = f"{len(told & set(known))} of {len(set(known))} deviations are told apart"
        if silent := self._silent(output):
            detail += f"; no expectations from the oracle for {', '.join(silent)}"
        measurement = Measurement(name="cases", status="failed" if violations else "passed", detail=detail)
        return Verdict.of(violations, [measurement])

    def _count(self, output: TestCases) -> list[Violation]:
        count = len(output.cases)
        names = [case.name for case in output.cases]
        if 1 <= count <= MOST and len(set(names)) == count:
            return []
        return [
            Violation(
                code="case-count",
                subject="cases",
                message=(
                    f"There are {count} cases with {len(set(names))} names; "
                    f"there must be 1 to {MOST}, each with its own."
                ),
            )
        ]

    def _expectations(self, output: TestCases) -> list[Violation]:
        found = []
        for case in output.cases:
            try:
                frames = frame_of_unit_test(self.view, case.given)
                computed = expected(self.view, frames, instant_of(case.as_of) if case.as_of else None)
            except (NotCovered, WouldFail, ValueError) as error:
                found.append(
                    Violation(
                        code="case-not-computable",
                        subject=case.name,
                        message=f"Case {case.name!r} cannot be computed: {error}.",
                    )
                )
                continue
            rows = [encode_row(computed.schema, row) for row in computed.rows]
            if sorted(map(repr, rows)) != sorted(repr(dict(row)) for row in case.expect):
                found.append(
                    Violation(
                        code="wrong-expectation",
                        subject=case.name,
                        evidence=repr(rows)[:2000],
                        message=f"Case {case.name!r} expects other rows than the specification demands.",
                    )
                )
        return found

    def _silent(self, output: TestCases) -> list[str]:
        """Features that no case expects a value of: the oracle does not cover them."""
        named = {name for case in output.cases for row in case.expect for name in row}
        return [name for name in self.view.output if named and name not in named]

    def _features(self, output: TestCases, possible: frozenset[str]) -> list[Violation]:
        found = []
        for feature in self.view.features:
            values = [row[feature.name] for case in output.cases for row in case.expect if feature.name in row]
            default = None if feature.default is None else encode(feature.dtype, feature.default)
            seen = {"default" if value in (None, default) else "value" for value in values}
            found += [
                Violation(
                    code="feature-not-covered",
                    subject=feature.name,
                    message=f"No case gives {feature.name!r} a {kind}.",
                )
                for kind in ("value", "default")
                if kind not in seen and f"{kind} of {feature.name}" in possible
            ]
        return found

    def implicated(self, violation: Violation, output: TestCases) -> str | None:
        if violation.code == SURVIVED:
            return f"The cases let a wrong script pass: {violation.message} Add rows that tell it apart."
        return None
