"""The task `debugger`: gives the corrected text of the file that a failure was found to be from."""

from __future__ import annotations

from palmette.automl import briefs
from palmette.automl.actors.debugger.offline import Corrected, DebuggerInput
from palmette.automl.actors.error_analyser.actor import shown
from palmette.automl.reach import objections
from palmette.engine import TERMINATE, Attempt, Context, TextFile, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Python, Section, section


class DebuggerAnswer(Answer):
    code: Python
    """The whole corrected file."""


class Debugger(Agent):
    """Changes one file, and in it no more than the failure asks for."""

    name = "debugger"
    description = "Corrects the file of a failed project that the failure is from."
    produces = "corrected"
    Input = DebuggerInput
    Output = Corrected
    Answer = DebuggerAnswer
    has_criterion = True

    def offline(self, input: DebuggerInput, context: Context) -> Attempt[Corrected]:
        return Attempt(None, f"The rules correct no text: {input.analysis.cause}", TERMINATE, (input.failure,))

    def brief(self, input: DebuggerInput, context: Context) -> tuple[Section, ...]:
        failure, analysis = input.failure, input.analysis
        return (
            section("failure", failure.message, failure.evidence, rank=NEEDED),
            section("analysis", f"{analysis.kind}, in {analysis.path}: {analysis.cause}", rank=NEEDED),
            briefs.agreed(input.contract),
            section("file", input.file.text, rank=NEEDED, language="python"),
            section("beside", *shown(input.beside, failure), rank=2),
        )

    def read(self, answer: DebuggerAnswer, input: DebuggerInput, context: Context) -> Attempt[Corrected]:
        file = TextFile(path=input.file.path, text=f"{answer.code.rstrip()}\n")
        reason = answer.reason or input.analysis.cause
        return Attempt(Corrected(file=file), reason, answer.fix or f"{file.path} is changed.")

    def check(self, input: DebuggerInput, output: Corrected, context: Context) -> Verdict:
        """It is the file that was asked for, another text than before, and reaches nothing outside."""
        if output.file.path != input.file.path or output.file.text == input.file.text:
            message = f"{input.file.path} is as it was."
            return Verdict.of([Violation(code="not-changed", message=message, subject=input.file.path)])
        return Verdict.of(objections([output.file]))
