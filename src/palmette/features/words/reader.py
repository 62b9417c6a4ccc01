"""Reads words with a model, whose answers must pass the resolver and the author's examples; it may ask the author."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from palmette.documents import Located, Model
from palmette.engine import Human, Paid, Pay, Spend
from palmette.errors import InputError, Mistake
from palmette.features import prompt_context
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.fsc import Aggregate, Expression, Feature, FeatureSpec, Lookup, SourceSpec
from palmette.features.spec.fsc_steps import Step
from palmette.features.spec.resolve import Answers
from palmette.features.spec.values import Name, TypeName
from palmette.features.spec.words import WordsReading
from palmette.features.words.second_reading import ask_again
from palmette.llm import NEEDED, Answer, Answerer, Prompt, section
from palmette.llm.agent import load_prompt

FORMS = ("aggregate", "expression", "lookup", "derive")


class ComputedFeature(Model):
    """A feature with its computation; exactly one of the forms is given."""

    name: Name
    """Name of the feature."""
    aggregate: Aggregate | None = None
    """Aggregates the rows of a source."""
    expression: Expression | None = None
    """The same in SQL."""
    lookup: Lookup | None = None
    """Looks up a value of one row."""

    @model_validator(mode="after")
    def _has_one_computation(self) -> Self:
        given = [form for form in FORMS if getattr(self, form, None) is not None]
        if len(given) != 1:
            raise ValueError(f"{self.name!r} has {' and '.join(given) or 'no computation'}; give exactly one")
        return self


class HelperFeature(ComputedFeature):
    """An internal feature with a new name."""

    dtype: TypeName
    """Spark SQL type."""
    default: str | int | float | bool | None = None
    """Replaces null."""

    @property
    def feature(self) -> Feature:
        """As the resolver takes it."""
        return Feature.model_validate({**dict(self), "internal": True})


class FeatureReading(ComputedFeature):
    """The meaning of the words of one feature."""

    derive: str | None = None
    """Row-wise expression over other features (helpers too), grain keys, kept spine columns and `as_of`."""
    helpers: tuple[HelperFeature, ...] = ()
    """Internal features that it needs; others may use them by name."""

    def reading(self, sources: tuple[SourceSpec, ...] = ()) -> WordsReading:
        """As the resolver takes it."""
        computation = {name: value for name in FORMS if (value := getattr(self, name)) is not None}
        return WordsReading(computation, tuple(helper.feature for helper in self.helpers), sources)


class PreparingStep(Step):
    # An expression over a row's columns does as well what these do.
    replace: SkipJsonSchema[None] = None
    convert: SkipJsonSchema[None] = None
    categorise: SkipJsonSchema[None] = None
    extract: SkipJsonSchema[None] = None


class PreparedSource(SourceSpec):
    steps: tuple[PreparingStep, ...] = ()
    """Steps, in order; each has exactly one key."""


class OpenQuestion(Model):
    """A question to the author."""

    feature: Name
    """Name of the feature."""
    question: str = Field(min_length=1)
    """One precise question that lists the possible readings."""


class WordsAnswer(Answer):
    features: tuple[FeatureReading, ...] = ()
    """One for each feature that was asked for."""
    sources: tuple[PreparedSource, ...] = ()
    """Further sources with new names, for rows that no source of the specification has."""
    questions: tuple[OpenQuestion, ...] = ()
    """Instead of the rest: decisions for the author."""


ROUNDS = 4  # maximum number of calls for a translation, including corrections and questions

_OTHERWISE = "or write an `aggregate`, `expression`, `lookup` or `derive`."
Asked = Mapping[str, tuple[Feature, Mistake]]  # features to read by name, each with the problem of its words
Readings = dict[str, WordsReading]
Validate = Callable[[Mapping[str, WordsReading]], Sequence[Mistake]]
"""Returns the problems of the specification with these readings."""


@dataclass(frozen=True)
class OpenWords:
    """Documents with features in words that the rules do not understand."""

    spec: Located[FeatureSpec]
    text: str  # the specification as written
    registry: Registry
    validate: Validate
    answers: Answers = field(default_factory=dict)  # a person's wordings of features, by name

    @property
    def tables(self) -> list[Table]:
        """The tables that the specification names or that have its keys, and those that their columns lead to."""
        grain = {key for entity in self.spec.value.entities for key in entity.keys}
        tables = self.registry.tables
        columns = {table.name: {column.name for column in table.columns} for table in tables}
        found = [table for table in tables if table.name in self.text or grain <= columns[table.name]]
        for table in found:  # grows while tables lead on
            found += [one for one in tables if one not in found and columns[table.name].issuperset(one.keys)]
        return found or [*tables]


def feature_of(spec: FeatureSpec, problem: Mistake) -> Feature | None:
    """The feature that a problem is about."""
    found = re.match(r"features\[(\d+)\]", problem.field)
    return spec.features[int(found[1])] if found else None


@dataclass(frozen=True)
class WordsReader:
    """Reads words with a model, which may ask the author."""

    model: Answerer
    human: Human
    pay: Pay

    def read(self, documents: OpenWords, open: Sequence[Mistake]) -> Readings:
        """Reads the features named in `open`, twice; where the two readings differ, the author decides.

        If nobody answers, the first reading stands, with a doubt for the reviewer.

        Raises:
            InputError: a question of the model was not answered, or the words have no valid reading.
        """
        found = ((feature_of(documents.spec.value, problem), problem) for problem in open)
        asked = {feature.name: (feature, problem) for feature, problem in found if feature is not None}
        readings = self._translate(documents, asked, {}, [])
        answers: dict[str, str] = {}
        for name, verdict in ask_again(self.model, self.pay, documents, readings).items():
            readings[name] = replace(readings[name], doubt=verdict.doubt)
            if verdict.question:
                question = OpenQuestion(feature=name, question=verdict.question)
                try:
                    answer = self._author(question, asked)
                except InputError:
                    continue
                readings[name] = replace(readings[name], doubt="")
                if not re.match(r"\W*1\b", answer):
                    answers[name] = _answered(question, answer)
        kept = {name: reading for name, reading in readings.items() if name not in answers}
        return self._translate(documents, asked, kept, [*answers.values()]) if answers else readings

    def _translate(self, documents: OpenWords, asked: Asked, kept: Readings, tried: list[str]) -> Readings:
        """Reads the features that `kept` lacks; asks again for refused ones only."""
        left = {name: one for name, one in asked.items() if name not in kept}
        refused: dict[str, list[str]] = {}
        for _ in range(ROUNDS):
            answer = self.model.ask(self._prompt(documents, left, tried), WordsAnswer, self.pay)
            if not isinstance(answer, WordsAnswer):
                raise InputError([_unreadable(problem, answer.reason) for _, problem in left.values()])
            if answer.questions:
                questions = [one for one in answer.questions if one.feature in left]
                tried += [_answered(one, self._author(one, left)) for one in questions] or ["Ask about the above only."]
                continue
            kept |= {one.name: one.reading(answer.sources) for one in answer.features if one.name in left}
            problems = documents.validate(kept)
            if not problems:
                return kept
            refused = {}
            for problem in problems:
                for name in _refused(problem, documents.spec.value, asked):
                    refused.setdefault(name, []).append(problem.message)
                    kept.pop(name, None)
            tried.append(_rejection(answer, problems, refused, documents.spec.value, tried))
            left = {name: one for name, one in asked.items() if name in refused}
        raise InputError([_unreadable(one, "; ".join(refused.get(name, ()))) for name, (_, one) in left.items()])

    def _author(self, question: OpenQuestion, asked: Asked) -> str:
        """The author's answer, which the run remembers like that of a model; InputError if there is none."""
        feature, problem = asked[question.feature]

        def ask() -> Paid:
            answer = self.human.ask(f"The words {feature.words!r} of {feature.name!r}: {question.question}")
            if not answer:
                raise InputError([_question(problem, question.question)])
            return Paid(answer, Spend())

        return str(self.pay({"question": question.question, "about": feature.words}, Spend(), ask, "author"))

    def _prompt(self, documents: OpenWords, asked: Asked, tried: Sequence[str]) -> Prompt:
        file = load_prompt(Path(__file__).with_name("prompt.md"))
        sections = (
            section("features", ", ".join(asked), rank=NEEDED),
            prompt_context.registry(documents.tables).model_copy(update={"rank": 1}),
            section("specification", documents.text, rank=NEEDED, language="yaml"),
            section("tried", *tried, rank=NEEDED),
        )
        return file.prompt(self.model.role, WordsAnswer, sections, self.model.settings.prompt_tokens)


