"""Reads words with a model, whose answers must pass the resolver and the author's examples; it may ask the author."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from palmette.documents import Located
from palmette.engine import Human, Paid, Pay, Spend
from palmette.errors import InputError, Mistake
from palmette.features import prompt_context
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.fsc import Feature, FeatureSpec
from palmette.features.spec.words import WordsReading
from palmette.features.words.answer import FORMS, OpenQuestion, WordsAnswer
from palmette.llm import NEEDED, Answerer, Prompt, section
from palmette.llm.prompt import load_prompt

ROUNDS = 4
"""Maximum number of model calls, including corrections and questions."""

_OTHERWISE = "or write an `aggregate`, `expression`, `lookup` or `derive`."
Asked = Mapping[str, tuple[Feature, Mistake]]
"""Features to read by name, each with the problem of its words."""
Validate = Callable[[Mapping[str, WordsReading]], Sequence[Mistake]]
"""Returns the problems of the specification with these readings."""


@dataclass(frozen=True)
class WordsReader:
    """Reads words with a model, which may ask the author."""

    model: Answerer
    human: Human
    pay: Pay

    def read(
        self, spec: Located[FeatureSpec], text: str, registry: Registry, open: Sequence[Mistake], validate: Validate
    ) -> dict[str, WordsReading]:
        """Reads the features named in `open`; `text` is the specification as written.

        Raises:
            InputError: a question was not answered, or the words have no valid reading.
        """
        asked = {
            feature.name: (feature, problem) for problem in open if (feature := feature_of(spec, problem)) is not None
        }
        tried: list[str] = []
        problems: Sequence[Mistake] = open
        for _ in range(ROUNDS):
            answer = self.model.ask(self._prompt(spec, text, registry, asked, tried), WordsAnswer, self.pay)
            if not isinstance(answer, WordsAnswer):
                raise InputError([_unreadable(problem, answer.reason) for problem in open])
            if answer.questions:
                tried += [self._ask_author(one, asked) for one in answer.questions]
                continue
            readings = {one.name: one.reading(answer.sources) for one in answer.features}
            problems = _form_problems(answer, asked) or validate(readings)
            if not problems:
                return readings
            tried.append(_rejection(answer, problems, spec))
        last = "; ".join(problem.message for problem in problems)
        raise InputError([_unreadable(problem, last) for problem in open])

    def _ask_author(self, question: OpenQuestion, asked: Asked) -> str:
        """Asks the author; the run remembers the answer like that of a model."""
        if question.feature not in asked:
            return f"A question about {question.feature!r}, which is not asked for."
        feature, problem = asked[question.feature]

        def ask() -> Paid:
            answer = self.human.ask(f"The words {feature.words!r} of {feature.name!r}: {question.question}")
            if not answer:
                raise InputError([_question(problem, question.question)])
            return Paid(answer, Spend())

        answer = self.pay({"question": question.question, "about": feature.words}, Spend(), ask, "author")
        return f"On {feature.name!r} you asked: {question.question}\nThe author answered: {answer}"

    def _prompt(
        self, spec: Located[FeatureSpec], text: str, registry: Registry, asked: Asked, tried: Sequence[str]
    ) -> Prompt:
        file = load_prompt(Path(__file__).with_name("prompt.md"))
        sections = (
            section("features", ", ".join(asked), rank=NEEDED),
            prompt_context.registry(_reached(spec.value, text, registry)).model_copy(update={"rank": 1}),
            section("specification", text, rank=NEEDED, language="yaml"),
            section("tried", *tried, rank=NEEDED),
        )
        return file.prompt(self.model.role, WordsAnswer, sections, self.model.settings.prompt_tokens)


def feature_of(spec: Located[FeatureSpec], problem: Mistake) -> Feature | None:
    """The feature that a problem is about."""
    found = re.match(r"features\[(\d+)\]", problem.field)
    return spec.value.features[int(found[1])] if found else None


def _reached(spec: FeatureSpec, text: str, registry: Registry) -> list[Table]:
    """The tables that the specification names or that have its keys, and those that their columns lead to."""
    grain = {key for entity in spec.entities for key in entity.keys}
    columns = {table.name: {column.name for column in table.columns} for table in registry.tables}
    found = [table for table in registry.tables if table.name in text or grain <= columns[table.name]]
    for table in found:  # grows while tables lead on
        found += [one for one in registry.tables if one not in found and columns[table.name].issuperset(one.keys)]
    return found or [*registry.tables]


def _form_problems(answer: WordsAnswer, asked: Mapping[str, object]) -> list[Mistake]:
    """Problems of the answer's form: missing or extra features, and features without exactly one computation."""
    names = [one.name for one in answer.features]
    counts = {name: names.count(name) for name in (*asked, *names)}
    found = [
        f"There are {count} readings of {name!r}; give {int(name in asked)}."
        for name, count in counts.items()
        if count != int(name in asked)
    ]
    parts = [part for one in answer.features for part in (one, *one.helpers)]
    found += [
        f"{part.name!r} has {' and '.join(forms) or 'no computation'}; give exactly one."
        for part in parts
        if len(forms := [name for name in FORMS if getattr(part, name, None) is not None]) != 1
    ]
    return [Mistake("unknown-words", message) for message in found]


def _rejection(answer: WordsAnswer, problems: Iterable[Mistake], spec: Located[FeatureSpec]) -> str:
    given = answer.model_dump(mode="json", exclude_defaults=True, exclude={"reason", "fix"})
    lines = [f"- {_located(problem, spec)}" for problem in problems]
    return "\n".join([f"You answered: {json.dumps(given, ensure_ascii=False)}", "It was refused:", *lines])


def _located(problem: Mistake, spec: Located[FeatureSpec]) -> str:
    """Formats a problem without its location in the author's file."""
    names = spec.value.features
    field = re.sub(r"features\[(\d+)\]", lambda found: names[int(found[1])].name, problem.field)
    hint = f" Did you mean {problem.nearest!r}?" if problem.nearest else ""
    return f"{f'{field}: ' if field else ''}{problem.message}{hint} {problem.remedy}".strip()


def _question(problem: Mistake, question: str) -> Mistake:
    """Replaces the question in a problem by the model's."""
    message = f"The words {problem.value or ''!r} can be read in several ways. {question}"
    return replace(problem, code="ambiguous-words", message=message, remedy=f"State it in the words, {_OTHERWISE}")


def _unreadable(problem: Mistake, reason: str) -> Mistake:
    message = f"No reading of the words {problem.value or ''!r} holds: {reason}"
    return replace(problem, code="unknown-words", message=message, remedy=f"Rephrase it, {_OTHERWISE}")
