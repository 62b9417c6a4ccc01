"""Checks of the generated tests: they pass on the script, and detect small errors in it (mutation testing)."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import EVIDENCE, difference
from palmette.features.frame import Frame
from palmette.features.frames.scenarios import Scenario
from palmette.features.harness.connect import CaseResult, OrderOfTests, ScriptCase, SuiteResult
from palmette.features.mutation.mutants import Mutant, mutants, sample
from palmette.features.oracle import NotCovered, WouldFail, expected
from palmette.features.script_tree import parse
from palmette.features.spec.view import View
from palmette.sandbox.temporary import temporary_folder

NO_TESTS = "no test file was given"
FAILED = "test-failed"
ORIGINAL = "original"
FIRST_TESTS = 4
"""Tests of a mutant before its outputs are compared; one whose outputs are unchanged needs no more tests."""
FIRST_SCENARIOS = 2
"""Scenarios in which outputs are compared first; a mutant whose output differs needs no more scenarios."""
_CHANGE = "in scenario "
"""Start of the description of a mutant's changed output."""


class TestsCheck:
    """The tests pass on the script; where they do not although the oracle agrees, the tests are wrong."""

    __test__ = False

    code: ClassVar[str] = "tests"
    codes: ClassVar[tuple[str, ...]] = (FAILED,)
    owner: ClassVar[Owner] = "testcase_coder"
    cost: ClassVar[int] = 25
    """Runs after the differential check: if that fails, the tests are not to blame."""

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if subject.tests is None:
            return CheckResult(skipped=NO_TESTS)
        result = subject.run_tests({"script": subject.text})["script"]
        name = subject.tests.name
        if result.error or not (result.passed or result.failed):
            reason = result.error or "it has no tests"
            message = f"{name} cannot be run: {reason.splitlines()[0][:200]}"
            return CheckResult((Violation(code=FAILED, subject=name, evidence=reason[:EVIDENCE], message=message),))
        failed = tuple(
            Violation(code=FAILED, subject=test, evidence=trace[:EVIDENCE], message=f"Test {test!r} of {name} fails.")
            for test, trace in result.failed.items()
        )
        count = len(result.passed) + len(result.failed)
        return CheckResult(failed, detail=f"{len(result.passed)} of {count} tests pass")


class MutationCheck:
    """The generated tests fail on the script with one small change; survivors are shown to the reviewer."""

    code: ClassVar[str] = "mutation"
    codes: ClassVar[tuple[str, ...]] = ("mutation", "mutant-survived")
    owner: ClassVar[Owner] = "testcase_generator"
    cost: ClassVar[int] = 40

    def __init__(self, size: int = 20, required: float = 0.85) -> None:
        self.size, self.required = size, required

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if subject.tests is None:
            return CheckResult(skipped=NO_TESTS)
        text = subject.text
        possible = mutants(parse(text, subject.view, subject.entry))
        every = [one for one in possible if one.in_query or subject.has_builder or one.function != subject.entry]
        if not every:
            return CheckResult(skipped="the script has nothing that a mutation operator knows")
        chosen = sample(every, self.size, subject.seed)
        # An output that is unchanged again needs no test, and takes less time than all of them.
        changes = changed_outputs(subject, list(filter(subject.history.was_equivalent, chosen)), first=0)
        tried = [mutant for mutant in chosen if mutant.name not in changes or changes[mutant.name].text]
        alive, results = tried, dict[str, SuiteResult]()
        for most in (FIRST_TESTS, None):
            waiting = {} if results else {ORIGINAL: text}
            results |= subject.run_tests(
                waiting | {mutant.name: mutant.text for mutant in alive},
                {mutant.name: OrderOfTests(subject.history.hints(mutant), most) for mutant in alive},
            )
            if unusable := _unusable(results, subject.tests.name):
                return unusable
            alive = [mutant for mutant in alive if results[mutant.name].ok]
            changes |= changed_outputs(subject, [mutant for mutant in alive if mutant.name not in changes])
            alive = [mutant for mutant in alive if changes[mutant.name].text]
        for mutant in chosen:
            if mutant.name in changes and not changes[mutant.name].text:
                subject.history.keep(mutant)
            elif mutant in tried and (noticed := [*results[mutant.name].failed]):
                subject.history.keep(mutant, noticed[0])
        unnoticeable = sum(not changes[mutant.name].noticeable for mutant in alive)
        killed = sum(not results[mutant.name].ok for mutant in tried)
        equivalent = len(chosen) - killed - len(alive)
        judged = len(chosen) - equivalent - unnoticeable
        counted = f"{len(every)} possible, {equivalent} presumed equivalent"
        if not judged:
            return CheckResult(skipped=f"no mutant could be judged ({counted})")
        found = [_survivor(mutant, changes[mutant.name].text, subject) for mutant in alive]
        if killed < self.required * judged:
            found.insert(0, self._too_few(killed, judged, subject.tests, found))
        beside = f", {unnoticeable} could not be judged" if unnoticeable else ""
        return CheckResult(tuple(found), detail=f"{killed} of {judged} mutants killed{beside} ({counted})")

    def _too_few(self, killed: int, judged: int, tests: Path, survivors: Sequence[Violation]) -> Violation:
        message = (
            f"The tests notice {killed} of {judged} mutants, {killed / judged:.0%}; {self.required:.0%} are required."
        )
        evidence = "\n".join(violation.message for violation in survivors)[:EVIDENCE]
        return Violation(code="mutation", subject=tests.name, message=message, evidence=evidence)


