"""What a language model reads in a sentence, and the checks of it: quotations, columns, numbers and names are real."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, ValidationError

from palmette.automl.task_spec.amounts import amount_pattern, parse_amount
from palmette.automl.task_spec.limits import parse_constraint
from palmette.automl.task_spec.request import DataSummary, SentenceReading
from palmette.automl.task_spec.sentence import uncovered
from palmette.automl.task_spec.spec import Constraint, FieldSource, Preference
from palmette.automl.task_spec.task_file import TaskFile, parse_learner, task_of
from palmette.documents import Model
from palmette.errors import did_you_mean
from palmette.llm import Answer

_COLUMNS = ("labels", "series", "known_ahead", "group_by", "time", "include", "exclude", "known_after", "candidates")
_PLAIN = (
    "target", "problem", "metric", "positive", "threshold", "clusters", "labels", "include", "exclude", "known_after",
    "horizon", "frequency", "series", "known_ahead", "group_by", "time", "split", "prefer", "ensemble", "budget",
)  # fmt: skip
"""Fields that are written as in a task file."""


class Wish(Model):
    """A limit or a learner."""

    value: str
    words: str
    """The words of the request that ask for it, letter by letter."""


class Impossible(Model):
    """Something that is asked for and cannot be done here."""

    words: str
    reason: str


class SentenceAnswer(Answer):
    asks_for: Literal["model", "unsupported", "irrelevant"] = "model"
    """unsupported: a model of a kind that is not supported; irrelevant: no model."""
    example: str = ""
    """Where it is not a model: a request that would work, as close as possible."""
    target: str = ""
    """The column to predict; empty for a clustering, and where two columns fit equally."""
    candidates: tuple[str, ...] = ()
    """Where two or more columns fit the words equally: these."""
    problem: Literal["", "classification", "regression", "clustering", "node_classification", "forecasting"] = ""
    """Only where the words say so; forecasting where the next rows of a series are wanted."""
    metric: str = ""
    """What models are compared by, where the words say so; one of the list."""
    positive: str = ""
    """The value of the target that F1, precision or recall is asked for."""
    threshold: str = ""
    """Where a number makes two classes of the target: `column > number`."""
    clusters: str = ""
    """A number, or a range such as 3-6."""
    labels: str = ""
    """Of a clustering: the column to compare with."""
    include: tuple[str, ...] = ()
    """Columns, where only these may be used."""
    exclude: tuple[str, ...] = ()
    """Columns that no model may use."""
    known_after: tuple[str, ...] = ()
    """Columns that the writer says are not known yet when a prediction is made."""
    horizon: str = ""
    """Of a forecast: steps, or a time such as `24 hours`."""
    frequency: str = ""
    """Of a forecast, where the words say so: a pandas offset such as `h` or `MS`."""
    series: str = ""
    """Of a forecast: the column that names the series of each row."""
    known_ahead: tuple[str, ...] = ()
    """Of a forecast: columns whose values are known for the rows that are forecast."""
    group_by: str = ""
    """The column of a customer, patient or the like whose rows must not be in two parts."""
    time: str = ""
    """The column of times, where the rows are to be split by it."""
    split: str = ""
    """Parts with commas: `time`, `random`, `stratified`, `20%`, `from:2024-03`, `from:P3M`, `folds:5`."""
    constraints: tuple[Wish, ...] = ()
    """Limits such as `accuracy>=0.9`, `latency<=20ms`, `batch_time<=5s`, `training_time<=10min`, `size<=5MB`,
    `parameters<=1e6`."""
    learners: tuple[Wish, ...] = ()
    """`name` where the model must consist of these, `not:name`, `first:name` where preferred, `baseline:name`."""
    prefer: tuple[Preference, ...] = ()
    """What matters beside the score, without a number."""
    ensemble: bool | None = None
    """false where a single model is wanted, true where several together are."""
    budget: str = ""
    """Time for the whole search, e.g. 5min; not a limit on the training time."""
    words: dict[str, str] = Field(default_factory=dict)
    """By field, except constraints and learners: the words of the request that it was read from, letter by letter."""
    unread: tuple[str, ...] = ()
    """Words that may be a wish and fit no field, letter by letter."""
    unmet: tuple[Impossible, ...] = ()
    """Wishes that are clear, and that no field can express."""


def reading_of(answer: SentenceAnswer, text: str, data: DataSummary) -> SentenceReading:
    """The answer as a reading; words that it leaves out and that look like a wish are unread."""
    fields = {name: getattr(answer, name) for name in _PLAIN if getattr(answer, name) not in ("", (), None)}
    task = task_of(TaskFile.model_validate(fields), "model")
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
    for name in _PLAIN:
        if getattr(answer, name) not in ("", (), None) and not answer.words.get(name):
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
