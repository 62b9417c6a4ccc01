"""The task `error_analyser`: finds which side of the contract a failure breaks, and which module is to be changed."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl.actors.error_analyser.offline import Analysis, AnalysisInput, Side, by_trace
from palmette.automl.own_code import FEATURES
from palmette.engine import Attempt, Context, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class AnalysisAnswer(Answer):
    kind: Side
    path: str
    """The module that is to be changed, as it is listed."""
    cause: str
    """One sentence: what is wrong in it."""


class ErrorAnalyser(Agent):
    """Fault localisation: a contract that is not fulfilled, one that is misused, or something else."""

    name = "error_analyser"
    description = "Finds which part of the contract a failure of own code breaks, and in which module."
    produces = "analysis"
    Input = AnalysisInput
    Output = Analysis
    Answer = AnalysisAnswer
    has_criterion = True

    def offline(self, input: AnalysisInput, context: Context) -> Attempt[Analysis]:
        return Attempt(by_trace(input))

    def is_settled(self, input: AnalysisInput, context: Context) -> bool:
        """One module alone is the one that fails."""
        return len(input.modules) == 1

    def brief(self, input: AnalysisInput, context: Context) -> tuple[Section, ...]:
        return (
            section("failure", input.failure.message, input.failure.evidence, rank=NEEDED),
            section("modules", *(f"{one.path}:\n{one.text}" for one in input.modules), rank=NEEDED),
        )

    def read(self, answer: AnalysisAnswer, input: AnalysisInput, context: Context) -> Attempt[Analysis]:
        made = Analysis(kind=answer.kind, path=answer.path, cause=" ".join(answer.cause.split()))
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: AnalysisInput, output: Analysis, context: Context) -> Verdict:
        """The module may be changed, and stands on the side of the contract that is broken."""
        return Verdict.of(list(_objections(input, output)))


def _objections(input: AnalysisInput, output: Analysis) -> Iterator[Violation]:
    message = ""
    if output.path not in {one.path for one in input.modules}:
        message = f"{output.path!r} is not a module that may be changed."
    elif output.kind != "other" and (output.kind == "contract-unfulfilled") != (output.path == FEATURES):
        message = f"A failure of the kind {output.kind} is not repaired in {output.path!r}."
    if message:
        yield Violation(code="analysis-misplaced", message=message, subject=output.path)
