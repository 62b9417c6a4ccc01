"""What actors share: inputs, verdicts, and agents with deterministic rules."""

from collections.abc import Iterable
from typing import Any

from palmette.automl.planning.drafting import PlanContext
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import Agent


def verdict(name: str, wrong: Iterable[Violation], detail: str, *more: Measurement) -> Verdict:
    """Returns the verdict on one check, with further measurements."""
    found = tuple(wrong)
    return Verdict.of(found, (Measurement(name=name, status="failed" if found else "passed", detail=detail), *more))


def failed(wrong: Iterable[Violation]) -> Attempt[Any]:
    """Returns an attempt that hands over to the planner, with the violations."""
    found = tuple(wrong)
    return Attempt(None, found[0].message, TERMINATE, found)


class SampleInput(Model):
    samples: Samples
    profile: Profile

    @property
    def splits(self) -> DataSplits:
        """The rows, split as the profile describes."""
        return DataSplits.of(self.samples, self.profile.split)


class PlanningInput(SampleInput):
    task: TaskSpec

    def known(self, **fields: Any) -> PlanContext:
        """Returns the context that plans are drafted for; `fields` are arguments of `PlanContext.of`."""
        return PlanContext.of(self.task, self.samples, self.profile, **fields)


class RuledAgent(Agent):
    """Base of agents with rules: subclasses implement `by_rule` and `in_short`."""

    produces: str

    def by_rule(self, input: Any, context: Context) -> Any:
        """Returns the output of the rules."""
        raise NotImplementedError

    def in_short(self, output: Any) -> str:
        """Summarizes an output in one line."""
        raise NotImplementedError

    def offline(self, input: Any, context: Context) -> Attempt[Any]:
        made = self.by_rule(input, context)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules would give the same output again.", TERMINATE, context.evidence)
        context.progress(self.in_short(made))
        return Attempt(made)
