"""The actor `requirement_parser`: flags, task file and sentence as one `TaskSpec`, completed by the data."""

from __future__ import annotations

from collections.abc import Collection

from palmette.automl.actors.request_verifier.actor import Verification, VerifierInput
from palmette.automl.actors.requirement_parser.answer import SentenceAnswer, mistakes, reading_of
from palmette.automl.actors.shared import RuledAgent, verdict
from palmette.automl.kinds import Kind, Track
from palmette.automl.task_spec.completion import Learners, OpenTarget, chosen_target, completed, resolved
from palmette.automl.task_spec.merging import merged
from palmette.automl.task_spec.relevance import require_relevant, require_understood, unsupported
from palmette.automl.task_spec.request import SentenceReading
from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import FieldSource, TaskSpec
from palmette.automl.task_spec.vocabulary import vocabulary
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import UserError
from palmette.llm import NEEDED, Section, section

CODES = (
    "target-missing", "column-missing", "metric-misfit", "metric-unsuited", "problem-misfit", "unknown-metric",
    "no-times", "no-groups", "no-numbers", "no-columns", "no-such-column", "no-such-class", "bad-target",
    "target-excluded", "column-contradiction",
)  # fmt: skip
"""What it answers for."""
EXAMPLES = 4  # values of a column that a model is shown


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
        require_understood(input.request, input.given_task, reading)
        return _finished(input, reading, context)

    def in_short(self, output: TaskSpec) -> str:
        aim = f"{output.problem} of {output.target!r}" if output.target else output.problem
        return f"{aim}: {', '.join(map(str, output.constraints)) or 'no limits'}"

    def sections(self, input: ParserInput, context: Context) -> tuple[Section, ...]:
        given = [f"{field}: {source.words}" for field, source in input.given_task.sources.items()]
        metrics: dict[str, list[str]] = {}
        for name, words in vocabulary().metrics.items():
            shown = name if words.better == "higher" else f"{name} (lower is better)"
            metrics.setdefault(words.problem, []).append(shown)
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
            raise _refusal(answer)
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
    from palmette.automl.composition import available_learners, learners

    usable = available_learners(problem, kinds, tracks)
    named = {one.name: (one.name, *one.families) for one in learners()}
    available = frozenset(name for one in usable for name in named[one])
    return Learners(usable, available, frozenset(name for names in named.values() for name in names))


def _finished(input: ParserInput, reading: SentenceReading, context: Context) -> TaskSpec:
    """The reading merged with what was given, and completed; a person is asked for a target that is open.

    Raises:
        UserError: parts contradict each other, or the target is open and there is no person to ask.
    """
    task = resolved(merged(input.given_task, reading.task), input.columns)
    chosen = chosen_target(task, input.columns, reading.candidates)
    if isinstance(chosen, OpenTarget):
        name = chosen.answered(context.ask(chosen.question))
        sources = {**task.sources, "target": FieldSource(origin="answer", words=name)}
        chosen = task.model_copy(update={"target": name, "sources": sources})
    return completed(chosen, input.columns, find_learners)


def _refusal(answer: SentenceAnswer) -> UserError:
    remedy = f"A request that works: {answer.example}" if answer.example else ""
    if answer.asks_for == "unsupported":
        return unsupported(answer.reason or "a problem that is not supported", remedy)
    reason = answer.reason or "The request asks for something other than a model."
    return UserError(reason, remedy, code="request-irrelevant")
