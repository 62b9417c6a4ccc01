"""The actor that says by example what the feature view must do; it never sees a script."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import Field

from palmette.documents import Model
from palmette.engine.actor import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.features import briefs
from palmette.features.actors.testcase_generator.offline import MOST, Suite, case_of, situation
from palmette.features.actors.testcase_generator.recipe import recipe
from palmette.features.actors.testcase_generator.rows import Row, completed
from palmette.features.artefacts import Request, Template, TestCase, TestCases
from palmette.features.checks.mutation import output_change
from palmette.features.frame_json import encode, encode_row, instant_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.view import View
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, AnswerError, Models, Section, fenced, section

SURVIVED = "mutant-survived"
"""A deviation of the script that the tests let pass."""
OWN = frozenset(
    {"case-count", "case-not-computable", "wrong-expectation", "boundary-not-covered", "feature-not-covered"}
)
"""Codes of what the criterion refuses."""
UNCOMPUTABLE = "The oracle cannot compute this view."


class Inputs(Model):
    request: Request
    template: Template | None = None


class Given(Model):
    """One test case, without what must come out."""

    name: str = Field(pattern="^[a-z][a-z0-9_]*$", max_length=80)
    """In snake_case; becomes the name of the test."""
    why: str
    """Which path or boundary it covers, as one sentence."""
    as_of: str | None = None
    """The cut-off T, in UTC, e.g. 2024-05-17T14:30:05Z."""
    given: dict[str, tuple[tuple[Any, ...] | dict[str, Any], ...]]
    """Table to rows, each an array of values in the order of `columns`."""


class CasesAnswer(Answer):
    columns: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Table to the columns that its rows give, in all cases."""
    cases: tuple[Given, ...]
    """The cases, at most 10."""


class TestcaseGenerator(Agent):
    """Chooses the fewest adversarial rows that tell the view from everything that could be built by mistake."""

    __test__ = False

    name = "testcase_generator"
    description = "Writes at most ten test cases that cover paths and boundaries, with expectations from the oracle."
    produces = "cases"
    Input = Inputs
    Output = TestCases
    Answer = CasesAnswer
    has_criterion = True

    def __init__(self, view: View, seed: int = 0, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.view = view
        self.suite = lru_cache(maxsize=1)(lambda: Suite(view, seed))

    def brief(self, input: Inputs, context: Context) -> tuple[Section, ...]:
        if not self.suite().possible:
            raise AnswerError(UNCOMPUTABLE, code="no-oracle", violations=(self._uncomputable(),))
        return (
            briefs.meaning(self.view),
            briefs.registry_of(self.view),
            section("mistakes", *self._mistakes(), rank=NEEDED),
            section("recipe", *recipe(self.suite()), rank=NEEDED),
        )

    def _mistakes(self) -> list[str]:
        """Those that some case can tell apart; the boundaries first, because each of them must be."""
        possible = self.suite().possible
        found: dict[bool, dict[str, list[str]]] = {True: defaultdict(list), False: defaultdict(list)}
        for other in self.suite().deviants:
            if other.what in possible and other.is_listed:
                where, _, what = other.what.rpartition(": ")
                found[other.is_boundary][what].append(where or self.view.name)
        lines = {
            needed: "\n".join(f"- {what} ({', '.join(dict.fromkeys(where))})" for what, where in listed.items())
            for needed, listed in found.items()
        }
        return [
            f"Each of these must show, of each that it names:\n{lines[True]}" if lines[True] else "",
            "Of each feature, a row with a value and a row with the default (or null).",
            f"These should show too:\n{lines[False]}" if lines[False] else "",
        ]

    def read(self, answer: CasesAnswer, input: Inputs, context: Context) -> Attempt[TestCases]:
        """The rows are the model's, what must come out is the oracle's."""
        cases = tuple(self._case(given, answer.columns) for given in answer.cases)
        return Attempt(TestCases(cases=cases), answer.reason, answer.fix)

    def _case(self, given: Given, columns: Mapping[str, tuple[str, ...]]) -> TestCase:
        rows = {name: self._rows(name, columns.get(name, ()), each, given.as_of) for name, each in given.given.items()}
        # Where the rows of a spine have cut-offs of their own, as_of is only what their times are told from.
        as_of = None if self.view.cutoff == "spine" else given.as_of
        asked = TestCase(name=given.name, why=given.why, as_of=as_of, given=rows, expect=())
        try:
            return case_of(self.view, given.name, given.why, *situation(self.view, asked))
        except (NotCovered, WouldFail, ValueError):
            return asked  # the criterion says why

    def recalled(self, output: TestCases) -> str:
        """The cases as a model answers: without what must come out, which is not its to say."""
        columns: dict[str, dict[str, None]] = defaultdict(dict)
        for case in output.cases:
            for name, rows in case.given.items():
                columns[name] |= dict.fromkeys(key for row in rows for key, value in row.items() if value is not None)
        named = {name: [*each] for name, each in columns.items()}
        cases = []
        for case in output.cases:
            given = {name: [[row.get(key) for key in named[name]] for row in rows] for name, rows in case.given.items()}
            cases.append({"name": case.name, "why": case.why, "as_of": case.as_of, "given": given})
        head = f'{{"columns": {json.dumps(named)}, "cases": ['
        return fenced("\n".join([head, *(json.dumps(case, ensure_ascii=False) + "," for case in cases), "]}"]), "json")

    def _rows(
        self, name: str, columns: tuple[str, ...], rows: tuple[tuple[Any, ...] | Row, ...], as_of: str | None
    ) -> tuple[Row, ...]:
        table = self.view.tables.get(name)
        if table is None:
            return tuple(dict(row) if isinstance(row, dict) else {} for row in rows)
        try:
            cutoff = instant_of(as_of) if as_of else None
        except ValueError:
            cutoff = None  # the criterion says why
        return completed(self.view, table, columns, rows, cutoff)

    def offline(self, input: Inputs, context: Context) -> Attempt[TestCases]:
        survivors = self._survivors(context.evidence)
        cases = self.suite().cases(survivors)
        if not any(case.expect for case in cases):
            return Attempt(None, UNCOMPUTABLE, TERMINATE, (self._uncomputable(),))
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
        why = "; ".join(self.suite().obstacles) or "no row of its scenarios is one of the view"
        return Violation(
            code="no-oracle",
            subject=self.view.name,
            message=f"The oracle has no answer for {self.view.name!r} on any of its scenarios: {why}. "
            "Say what is named there in another way, or leave it out.",
        )

    def check(self, input: Inputs, output: TestCases, context: Context) -> Verdict:
        """1 to 10 cases, expectations as the oracle computes them, every feature and edge of time covered."""
        violations = [*self._count(output), *self._expectations(output)]
        told, possible = self.suite().told(output.cases), self.suite().possible
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
                computed = expected(self.view, *situation(self.view, case))
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
            return f"The cases let a script pass that is wrong in {violation.subject!r}. Add rows that tell it apart."
        return f"The cases were refused: {violation.message}" if violation.code in OWN else None

    def told(self, violation: Violation) -> Violation:
        """Without the script: what its output would be is enough to write the case that tells it apart."""
        if violation.code != SURVIVED:
            return violation
        message = f"A script that is wrong in {violation.subject!r} passes all cases."
        return violation.model_copy(update={"message": message, "evidence": output_change(violation)})