def _answered(question: OpenQuestion, answer: str) -> str:
    return f"On {question.feature!r} the author was asked: {question.question}\nThe author answered: {answer}"


def _refused(problem: Mistake, spec: FeatureSpec, asked: Asked) -> Iterable[str]:
    """The asked features that a problem is about; all if it names none."""
    feature = feature_of(spec, problem)
    if feature is not None and feature.name in asked:
        return [feature.name]
    return [name for name in asked if re.search(rf"\b{name}\b", problem.message)] or asked


def _rejection(
    answer: WordsAnswer, problems: Iterable[Mistake], refused: Iterable[str], spec: FeatureSpec, tried: Sequence[str]
) -> str:
    """The refused part of an answer, with the problems that were not shown before."""
    part = answer.model_copy(update={"features": tuple(one for one in answer.features if one.name in refused)})
    given = part.model_dump(mode="json", exclude_defaults=True, exclude={"reason", "fix"})
    lines = dict.fromkeys(f"- {_located(problem, spec)}" for problem in problems)
    new = [line for line in lines if line not in "\n".join(tried).splitlines()] or ["- for a reason given above"]
    return "\n".join([f"You answered: {json.dumps(given, ensure_ascii=False)}", "It was refused:", *new])


def _located(problem: Mistake, spec: FeatureSpec) -> str:
    """Formats a problem without its location in the author's file."""
    field = re.sub(r"features\[(\d+)\]", lambda found: spec.features[int(found[1])].name, problem.field)
    hint = f" Did you mean {problem.nearest!r}?" if problem.nearest else ""
    return f"{f'{field}: ' if field else ''}{problem.message}{hint} {problem.remedy}".strip()


def _question(problem: Mistake, question: str) -> Mistake:
    """Replaces the question in a problem by the model's."""
    message = f"The words {problem.value or ''!r} can be read in several ways. {question}"
    return replace(problem, code="ambiguous-words", message=message, remedy=f"State it in the words, {_OTHERWISE}")


def _unreadable(problem: Mistake, reason: str) -> Mistake:
    message = f"No reading of the words {problem.value or ''!r} holds: {reason}"
    return replace(problem, code="unknown-words", message=message, remedy=f"Rephrase it, {_OTHERWISE}")
