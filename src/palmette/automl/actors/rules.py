"""Agents whose rules give the same for the same input, and the inputs that actors share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from palmette.automl.actors import verdict
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.splitting import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import Agent


class SampleInput(Model):
    samples: Samples
    profile: Profile

    @property
    def splits(self) -> DataSplits:
        """The rows, split as the profile has it."""
        return DataSplits.of(self.samples, self.profile)


class PlanningInput(SampleInput):
    task: TaskSpec

    def known(self, **fields: Any) -> PlanContext:
        """What plans are drafted for; `fields` are those of `PlanContext.of`."""
        return PlanContext.of(self.task, self.samples, self.profile, **fields)


class RuledAgent(Agent):
    """A subclass gives `by_rule` and `in_short`, and answers for the codes that begin as `codes` do."""

    has_criterion = True
    produces: str
    codes: ClassVar[tuple[str, ...]]
    """Beginnings of the codes of violations that its output causes."""

    def by_rule(self, input: Any, context: Context) -> Any:
        """What the rules make."""
        raise NotImplementedError

    def in_short(self, output: Any) -> str:
        """An output in a line."""
        raise NotImplementedError

    def offline(self, input: Any, context: Context) -> Attempt[Any]:
        made = self.by_rule(input, context)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules give the same again.", TERMINATE, context.evidence)
        context.progress(self.in_short(made))
        return Attempt(made)

    def verdict(self, output: Any, wrong: Iterable[Violation], *more: Measurement) -> Verdict:
        """The verdict on its output."""
        return verdict(self.produces.replace("_", " "), wrong, self.in_short(output), *more)

    def implicated(self, violation: Violation, output: Any) -> str | None:
        """It answers for its own check."""
        return f"Do it again: {violation.message}" if violation.code.startswith(self.codes) else None
