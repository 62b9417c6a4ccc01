"""The rules of the model planner: the candidates of a plan, with expected score, time and size, the best first."""

from __future__ import annotations

from palmette.automl.artefacts import DataPlan, Expectation, Proposal, Settings
from palmette.automl.planning.algorithms import available
from palmette.automl.planning.costs import cost
from palmette.automl.planning.facts import folds_of, metric_of_run, size_of_plan
from palmette.automl.planning.scores import Expected, expected
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model

MOST = 5
"""Candidates that are proposed at most."""


class ModelPlannerInput(Model):
    data_plan: DataPlan
    requirements: Requirements
    profile: Profile
    settings: Settings = Settings()


def algorithms_of(input: ModelPlannerInput) -> tuple[str, ...]:
    """The algorithms that the plan leaves to choose from, and that are here, in its order."""
    plan = input.data_plan.plan
    here = available(input.profile, plan.tracks)
    return tuple(name for name in dict.fromkeys(plan.algorithms or here) if name in here)


def candidates(input: ModelPlannerInput) -> list[Expectation]:
    """All candidates of the plan, the most promising first; of equal ones in the order of the plan."""
    metric = metric_of_run(input.requirements, input.profile)
    size = size_of_plan(input.data_plan, input.profile, input.requirements)
    found = []
    for name in algorithms_of(input):
        guess, needed = expected(name, input.profile, metric), cost(name, size)
        found.append(
            Expectation(
                algorithm=name,
                score=guess.score,
                seconds=needed.seconds,
                megabytes=needed.megabytes,
                milliseconds=needed.milliseconds,
                reason=_reason(name, guess),
            )
        )
    skills = {one.algorithm: expected(one.algorithm, input.profile, metric).skill for one in found}
    return sorted(found, key=lambda one: -(skills[one.algorithm] or 0.0))


def proposal(input: ModelPlannerInput) -> Proposal:
    """The most promising candidates; at least one must be here."""
    picked, folds = candidates(input)[:MOST], folds_of(input.profile, input.requirements)
    return Proposal(data=input.data_plan, candidates=tuple(picked), folds=folds)


def _reason(name: str, guess: Expected) -> str:
    return guess.reason or f"nothing comparable to {name} was measured"
