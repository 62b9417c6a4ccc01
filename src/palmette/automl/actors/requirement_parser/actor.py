"""The actor `requirement_parser`: flags, task file and sentence as one `TaskSpec`, completed by the data."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from palmette.automl.actors.request_verifier.actor import Verification, VerifierInput
from palmette.automl.actors.shared import RuledAgent, verdict
from palmette.automl.composition import available_learners, learners
from palmette.automl.kinds import Kind, Track
from palmette.automl.problem_traits import learning_task
from palmette.automl.task_spec.amounts import amount_pattern, parse_amount
from palmette.automl.task_spec.completion import Learners, OpenTarget, chosen_target, completed, resolved
from palmette.automl.task_spec.request import (
    DataSummary,
    SentenceReading,
    require_relevant,
    require_understood,
    unsupported,
)
from palmette.automl.task_spec.sentence import read_sentence, uncovered
from palmette.automl.task_spec.spec import Constraint, FieldSource, TaskSpec, merged
from palmette.automl.task_spec.task_file import StatedTask, TaskFile, parse_constraint, parse_learner, task_of
from palmette.automl.task_spec.vocabulary import vocabulary
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import UserError, did_you_mean
from palmette.llm import NEEDED, Answer, Section, section

CODES = (
    "metric-unsuited", "problem-misfit", "unknown-metric", "no-times", "no-groups", "no-numbers", "no-columns",
    "no-such-column", "no-such-class", "bad-target", "target-excluded", "column-contradiction",
)  # fmt: skip
"""What it answers for."""
_COLUMNS = ("labels", "series", "known_ahead", "group_by", "time", "include", "exclude", "known_after", "candidates")
EXAMPLES = 4  # values of a column that a model is shown


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
    words = {path: answer.words.get(path.removeprefix("forecast.").partition(".")[0], "") for path in task.sources}
    sources = {path: FieldSource(origin="model", words=quote) for path, quote in words.items()}
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


class ParserInput(VerifierInput):
    verification: Verification | None = None


class RequirementParser(RuledAgent):
    """Reads the sentence by rules or with one call, merges it with what was given, and completes it by the data."""

    name = "requirement_parser"
    description = "Makes the task of flags, task file and sentence: target, problem, metric, limits, columns, learners."
    produces = "task"
    Input = ParserInput
    Output = TaskSpec
    Answer = SentenceAnswer
    codes = CODES

    def is_settled(self, input: ParserInput, context: Context) -> bool:
        """Without a sentence there is nothing to read."""
        return not input.request.text.strip()

    def by_rule(self, input: ParserInput, context: Context) -> TaskSpec:
        reading = read_sentence(input.request.text, input.columns, input.request.files)
        require_relevant(input.request, input.columns, input.given_task, reading)
        require_understood(input.request, input.columns, input.given_task, reading)
        return _finished(input, reading, context)

    def in_short(self, output: TaskSpec) -> str:
        targets = ", ".join(map(repr, output.forecast.targets)) or repr(output.target)
        aim = f"{output.problem} of {targets}" if output.target else output.problem
        return f"{aim}: {', '.join(map(str, output.constraints)) or 'no limits'}"

    def sections(self, input: ParserInput, context: Context) -> tuple[Section, ...]:
        given = [f"{field}: {source.words}" for field, source in input.given_task.sources.items()]
        metrics: dict[str, list[str]] = {}
        for name, words in vocabulary().metrics.items():
            metrics.setdefault(words.problem, []).append(name)
        columns = [
            f"{one.name}: {one.kind}, {'?' if one.distinct is None else one.distinct} values, e.g. "
            + ", ".join(repr(value[:40]) for value in one.examples[:EXAMPLES])
            for one in input.columns.columns
        ]
        return (
            section("request", input.request.text, rank=NEEDED, language="text"),
            section("given", *given, rank=NEEDED, language="text"),
            section("columns", *columns, rank=1, language="text"),
            section("learners", ", ".join(vocabulary().learners), rank=NEEDED, language="text"),
            section("metrics", *(f"{problem}: {', '.join(names)}" for problem, names in metrics.items()), rank=NEEDED),
        )

    def objection(self, answer: SentenceAnswer, input: ParserInput) -> str:
        """What it misreads; a refusal quotes nothing."""
        found = mistakes(answer, input.request.text, input.columns) if answer.asks_for == "model" else ()
        return " ".join(found)

    def read(self, answer: SentenceAnswer, input: ParserInput, context: Context) -> Attempt[TaskSpec]:
        if answer.asks_for != "model":
            remedy = f"A request that works: {answer.example}" if answer.example else ""
            if answer.asks_for == "unsupported":
                raise unsupported(answer.reason or "a problem that is not supported", remedy)
            reason = answer.reason or "The request asks for something other than a model."
            raise UserError(reason, remedy, code="request-irrelevant")
        try:
            made = _finished(input, reading_of(answer, input.request.text, input.columns), context)
        except UserError as error:
            again = any(violation.code == error.code for past in context.attempts for violation in past.violations)
            if again or error.code not in CODES:
                raise  # the request itself is so
            found = Violation(code=error.code, message=error.message)
            return Attempt(None, answer.reason, answer.fix, (found,))
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: ParserInput, output: TaskSpec, context: Context) -> Verdict:
        """Every name is one of the data, and problem, target, metric and split fit together."""
        wrong = []
        try:
            completed(resolved(output, input.columns), input.columns, find_learners)
        except UserError as error:
            wrong = [Violation(code=error.code, message=error.message, subject="task")]
        warnings = [
            *(Measurement(name="not understood", status="warning", detail=words) for words in output.unread),
            *(Measurement(name="cannot be met", status="warning", detail=wish) for wish in output.unmet),
        ]
        return verdict("task", wrong, self.in_short(output), *warnings)


def find_learners(problem: str, kinds: Collection[Kind], tracks: Collection[Track] = ()) -> Learners:
    """The registered learners, and those that can train here on such columns."""
    usable = available_learners(problem, kinds, tracks)
    named = {one.name: (one.name, *one.families) for one in learners()}
    available = frozenset(name for one in usable for name in named[one])
    registered = {name: "" for names in named.values() for name in names}
    for one in learners():
        if {problem, learning_task(problem)} & one.problems and (reason := one.unavailable()):
            registered[one.name] = f" {reason}"
    return Learners(usable, available, registered)


def _finished(input: ParserInput, reading: SentenceReading, context: Context) -> TaskSpec:
    """The reading merged with what was given, and completed; a person is asked for a target that is open.

    Raises UserError where parts contradict each other, or the target is open and there is no person to ask.
    """
    task = resolved(merged(input.given_task, reading.task), input.columns)
    chosen = chosen_target(task, input.columns, reading.candidates)
    if isinstance(chosen, OpenTarget):
        name = chosen.answered(context.ask(chosen.question))
        sources = {**task.sources, "target": FieldSource(origin="answer", words=name)}
        chosen = task.model_copy(update={"target": name, "sources": sources})
    return completed(chosen, input.columns, find_learners)
