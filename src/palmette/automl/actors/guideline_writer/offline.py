"""The rules of the guideline writer: the chosen plan, with its data steps, becomes a blueprint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from palmette.automl.artefacts import Choice, DataPlan, Knowledge, Plan, Plans, Proposal, Proposals
from palmette.automl.candidates import Blueprint, Candidate
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.columns import data_plan
from palmette.automl.planning.drafting import PlanContext, affordable, draft, plan_of
from palmette.automl.planning.rounds import round_seconds
from palmette.automl.planning.strategies import PlanStrategy
from palmette.automl.profile import Profile
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model

UNGUIDED = PlanStrategy("first-configurations", "Every learner with its first configuration.", each=1, tuning=False)


class GuidelineInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    choice: Choice | None = None
    proposals: Proposals | None = None
    plans: Plans | None = None
    knowledge: Knowledge | None = None
    guided: bool = True
    """False: by kinds and the request alone, as if nobody had profiled the data or planned."""


class Basis(NamedTuple):
    """What a blueprint rests on."""

    plan: Plan
    data: DataPlan
    candidates: tuple[Candidate, ...]
    context: PlanContext


def basis_of(input: GuidelineInput) -> Basis:
    """The chosen proposal, else the first one, else the first plan, else the first plan of the rules."""
    profile = input.profile if input.guided else input.profile.model_copy(update={"decisions": ()})
    context = PlanContext.of(input.task, input.samples, profile)
    if input.plans:
        context = replace(context, rounds=input.plans.rounds)
    chosen = _proposal(input)
    if chosen:
        return Basis(chosen.plan, chosen.data, tuple(one.candidate for one in chosen.estimates), context)
    rows = DataSplits.of(input.samples, profile).train
    data = data_plan(input.task, input.samples, profile, rows)
    data = data if input.guided else data.model_copy(update={"derived": ()})
    plan = _plan(input, context)
    return Basis(plan, data, plan.candidates, context)


def _proposal(input: GuidelineInput) -> Proposal | None:
    if not input.guided:
        return None
    first = input.proposals.proposals[0] if input.proposals and input.proposals.proposals else None
    return input.choice.proposal if input.choice else first


def _plan(input: GuidelineInput, context: PlanContext) -> Plan:
    if input.plans and input.guided:
        return input.plans.plans[0]
    if not input.guided:
        seen: dict[str, Candidate] = {}
        for one in affordable(context):
            seen.setdefault(one.learner, one)
        return plan_of(UNGUIDED, tuple(seen.values()), context)
    made = draft(replace(context, knowledge=input.knowledge or Knowledge()))
    assert made is not None  # nothing was tried before
    return made.plans[0]


def blueprint_of(input: GuidelineInput, basis: Basis) -> Blueprint:
    """The blueprint of a plan, with its policy, and the seconds of this round.

    Raises:
        UserError: no column is left to learn from, or the target cannot be learnt so.
    """
    plan, task = basis.plan, input.task
    drawn = blueprint(task, input.samples, input.profile, basis.data, basis.candidates)
    return drawn.model_copy(
        update={
            "shares": plan.shares,
            "ensembling": plan.ensembling,
            "tuning": plan.tuning,
            "seconds": round_seconds(task, basis.context.rounds, revisable=input.choice is not None),
            "remarks": (plan.idea,) if input.guided else (),
        }
    )


def noted(blueprint: Blueprint, profile: Profile) -> Blueprint:
    """With figures at the head of the columns' notes, for readers of the delivered code."""
    notes = {one.name: "; ".join(filter(None, (*_found(one.name, profile), one.note))) for one in blueprint.columns}
    columns = tuple(one.model_copy(update={"note": notes[one.name]}) for one in blueprint.columns)
    return blueprint.model_copy(update={"columns": columns})


def _found(name: str, profile: Profile) -> Iterator[str]:
    found = profile.column(name)
    if found is None:
        return
    if found.numbers:
        yield f"{found.numbers.least:.4g} to {found.numbers.most:.4g}"
    elif found.times:
        yield f"{found.times.first[:10]} to {found.times.last[:10]}"
    elif found.kind in ("category", "text"):
        yield f"{found.distinct} values"
    if found.missing:
        yield f"{found.missing:.1%} missing"
