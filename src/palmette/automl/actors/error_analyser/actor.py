"""The task `error_analyser`: says which part of the contract a failure breaks, and which file is to be changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from palmette.automl import briefs
from palmette.automl.actors.error_analyser.offline import Analysis, AnalysisInput, Kind, by_trace
from palmette.automl.artefacts import PREPARATION
from palmette.engine import Attempt, Context, TextFile, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class AnalysisAnswer(Answer):
    kind: Kind
    path: str
    """The one file that is to be changed, as it is listed."""
    cause: str
    """One sentence: what is wrong in it, by the contract and the trace."""


class ErrorAnalyser(Agent):
    """Fault localisation: a failure to fulfil the contract, a violation in using it, or something else."""

    name = "error_analyser"
    description = "Says of a failed project which part of the contract is broken, and in which file."
    produces = "analysis"
    Input = AnalysisInput
    Output = Analysis
    Answer = AnalysisAnswer
    has_criterion = True

    def offline(self, input: AnalysisInput, context: Context) -> Attempt[Analysis]:
        return Attempt(by_trace(input))

    def brief(self, input: AnalysisInput, context: Context) -> tuple[Section, ...]:
        failure = input.failure
        return (
            section("failure", failure.message, failure.evidence, rank=NEEDED),
            briefs.agreed(input.contract),
            section("files", *shown(input.files, failure), rank=2),
        )

    def read(self, answer: AnalysisAnswer, input: AnalysisInput, context: Context) -> Attempt[Analysis]:
        made = Analysis(kind=answer.kind, path=answer.path, cause=" ".join(answer.cause.split()))
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: AnalysisInput, output: Analysis, context: Context) -> Verdict:
        """The file is one of those that may be changed, and on the side of the contract that is said to be broken."""
        return Verdict.of(list(_objections(input, output)))


def shown(files: Iterable[TextFile], failure: Violation) -> Iterator[str]:
    """The files, those that a failure names and the preparation whole and first, of all others what they offer."""
    named = {PREPARATION, failure.subject, *re.findall(r"[\w/]+\.py", failure.evidence)}
    ordered = sorted(files, key=lambda file: (file.path != failure.subject, file.path not in named, file.path))
    for file in ordered:
        yield f"{file.path}:\n{file.text}" if file.path in named else briefs.outlined(file)


def _objections(input: AnalysisInput, output: Analysis) -> Iterator[Violation]:
    if output.path not in {file.path for file in input.files}:
        message = f"{output.path!r} is not a file that may be changed."
        yield Violation(code="analysis-misplaced", message=message, subject=output.path)
    elif output.kind != "other" and (output.kind == "contract-unfulfilled") != (output.path == PREPARATION):
        message = f"A failure of the kind {output.kind} is not mended in {output.path!r}."
        yield Violation(code="analysis-misplaced", message=message, subject=output.path)