def _unusable(results: Mapping[str, SuiteResult], tests: str) -> CheckResult | None:
    """The check's result if the tests prove nothing: their runner failed, or they do not pass on the script."""
    own = results[ORIGINAL]
    if broken := own.error or next((result.error for result in results.values() if result.is_broken), ""):
        message = f"The mutants could not be judged: {broken.splitlines()[0][:200]}."
        return CheckResult((Violation(code="mutation", subject=tests, evidence=broken[:EVIDENCE], message=message),))
    if not own.ok:
        why = next((f"{name}: {text}" for name, text in own.failed.items()), "none was found")
        return CheckResult(skipped=f"the tests do not pass on the script itself: {why.splitlines()[0][:200]}")
    return None


class OutputChange(NamedTuple):
    """How a mutant's output differs from the script's."""

    text: str = ""
    """The difference in the first scenario that has one; if empty, the mutant is presumed to be equivalent."""
    noticeable: bool = True
    """Whether tests could detect it, because the oracle supports a feature that differs."""


def changed_outputs(
    subject: ScriptUnderTest, alive: Sequence[Mutant], first: int = FIRST_SCENARIOS
) -> dict[str, OutputChange]:
    """The output change of each mutant, by name, in the `first` scenarios or, if there is none, in the others."""
    changes = {mutant.name: OutputChange(noticeable=False) for mutant in alive}
    for part in (slice(first), slice(first, None)):
        left = [mutant for mutant in alive if not changes[mutant.name].noticeable]
        if not left:
            break
        found, right = subject.scenarios[part], subject.outputs.scenarios[part]
        without = [_without_oracle(subject.view, item) for item in found]
        for mutant, own in zip(left, _outputs(subject, left, found), strict=True):
            texts = (_change(subject, *each) for each in zip(right, own, without, strict=True))
            if text := next(filter(None, texts), ""):
                changes[mutant.name] = OutputChange(text)
            elif not changes[mutant.name].text:
                every = (_change(subject, *each) for each in zip(right, own, strict=True))
                changes[mutant.name] = OutputChange(next(filter(None, every), ""), noticeable=False)
    return changes


def _outputs(subject: ScriptUnderTest, some: Sequence[Mutant], scenarios: Sequence[Scenario]) -> list[list[CaseResult]]:
    """Each mutant's output in each scenario."""
    with temporary_folder() as folder:
        files = [folder / f"mutant_{number}.py" for number in range(len(some))]
        for file, mutant in zip(files, some, strict=True):
            file.write_text(mutant.text, encoding="utf-8")
        cases = [ScriptCase(one.name, one.frames, one.as_of, script=file) for file in files for one in scenarios]
        results = iter(subject.run(cases))
    return [list(islice(results, len(scenarios))) for _ in some]


def _without_oracle(view: View, scenario: Scenario) -> Collection[str]:
    """Features that the oracle does not support, so that no test can state their value."""
    try:
        return expected(view, scenario.frames, scenario.as_of).skipped
    except (NotCovered, WouldFail):
        return view.output


def _change(subject: ScriptUnderTest, original: CaseResult, changed: CaseResult, without: Collection[str] = ()) -> str:
    """Describes how the outputs differ, ignoring the columns in `without`."""
    if original.frame is None:
        return ""
    schema = {name: kind for name, kind in original.frame.schema.items() if name not in without}
    wanted = Frame.of(schema, original.frame.rows)
    problem = changed.error if changed.frame is None else difference(subject.view, wanted, changed.frame)
    return f"{_CHANGE}{changed.name!r}:\n{problem}" if problem else ""


def _survivor(mutant: Mutant, change: str, subject: ScriptUnderTest) -> Violation:
    file = subject.query or subject.script.with_suffix(".sql") if mutant.in_query else subject.script
    place = f"{file.name}:{mutant.line}"
    before, after = (textwrap.shorten(text, 60, placeholder="...") for text in (mutant.before, mutant.after))
    return Violation(
        code="mutant-survived",
        subject=mutant.function,
        message=f"{place}: no test notices `{before}` -> `{after}` ({mutant.operator}).",
        evidence=f"- {mutant.before}\n+ {mutant.after}\n{change}"[:EVIDENCE],
    )


def output_change(survivor: Violation) -> str:
    """Describes how a surviving mutant's output differs, without showing the script."""
    _, found, change = survivor.evidence.partition(f"\n{_CHANGE}")
    return f"{found}{change}".strip()
