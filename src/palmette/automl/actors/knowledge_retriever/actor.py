"""The actor `knowledge_retriever`: looks up what is known, and chooses what bears on the task."""

from itertools import chain, zip_longest

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent
from palmette.automl.artefacts import Knowledge
from palmette.automl.formatting import names
from palmette.automl.planning.insights import advocated
from palmette.documents import Model
from palmette.engine import Attempt, Context
from palmette.knowledge import KnowledgeFinding, Subject, look_up
from palmette.llm import Answer, Section, section

MOST = 8  # insights that are handed on
SHOWN = 16  # findings that a model chooses from
FEW = 3  # findings that are handed on as they are: there is nothing to choose
BEYOND = {
    "many-categories": ("categories_most", 50),
    "text-column": ("text_columns", 0),
    "missing": ("columns_with_missing", 0),
}
"""Signs of columns: each holds where a figure exceeds a number."""


class ChosenFinding(Model):
    number: int
    """Of the finding."""
    text: str
    """Its advice for these data in one sentence; nothing that it does not state."""
    because: str
    """What in the task or the data makes it apply."""


class KnowledgeAnswer(Answer):
    insights: tuple[ChosenFinding, ...]
    """At most 8, the most useful first; none where nothing applies."""


class KnowledgeRetriever(RuledAgent):
    """Asks every source of knowledge; an insight always comes from one of them."""

    name = "knowledge_retriever"
    description = "Looks up what is known about such data and tasks: cases from the literature, papers if allowed."
    produces = "knowledge"
    Input = PlanningInput
    Output = Knowledge
    Answer = KnowledgeAnswer

    def by_rule(self, input: PlanningInput, context: Context) -> Knowledge:
        findings, notes = _looked_up(input)
        return Knowledge(insights=tuple(findings[:MOST]), sources=notes)

    def in_short(self, output: Knowledge) -> str:
        return f"{len(output.insights)} insights, each from a source. {' '.join(output.sources)}"

    def is_settled(self, input: PlanningInput, context: Context) -> bool:
        return len(_looked_up(input)[0]) <= FEW

    def sections(self, input: PlanningInput, context: Context) -> tuple[Section, ...]:
        listed = enumerate(_looked_up(input)[0][:SHOWN], start=1)
        texts = (f"{number}. {one.text} (applies: {one.because})" for number, one in listed)
        known, findings = input.known(), section("findings", *texts, rank=1)
        return shown.request(known), shown.task(known.blueprint, input.profile), findings

    def objection(self, answer: KnowledgeAnswer, input: PlanningInput) -> str:
        numbers = [one.number for one in answer.insights]
        count = len(_looked_up(input)[0][:SHOWN])
        strange = [number for number in numbers if not 1 <= number <= count or numbers.count(number) > 1]
        if len(numbers) > MOST:
            return f"There are {len(numbers)} insights; the most is {MOST}."
        return f"Finding {strange[0]} is not listed, or chosen twice." if strange else ""

    def read(self, answer: KnowledgeAnswer, input: PlanningInput, context: Context) -> Attempt[Knowledge]:
        findings, notes = _looked_up(input)
        chosen = ((findings[one.number - 1], {"text": one.text, "because": one.because}) for one in answer.insights)
        insights = tuple(finding.model_copy(update=changes) for finding, changes in chosen)
        return Attempt(Knowledge(insights=insights, sources=notes), answer.reason, answer.fix)


def subject_of(input: PlanningInput) -> Subject:
    """What to look for; nothing in it is a value of the data."""
    profile, task = input.profile, input.task
    codes, words = [*profile.suggestions], names("suggestions")
    codes += [code for code, (figure, least) in BEYOND.items() if profile.meta[figure] > least]
    signs = [
        *codes,
        *(leak.code for leak in profile.leaks),
        *task.prefer,
        f"cut-{profile.holdout.strategy}",
        *(one.quantity.replace("_", "-") for one in task.constraints),
    ]
    return Subject(
        task=profile.split.problem,
        figures=dict(profile.meta),
        signs=frozenset(signs),
        words=tuple(dict.fromkeys(words[code] for code in codes if code in words))[:3],
    )


def _looked_up(input: PlanningInput) -> tuple[list[KnowledgeFinding], tuple[str, ...]]:
    """The findings of all sources in turn, without those for learners that are not available, and a note of each."""
    sources, allowed = look_up(subject_of(input)), {*input.known().constraints.allowed}
    found = [one for one in chain.from_iterable(zip_longest(*(one.findings for one in sources))) if one is not None]
    named = [one if one.algorithms else one.model_copy(update={"algorithms": advocated(one.text)}) for one in found]
    usable = [one for one in named if not one.algorithms or allowed & {*one.algorithms}]
    return usable, tuple(one.note for one in sources)
