"""The task `debugger`: patches the module that a failure was found to come from."""

from __future__ import annotations

import ast

from palmette.automl.actors.debugger.offline import Corrected, DebuggerInput
from palmette.automl.actors.debugger.patch import Patch, patched
from palmette.automl.import_policy import objections
from palmette.engine import TERMINATE, Attempt, Context, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class DebuggerAnswer(Answer):
    code: Patch
    """The changed passages of the module."""


class Debugger(Agent):
    """Changes one module, and in it no more than the failure asks for."""

    name = "debugger"
    description = "Patches the module of own code that a failure comes from."
    produces = "corrected"
    Input = DebuggerInput
    Output = Corrected
    Answer = DebuggerAnswer
    has_criterion = True

    def offline(self, input: DebuggerInput, context: Context) -> Attempt[Corrected]:
        return Attempt(None, f"The rules repair no text: {input.analysis.cause}", TERMINATE, (input.failure,))

    def brief(self, input: DebuggerInput, context: Context) -> tuple[Section, ...]:
        failure, analysis = input.failure, input.analysis
        return (
            section("failure", failure.message, failure.evidence, rank=NEEDED),
            section("analysis", f"{analysis.kind}, in {analysis.path}: {analysis.cause}", rank=NEEDED),
            section("module", input.module.text, rank=NEEDED, language="python"),
        )

    def objection(self, answer: DebuggerAnswer, input: DebuggerInput) -> str:
        try:
            ast.parse(patched(input.module.text, answer.code))
        except SyntaxError as error:
            return f"The patched module does not parse: {error.msg} (line {error.lineno})."
        except ValueError as error:
            return str(error)
        return ""

    def read(self, answer: DebuggerAnswer, input: DebuggerInput, context: Context) -> Attempt[Corrected]:
        module = input.module.model_copy(update={"text": patched(input.module.text, answer.code)})
        reason = answer.reason or input.analysis.cause
        return Attempt(Corrected(module=module), reason, answer.fix or f"{module.path} is changed.")

    def check(self, input: DebuggerInput, output: Corrected, context: Context) -> Verdict:
        """It is the same module with another text, and uses only what it may."""
        if output.module.path != input.module.path or output.module.text == input.module.text:
            message = f"{input.module.path} is as it was."
            return Verdict.of([Violation(code="not-changed", message=message, subject=input.module.path)])
        return Verdict.of(objections([output.module]))
