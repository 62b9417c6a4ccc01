"""The actor `requirement_parser`: the six parts of a request, each value with the words that it was read from."""

from __future__ import annotations

from pydantic import Field

from palmette.automl.actors.requirement_parser.checks import mistakes, wordless
from palmette.automl.actors.requirement_parser.offline import read
from palmette.automl.requirements import (
    Assumption,
    DatasetPart,
    DataSummary,
    KnowledgePart,
    ModelPart,
    ProblemPart,
    Request,
    Requirements,
    ServicePart,
    UserPart,
    Verification,
)
from palmette.automl.requirements.leftover import still_unread
from palmette.automl.requirements.quoting import shown_columns
from palmette.automl.requirements.vocabulary import vocabulary
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section

CODES = (
    "quote-not-found", "number-not-found", "comparison-differs", "metric-missing", "metric-misfit", "task-misfit",
    "target-missing", "column-missing", "algorithm-unknown",
)  # fmt: skip
"""What it answers for."""


class ParserInput(Model):
    request: Request
    verification: Verification | None = None
    columns: DataSummary = DataSummary()


class ParsedAnswer(Answer):
    problem: ProblemPart
    """What is to be solved, and the numbers that it must keep to."""
    dataset: DatasetPart
    """The data, the target among them, and how they are to be used."""
    user: UserPart = UserPart()
    """Who asks."""
    model: ModelPart = ModelPart()
    """Which algorithms and libraries are wanted, and which are not."""
    knowledge: KnowledgePart = KnowledgePart()
    """What is preferred without a number, and what is known about the data."""
    service: ServicePart = ServicePart()
    """What is to be handed over, and where it will run."""
    evidence: dict[str, str] = Field(default_factory=dict)
    """By field, e.g. `problem.task`: the words of the request that it was read from, exactly as written."""
    assumptions: tuple[Assumption, ...] = ()
    """What was supposed about target and task, and why."""


class RequirementParser(Agent):
    """Reads a request by rules, or lets a model read it, held to the request's own words and the data's columns."""

    name = "requirement_parser"
    description = "Turns the request into requirements: task, target, metric, constraints as numbers, wishes."
    produces = "requirements"
    Input = ParserInput
    Output = Requirements
    Answer = ParsedAnswer
    has_criterion = True

    def offline(self, input: ParserInput, context: Context) -> Attempt[Requirements]:
        reading = read(input.request, input.columns, input.verification)
        made = reading.requirements
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules read the same again.", TERMINATE, context.evidence)
        aim = " of ".join(map(str, filter(None, (made.problem.task or "task open", made.problem.threshold))))
        context.progress(f"{aim}, {len(made.problem.constraints)} constraints")
        for words in made.unread:
            context.progress(f"Not understood, and kept to by nothing: {words!r}")
        return Attempt(made)

    def brief(self, input: ParserInput, context: Context) -> tuple[Section, ...]:
        metrics = [f"{name}: {', '.join(words.tasks)}" for name, words in vocabulary().metrics.items()]
        answers = input.verification.answers if input.verification else {}
        return (
            section("request", input.request.text or "(no words, only data)", rank=NEEDED, language="text"),
            section("files", "\n".join(input.request.files), rank=NEEDED, language="text"),
            section("answers", *(f"{about}: {said}" for about, said in answers.items()), rank=NEEDED, language="text"),
            section("columns", *shown_columns(input.columns), rank=1, language="text"),
            section("algorithms", ", ".join(vocabulary().algorithms), rank=NEEDED, language="text"),
            section("metrics", "\n".join(metrics), rank=NEEDED, language="text"),
        )

    def read(self, answer: ParsedAnswer, input: ParserInput, context: Context) -> Attempt[Requirements]:
        parts = {name: getattr(answer, name) for name in ParsedAnswer.model_fields if name in Requirements.model_fields}
        made = Requirements(text=input.request.text, **parts)
        rules = read(input.request, input.columns, input.verification).requirements
        made = made.model_copy(update={"unread": still_unread(made, rules.unread)})
        wrong = wordless(made)
        return Attempt(None if wrong else made, answer.reason, answer.fix, tuple(wrong))

    def check(self, input: ParserInput, output: Requirements, context: Context) -> Verdict:
        """Numbers and quotations are the request's; target and columns exist; task, metric and algorithms fit."""
        answers = input.verification.answers if input.verification else {}
        wrong = mistakes(output, input.columns.hints, answers)
        said = read(input.request, input.columns, input.verification).requirements.problem.constraints
        held = {(one.quantity, one.value) for one in output.problem.constraints}
        missed = [str(one) for one in said if (one.quantity, one.value) not in held]
        kept = ", ".join(map(str, output.problem.constraints)) or "no constraints"
        detail = f"{output.problem.task or 'task open'}: {kept}"
        measured = [
            Measurement(name="requirements", status="failed" if wrong else "passed", detail=detail),
            *(Measurement(name="constraint left out", status="warning", detail=one) for one in missed),
            *(Measurement(name="not understood", status="warning", detail=one) for one in output.unread),
        ]
        return Verdict.of(wrong, measured)

    def implicated(self, violation: Violation, output: Requirements) -> str | None:
        """To blame for what its own checks and later ones find wrong with task, target, metric and constraints."""
        return f"Read the request again: {violation.message}" if violation.code in CODES else None
