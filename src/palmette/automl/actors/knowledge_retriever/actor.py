"""The actor `knowledge_retriever`: looks up what is known, and chooses what bears on the task."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

from palmette.automl import context as shown
from palmette.automl.artefacts import Insight, Knowledge
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.request import request_section
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.knowledge import Finding, Found, Subject, look_up
from palmette.llm import Agent, Answer, Section, section

MOST = 8
"""Insights that are handed on."""
SHOWN = 16
"""Findings that a model chooses from."""
FEW = 3
"""Findings that are handed on as they are: there is nothing to choose."""
WORDS = {
    "imbalanced": "class imbalance",
    "many-categories": "high-cardinality",
    "few-rows": "small data",
    "text-column": "text features",
    "zero-inflated": "zero-inflated",
    "wide": "high-dimensional",
    "many-classes": "many classes",
}
"""By code of a suggestion: what papers call it."""


class KnowledgeInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile


class Chosen(Model):
    number: int
    """Of the finding."""
    text: str
    """Its advice for these data in one sentence; nothing that it does not state."""
    because: str
    """What in the task or the data makes it apply."""


class KnowledgeAnswer(Answer):
    insights: tuple[Chosen, ...]
    """At most 8, the most useful first; none where nothing applies."""


class KnowledgeRetriever(Agent):
    """Asks every source of knowledge; an insight always comes from one of them."""

    name = "knowledge_retriever"
    description = "Looks up what is known about such data and tasks: cases from the literature, papers if allowed."
    produces = "knowledge"
    Input = KnowledgeInput
    Output = Knowledge
    Answer = KnowledgeAnswer
    has_criterion = True

    def offline(self, input: KnowledgeInput, context: Context) -> Attempt[Knowledge]:
        found = look_up(subject_of(input))
        insights = tuple(_insight(one) for one in usable(found, _allowed(input))[:MOST])
        made = Knowledge(insights=insights, sources=tuple(one.note for one in found))
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The sources give the same again.", TERMINATE, context.evidence)
        context.progress(f"{len(made.insights)} insights apply")
        return Attempt(made)

    def is_settled(self, input: KnowledgeInput, context: Context) -> bool:
        return len(usable(look_up(subject_of(input)), _allowed(input))) <= FEW

    def brief(self, input: KnowledgeInput, context: Context) -> tuple[Section, ...]:
        known = PlanContext.of(input.task, input.samples, input.profile)
        listed = usable(look_up(subject_of(input)), known.constraints.allowed)[:SHOWN]
        findings = [f"{number}. {one.text} (applies: {one.because})" for number, one in enumerate(listed, start=1)]
        return (
            request_section(known),
            shown.task(known.blueprint, input.profile),
            section("findings", *findings, rank=1),
        )

    def objection(self, answer: KnowledgeAnswer, input: KnowledgeInput) -> str:
        numbers = [one.number for one in answer.insights]
        count = len(usable(look_up(subject_of(input)), _allowed(input))[:SHOWN])
        strange = [number for number in numbers if not 1 <= number <= count or numbers.count(number) > 1]
        return f"Finding {strange[0]} is not listed, or chosen twice." if strange else ""

    def read(self, answer: KnowledgeAnswer, input: KnowledgeInput, context: Context) -> Attempt[Knowledge]:
        found = look_up(subject_of(input))
        listed = usable(found, _allowed(input))
        insights = tuple(
            _insight(listed[one.number - 1]).model_copy(update={"text": one.text, "because": one.because})
            for one in answer.insights
        )
        return Attempt(
            Knowledge(insights=insights, sources=tuple(one.note for one in found)), answer.reason, answer.fix
        )

    def check(self, input: KnowledgeInput, output: Knowledge, context: Context) -> Verdict:
        """Every insight comes from a source, speaks for no more learners than it, and occurs once."""
        found = look_up(subject_of(input))
        wrong = list(_violations(output, usable(found, _allowed(input))))
        if output.sources != (due := tuple(one.note for one in found)):
            wrong.append(Violation(code="insight-sources", message=f"The notes of the sources are: {' '.join(due)}"))
        detail = f"{len(output.insights)} insights, each from a source. {' '.join(output.sources)}"
        measured = Measurement(name="knowledge", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Knowledge) -> str | None:
        """It answers for its own check."""
        return f"Choose insights again: {violation.message}" if violation.code.startswith("insight") else None


def subject_of(input: KnowledgeInput) -> Subject:
    """What to look for; nothing in it is a value of the data."""
    profile, task = input.profile, input.task
    codes = [fact.code for fact in profile.suggestions]
    signs = [
        *codes,
        *(leak.code for leak in profile.leaks),
        *task.prefer,
        f"cut-{profile.holdout.strategy}",
        *(one.quantity.replace("_", "-") for one in task.constraints),
    ]
    return Subject(
        task=profile.split.problem,
        figures={one.name: one.value for one in profile.meta},
        signs=frozenset(signs),
        words=tuple(dict.fromkeys(WORDS[code] for code in codes if code in WORDS))[:3],
    )


def usable(sources: tuple[Found, ...], allowed: tuple[str, ...]) -> list[Finding]:
    """The findings of all sources in turn, without those for learners that are not available."""
    turns = zip_longest(*(one.findings for one in sources))
    found = [one for one in chain.from_iterable(turns) if one is not None]
    return [one for one in found if not one.algorithms or {*allowed} & {*one.algorithms}]


def _allowed(input: KnowledgeInput) -> tuple[str, ...]:
    return PlanContext.of(input.task, input.samples, input.profile).constraints.allowed


def _insight(one: Finding) -> Insight:
    return Insight(text=one.text, source=one.source, because=one.because, learners=one.algorithms)


def _violations(output: Knowledge, findings: list[Finding]) -> Iterator[Violation]:
    known, seen = {one.source: one for one in findings}, set[str]()
    if len(output.insights) > MOST:
        message = f"There are {len(output.insights)} insights; the most is {MOST}."
        yield Violation(code="insight-many", message=message)
    for one in output.insights:
        finding = known.get(one.source)
        if finding is None or one.source in seen:
            message = f"{one.source[:80]!r} is not what a source gave, or occurs twice."
            yield Violation(code="insight-unsourced", message=message, subject=one.source[:80])
        elif not {*one.learners} <= {*finding.algorithms}:
            message = f"{one.source[:80]!r} speaks for {', '.join(finding.algorithms) or 'no learner'} only."
            yield Violation(code="insight-overstated", message=message, subject=one.source[:80])
        if not one.text.strip():
            yield Violation(code="insight-empty", message="An insight has no text.", subject=one.source[:80])
        seen.add(one.source)
