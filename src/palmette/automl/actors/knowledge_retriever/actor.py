"""The actor `knowledge_retriever`: looks up what is known, and chooses what bears on the task."""

from __future__ import annotations

from palmette.automl.actors.knowledge_retriever.offline import MOST, KnowledgeInput, found, knowledge, usable
from palmette.automl.artefacts import Insight, Knowledge
from palmette.automl.planning.facts import shown_figures
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section

LONGEST = 400
CODES = (
    "insight-unsourced", "insight-twice", "insight-overstated", "insight-too-long", "insights-too-many",
    "sources-differ",
)  # fmt: skip
"""What it answers for."""


class Chosen(Model):
    number: int
    """Of the finding."""
    text: str
    """What it says that matters here, in one sentence; nothing that it does not say."""
    because: str
    """What in the request or the figures makes it apply."""


class KnowledgeAnswer(Answer):
    insights: tuple[Chosen, ...]
    """At most 8, the most useful first; none where nothing applies."""


class KnowledgeRetriever(Agent):
    """Asks every source of knowledge; whoever chooses, an insight is one that a source gave."""

    name = "knowledge_retriever"
    description = "Looks up what is known about such data and tasks: cases from the literature, papers if allowed."
    produces = "knowledge"
    Input = KnowledgeInput
    Output = Knowledge
    Answer = KnowledgeAnswer
    has_criterion = True

    def offline(self, input: KnowledgeInput, context: Context) -> Attempt[Knowledge]:
        made = knowledge(input)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The sources give the same again.", TERMINATE, context.evidence)
        context.progress(f"{len(made.insights)} insights apply")
        return Attempt(made)

    def brief(self, input: KnowledgeInput, context: Context) -> tuple[Section, ...]:
        sources = found(input)
        told = [
            f"{number}. {one.text}\n   from: {one.source}\n   applies: {one.because}"
            for number, one in enumerate(usable(sources, input), start=1)
        ]
        return (
            section("request", input.requirements.text or "(no words)", rank=NEEDED, language="text"),
            section("aim", input.profile.aim.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json"),
            section("figures", shown_figures(input.profile), rank=2),
            section("suggestions", *(fact.text for fact in input.profile.suggestions), rank=2),
            section("findings", *told, rank=1),
        )

    def read(self, answer: KnowledgeAnswer, input: KnowledgeInput, context: Context) -> Attempt[Knowledge]:
        sources = found(input)
        known = dict(enumerate(usable(sources, input), start=1))
        wrong = [one.number for one in answer.insights if one.number not in known]
        if wrong:
            message = f"There is no finding {wrong[0]}; there are {len(known)}."
            return Attempt(None, answer.reason, answer.fix, (Violation(code="insight-unsourced", message=message),))
        insights = tuple(
            Insight(text=one.text, because=one.because, source=finding.source, algorithms=finding.algorithms)
            for one, finding in ((one, known[one.number]) for one in answer.insights)
        )
        made = Knowledge(insights=insights, sources=tuple(one.note for one in sources))
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: KnowledgeInput, output: Knowledge, context: Context) -> Verdict:
        """Every insight is from a source that gave it, speaks for no more than it, and stands once."""
        sources = found(input)
        known = {one.source: one for one in usable(sources, input)}
        wrong, seen = [], set()
        for one in output.insights:
            subject, finding = one.source[:80], known.get(one.source)
            if finding is None:
                message = f"No source gave {subject!r}."
                wrong.append(Violation(code="insight-unsourced", message=message, subject=subject))
            elif not set(one.algorithms) <= set(finding.algorithms):
                message = f"{subject!r} speaks for {', '.join(finding.algorithms) or 'no algorithm'} only."
                wrong.append(Violation(code="insight-overstated", message=message, subject=subject))
            if one.source in seen:
                wrong.append(Violation(code="insight-twice", message=f"{subject!r} stands twice.", subject=subject))
            if not one.text.strip() or not one.because.strip() or len(one.text) + len(one.because) > 2 * LONGEST:
                message = f"An insight has {len(one.text)} characters; a sentence, and a reason, are meant."
                wrong.append(Violation(code="insight-too-long", message=message, subject=subject))
            seen.add(one.source)
        if len(output.insights) > MOST:
            message = f"There are {len(output.insights)} insights; {MOST} at most are handed on."
            wrong.append(Violation(code="insights-too-many", message=message))
        if output.sources != (due := tuple(one.note for one in sources)):
            wrong.append(Violation(code="sources-differ", message=f"The sources said: {' '.join(due)}"))
        detail = f"{len(output.insights)} insights, each from a source. {' '.join(output.sources)}"
        measured = Measurement(name="knowledge", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Knowledge) -> str | None:
        """To blame for what its own check finds."""
        return f"Choose insights again: {violation.message}" if violation.code in CODES else None
