"""What a language model reads in a sentence, and the checks of it: quotations, columns, numbers and names are real."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from palmette.automl.task_spec.amounts import amount_pattern, parse_amount
from palmette.automl.task_spec.limits import parse_constraint
from palmette.automl.task_spec.request import DataSummary, SentenceReading
from palmette.automl.task_spec.sentence import uncovered
from palmette.automl.task_spec.spec import Constraint, FieldSource
from palmette.automl.task_spec.task_file import StatedTask, TaskFile, parse_learner, task_of
from palmette.documents import Model
from palmette.errors import did_you_mean
from palmette.llm import Answer

_COLUMNS = ("labels", "series", "known_ahead", "group_by", "time", "include", "exclude", "known_after", "candidates")


class Wish(Model):
    """A limit or a learner."""

    value: str
    words: str
    """The words of the request that ask for it, letter by letter."""


class Impossible(Model):
    """Something that is asked for and cannot be done here."""

    words: str
    reason: str


class SentenceAnswer(Answer, StatedTask):
    asks_for: Literal["model", "unsupported", "irrelevant"] = "model"
    """unsupported: a model of a kind that is not supported; irrelevant: no model."""
    example: str = ""
    """Where it is not a model: a request that would work, as close as possible."""
    candidates: tuple[str, ...] = ()
    """Where two or more columns fit the words equally as the target: these."""
    constraints: tuple[Wish, ...] = ()
    """Limits such as `accuracy>=0.9`, `latency<=20ms`, `batch_time<=5s`, `training_time<=10min`, `size<=5MB`,
    `parameters<=1e6`."""
    learners: tuple[Wish, ...] = ()
    """`name` where the model must consist of these, `not:name`, `first:name` where preferred, `baseline:name`."""
    words: dict[str, str] = Field(default_factory=dict)
    """By field, except constraints and learners: the words of the request that it was read from, letter by letter."""
    unread: tuple[str, ...] = ()
    """Words that may be a wish and fit no field, letter by letter."""
    unmet: tuple[Impossible, ...] = ()
    """Wishes that are clear, and that no field can express."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if value not in ("", None)}

    @property
    def stated(self) -> dict[str, Any]:
        """The fields of the task that the answer states."""
        values = {name: getattr(self, name) for name in StatedTask.model_fields if name in self.model_fields_set}
        return {name: value for name, value in values.items() if value not in ("", (), None)}


def reading_of(answer: SentenceAnswer, text: str, data: DataSummary) -> SentenceReading:
    """The answer as a reading; words that it leaves out and that look like a wish are unread."""
    task = task_of(TaskFile.model_validate(answer.stated), "model")
    sources = {
        path: FieldSource(origin="model", words=answer.words.get(path.partition(".")[0], "")) for path in task.sources
    }
    limits = tuple(parse_constraint(one.value).model_copy(update={"words": one.words}) for one in answer.constraints)
    learners = tuple(parse_learner(one.value).model_copy(update={"words": one.words}) for one in answer.learners)
    for name, wishes in (("constraints", answer.constraints), ("learners", answer.learners)):
        if wishes:
            sources[name] = FieldSource(origin="model", words=" … ".join(dict.fromkeys(one.words for one in wishes)))
    quotes = [*_quotations(answer), *answer.unread]
    made = task.model_copy(
        update={
            "sentence": text,
            "constraints": limits,
            "learners": learners,
            "sources": sources,
            "unread": tuple(dict.fromkeys((*answer.unread, *uncovered(text, data, quotes)))),
            "unmet": tuple(f"{one.words!r}: {one.reason}" for one in answer.unmet),
        }
    )
    return SentenceReading(made, answer.candidates)


def mistakes(answer: SentenceAnswer, text: str, data: DataSummary) -> Iterator[str]:
    """What in an answer is not so in the sentence and the data."""
    for quote in (*_quotations(answer), *answer.unread):
        if _plain(quote) not in _plain(text):
            yield f"The request has no words {quote!r}. Quote it letter by letter."
    for name in answer.stated:
        if not answer.words.get(name):
            yield f'"words" has no entry for {name!r}. Quote what it was read from.'
    several = answer.problem == "forecasting" and data.column(answer.target) is None
    targets = [one.strip() for one in answer.target.split(",")] if several else [answer.target]
    named = {"target": [one for one in targets if one != "all"], **{name: getattr(answer, name) for name in _COLUMNS}}
    for name, value in named.items():
        for column in (value,) if isinstance(value, str) else value:
            if column and data.column(column) is None:
                hint = did_you_mean(column, data.names)
                yield f"{name} names {column!r}, which is not a column.{hint}"
    try:
        made = reading_of(answer, text, data).task
    except (ValidationError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        yield f"A value cannot be read: {reason}."
        return
    for one in made.constraints:
        if not _has_number(one):
            yield f"{str(one)!r} cannot be read from {one.words!r}."


def _quotations(answer: SentenceAnswer) -> list[str]:
    wishes = [one.words for one in (*answer.constraints, *answer.learners)]
    return [*answer.words.values(), *wishes, *(one.words for one in answer.unmet)]


def _has_number(one: Constraint) -> bool:
    """Whether the words of a limit have its number, as it is or in percent; words without digits pass."""
    if not re.search(r"\d", one.words):
        return True
    numbers = re.finditer(amount_pattern("", "percent", "seconds", "bytes"), one.words, re.I)
    found = [parse_amount(number[0]) for number in numbers]
    values = [amount.value for amount in found if amount is not None]
    return any(abs(each - one.value) <= 1e-9 * max(1.0, abs(each)) for value in values for each in (value, value / 100))


def _plain(text: str) -> str:
    marks = str.maketrans("‘’“”–—", "''\"\"--")
    return " ".join(text.translate(marks).split()).casefold()
