"""Base of the coders: their prompt sections, and the contract that their modules are held to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from palmette.automl import context as shown
from palmette.automl.actors import verdict
from palmette.automl.actors.rules import PlanningInput
from palmette.automl.artefacts import Plans, WrittenCode
from palmette.automl.candidates import Blueprint, Candidate
from palmette.automl.import_policy import objections
from palmette.automl.own_code import answers_for, contract_violations, left_out, retries_exhausted, sampled
from palmette.engine import Attempt, Context, Verdict, Violation
from palmette.llm import OFFLINE, Agent, Models, Section
from palmette.llm.context import fenced
from palmette.sandbox import Sandbox


class CoderInput(PlanningInput):
    blueprint: Blueprint
    plans: Plans | None = None
    executed: bool = True
    """If false, the module is only read, and first runs during the search."""


class Coder(Agent):
    """An agent whose model may write own code, to be trained beside the plan's candidates; its rules write none."""

    has_criterion = True
    owns: ClassVar[tuple[str, ...]]
    """Codes of the violations that it answers for if the subject is its module."""

    def __init__(self, sandbox: Sandbox, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.sandbox = sandbox

    def path(self, input: Any) -> str:
        """Returns the path of its module."""
        raise NotImplementedError

    def tried(self, output: Any) -> Iterable[Candidate]:
        """Returns candidates to test its module with."""
        return output.candidates if output.modules else ()

    def nothing(self, input: Any) -> WrittenCode:
        """Returns the output without own code."""
        return WrittenCode()

    def offline(self, input: Any, context: Context) -> Attempt[Any]:
        failed = retries_exhausted(context) if self.model else None
        repairs = (left_out(self.path(input), failed),) if failed else ()
        return Attempt(self.nothing(input).model_copy(update={"repairs": repairs}))

    def is_settled(self, input: Any, context: Context) -> bool:
        """Returns whether the model's answers were refused as often as allowed."""
        return retries_exhausted(context) is not None

    def sections(self, input: Any, context: Context) -> tuple[Section, ...]:
        return (
            shown.task(input.blueprint, input.profile, input.task),
            shown.columns(input.blueprint, input.profile),
            shown.plan(input.blueprint),
            shown.measured(input.plans),
        )

    def recalled(self, output: WrittenCode) -> str:
        listed = [fenced("\n".join(map(shown.described, output.candidates)))] if output.candidates else []
        return "\n\n".join([*listed, *(f"{one.path}:\n{fenced(one.text, 'python')}" for one in output.modules)])

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        """Modules use what they may, and keep the estimator contract on a sample of training rows."""
        if not output.modules and not output.candidates:
            return Verdict(ok=True)  # nothing was written, so nothing is shown as checked
        wrong = objections(output.modules)
        candidate = next(iter(self.tried(output)), None)
        if candidate and input.executed and not wrong:
            rows, folder = sampled(input.blueprint, input.splits).train, context.workspace / "trial"
            given = (input.blueprint, rows, self.sandbox, folder, output.modules)
            wrong = contract_violations(*given, candidate, self.path(input))
        return verdict("own candidates", wrong, ", ".join(one.name for one in output.candidates))

    def implicated(self, violation: Violation, output: WrittenCode) -> str | None:
        """Its module breaks the contract, or fails in the package."""
        if not answers_for(violation, {one.path for one in output.modules}, self.owns):
            return None
        return f"Own code fails: {violation.message}"
