"""The actor that specifies the feature view by example. It never sees a script."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import Field

from palmette.documents import Model
from palmette.engine.actor import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.actors.testcase_generator.offline import (
    MOST,
    CaseSelector,
    case_of,
    examples,
    renamed,
    situation,
)
from palmette.features.actors.testcase_generator.rows import Row, completed, recipe
from palmette.features.artefacts import RunRequest, TestCase, TestCases
from palmette.features.checks.mutation import output_change
from palmette.features.frame_json import encode_row, timestamp_of
from palmette.features.oracle import NotCovered, WouldFail, expected
from palmette.features.spec.view import View
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, AnswerError, Models, Section, fenced, section

SURVIVED = "mutant-survived"
"""A mutant of the script that no test detects."""
OWN = frozenset(
    {"case-count", "case-not-computable", "wrong-expectation", "boundary-not-covered", "feature-not-covered"}
)
"""Codes of violations that this actor's criterion reports."""
UNCOMPUTABLE = "The oracle cannot compute this view."


class GeneratorInput(Model):
    request: RunRequest


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
    """Chooses a minimal set of adversarial rows that detects every mistake in building the view."""

    __test__ = False

    name = "testcase_generator"
    description = "Writes at most ten test cases that cover paths and boundaries, with expectations from the oracle."
    produces = "cases"
    Input = GeneratorInput
    Output = TestCases
    Answer = CasesAnswer

    def __init__(self, view: View, seed: int = 0, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.view = view
        self.suite = lru_cache(maxsize=1)(lambda: CaseSelector(view, seed))

    def sections(self, input: GeneratorInput, context: Context) -> tuple[Section, ...]:
        if not self.suite().possible:
            raise AnswerError(UNCOMPUTABLE, code="no-oracle", violations=(self._uncomputable(),))
        return (
            prompt_context.meaning(self.view, for_inputs=True),
            prompt_context.registry_of(self.view),
            section("mistakes", *self._mistakes(), rank=NEEDED),
            section("recipe", recipe(self.suite()), rank=NEEDED),
        )

    def _mistakes(self) -> list[str]:
        """The mistakes that some case can detect; first those about times, each of which must be detected."""
        possible = self.suite().possible
        found = [one for one in self.suite().deviants if one.what in possible and one.is_listed]
        times = "; ".join(dict.fromkeys(one.what.rpartition(": ")[2] for one in found if one.is_boundary))
        others = defaultdict[str, dict[str, None]](dict)
        for where, _, what in (one.what.rpartition(": ") for one in found if not one.is_boundary):
            others[what][where or self.view.name] = None
        listed = "\n".join(_by_place(others))
        return [
            f"Each must show in every feature that it affects, and in which rows there are: {times}." if times else "",
            "Of each feature, a row with a value and a row with the default (or null).",
            f"These should show too:\n{listed}" if listed else "",
        ]

    def read(self, answer: CasesAnswer, input: GeneratorInput, context: Context) -> Attempt[TestCases]:
        """The author's examples, followed by the model's rows with the oracle's expected output."""
        cases = renamed([*examples(self.view), *(self._case(given, answer.columns) for given in answer.cases)])
        return Attempt(TestCases(cases=tuple(cases)), answer.reason, answer.fix)

    def _case(self, given: Given, columns: Mapping[str, tuple[str, ...]]) -> TestCase:
        rows = {name: self._rows(name, columns.get(name, ()), each, given.as_of) for name, each in given.given.items()}
        # If spine rows have their own cut-offs, as_of is only the reference for relative times.
        as_of = None if self.view.cutoff == "spine" else given.as_of
        asked = TestCase(name=given.name, why=given.why, as_of=as_of, given=rows, expect=())
        try:
            return case_of(self.view, given.name, given.why, situation(self.view, asked))
        except (NotCovered, WouldFail, ValueError):
            return asked  # the criterion reports the reason

    def recalled(self, output: TestCases) -> str:
        """The cases in the form of an answer, without the expected output, which the oracle computes."""
        own = [case for case in output.cases if not case.example]
        columns: dict[str, dict[str, None]] = defaultdict(dict)
        for case in own:
            for name, rows in case.given.items():
                columns[name] |= dict.fromkeys(key for row in rows for key, value in row.items() if value is not None)
        named = {name: [*each] for name, each in columns.items()}
        cases = []
        for case in own:
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
            cutoff = timestamp_of(as_of) if as_of else None
        except ValueError:
            cutoff = None  # the criterion reports the reason
        return completed(self.view, table, columns, rows, cutoff)

    def offline(self, input: GeneratorInput, context: Context) -> Attempt[TestCases]:
        survivors = [violation for violation in context.evidence if violation.code == SURVIVED]
        cases = self.suite().cases(violation.evidence for violation in survivors)
        if not any(case.expect for case in cases):
            return Attempt(None, UNCOMPUTABLE, TERMINATE, (self._uncomputable(),))
        wrong = dict.fromkeys(violation.subject for violation in survivors)
        reason = f"Mutants of {', '.join(wrong)} survived." if survivors else ""
        fix = "The rows in which their output differs are cases now." if survivors else ""
        return Attempt(TestCases(cases=tuple(cases)), reason, fix)

    def _uncomputable(self) -> Violation:
        why = "; ".join(self.suite().obstacles) or "no row of its scenarios is one of the view"
        return Violation(
            code="no-oracle",
            subject=self.view.name,
            message=f"The oracle has no answer for {self.view.name!r} on any of its scenarios: {why}. "
            "Write it in another way, or leave it out.",
        )

    def check(self, input: GeneratorInput, output: TestCases, context: Context) -> Verdict:
        """1 to 10 cases, expectations as the oracle computes them, every feature and edge of time covered."""
        violations = [*self._count(output), *self._expectations(output)]
        detected, possible = self.suite().detected(output.cases), self.suite().possible
        violations += [
            Violation(
                code="boundary-not-covered",
                subject=other.what,
                message=f"No case would notice this misreading of the specification: {other.what}.",
            )
            for other in self.suite().deviants
            if other.is_boundary and other.what in possible - detected
        ]
        violations += self._features(possible - detected)
        known = {other.what for other in self.suite().deviants} & possible
        detail = f"{len(detected & known)} of {len(known)} misreadings of the specification are detected"
        if silent := self._features_without_values(output):
            detail += f"; no expectations from the oracle for {', '.join(silent)}"
        measurement = Measurement(name="cases", status="failed" if violations else "passed", detail=detail)
        return Verdict.of(violations, [measurement])

    def _count(self, output: TestCases) -> list[Violation]:
        names = [case.name for case in output.cases]
        count, own = len(names), sum(not case.example for case in output.cases)
        if count and own <= MOST and len(set(names)) == count:
            return []
        message = (
            f"There are {own} cases beside the examples, and {len(set(names))} names of {count}; there must be 1 to "
            f"{MOST}, each with its own name."
        )
        return [Violation(code="case-count", subject="cases", message=message)]

    def _expectations(self, output: TestCases) -> Iterator[Violation]:
        for case in output.cases:
            if case.example:
                continue
            try:
                computed = expected(self.view, *situation(self.view, case))
            except (NotCovered, WouldFail, ValueError) as error:
                message = f"Case {case.name!r} cannot be computed: {error}."
                yield Violation(code="case-not-computable", subject=case.name, message=message)
                continue
            rows = sorted((encode_row(computed.schema, row) for row in computed.rows), key=self._identity)
            stated = sorted(case.expect, key=self._identity)
            compared = [{name: row[name] for name in each} for row, each in zip(rows, stated, strict=False)]
            if len(rows) != len(stated) or compared != stated:
                message = f"Case {case.name!r} expects other rows than the specification demands."
                evidence = repr(rows)[:2000]
                yield Violation(code="wrong-expectation", subject=case.name, evidence=evidence, message=message)

    def _identity(self, row: Row) -> str:
        return repr([row.get(name) for name in self.view.identity])

    def _features_without_values(self, output: TestCases) -> list[str]:
        """Features without an expected value in any case, because the oracle does not cover them."""
        named = {name for case in output.cases for row in case.expect for name in row}
        return [name for name in self.view.output if named and name not in named]

    def _features(self, missing: Collection[str]) -> Iterator[Violation]:
        for feature in self.view.features:
            for kind in (kind for kind in ("value", "default") if f"{kind} of {feature.name}" in missing):
                message = f"No case gives {feature.name!r} a {kind}."
                yield Violation(code="feature-not-covered", subject=feature.name, message=message)

    def implicated(self, violation: Violation, output: TestCases) -> str | None:
        if violation.code == SURVIVED:
            return f"The cases let a script pass that is wrong in {violation.subject!r}. Add rows that detect it."
        return f"The cases were refused: {violation.message}" if violation.code in OWN else None

    def redacted(self, violation: Violation) -> Violation:
        """The violation without the script. Its wrong output is enough to write a case that detects it."""
        if violation.code != SURVIVED:
            return violation
        message = f"A script that is wrong in {violation.subject!r} passes all cases."
        return violation.model_copy(update={"message": message, "evidence": output_change(violation)})


def _by_place(listed: Mapping[str, Mapping[str, None]]) -> Iterator[str]:
    """Mistakes that can be made in the same features, on one line."""
    for where in dict.fromkeys(map(", ".join, listed.values())):
        yield f"- {where}: {'; '.join(what for what, places in listed.items() if ', '.join(places) == where)}"
