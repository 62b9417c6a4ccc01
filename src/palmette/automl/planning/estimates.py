"""Training-free search: expected costs of candidates."""

from __future__ import annotations

from dataclasses import replace

from palmette.automl.artefacts import DataPlan, Estimate, Plan, Proposal
from palmette.automl.candidates import Candidate, substance
from palmette.automl.composition import encoder_named, learner_named
from palmette.automl.learners.learner import Cost
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.constraints import worst
from palmette.automl.planning.drafting import PATIENCE, PlanContext
from palmette.automl.samples import Samples


def with_data(context: PlanContext, samples: Samples, data: DataPlan) -> PlanContext:
    """Returns the context with the columns that a data plan keeps."""
    drawn = blueprint(context.task, samples, context.profile, data)
    return replace(context, blueprint=drawn.model_copy(update={"seconds": context.blueprint.seconds}))


def encoded(candidate: Candidate, data: DataPlan) -> Candidate:
    """Adds the data plan's encoders to a candidate, for the kinds that it leaves open and its learner supports."""
    layout = learner_named(candidate.learner).layout
    fitting = {kind: name for kind, name in data.encoders.items() if layout in encoder_named(name).layouts}
    return candidate.model_copy(update={"encoders": {**fitting, **candidate.encoders}})


def estimate(candidate: Candidate, context: PlanContext) -> Estimate:
    """Estimates the cost of a candidate; uses measured numbers if it was trained in an earlier round."""
    known = {substance(one.candidate): one.score for done in context.rounds for one in done.candidates}
    cost = context.costs.of(candidate)._asdict()
    return Estimate(candidate=candidate, score=known.get(substance(candidate)), **cost)


def proposal(plan: Plan, data: DataPlan, context: PlanContext) -> Proposal:
    """Returns a plan's candidates that fit time and limits, in order; if none does, the one that comes closest.

    Args:
        plan: The plan.
        data: Its data steps.
        context: A context with the columns of the data plan.
    """
    found = [estimate(encoded(one, data), context) for one in plan.candidates]
    ratios = {one.candidate.name: misfit(one, context) for one in found}
    fitting = [one for one in found if ratios[one.candidate.name] <= 1]
    kept = fitting or [min(found, key=lambda one: ratios[one.candidate.name])]
    return Proposal(plan=plan, data=data, estimates=tuple(kept))


def misfit(one: Estimate, context: PlanContext) -> float:
    """The largest ratio of an estimate to its limit, with tolerance; candidates above 1 are left out."""
    cost = Cost(one.seconds, one.megabytes, one.milliseconds)
    patience = PATIENCE * max(context.seconds, 1.0)
    return max(one.seconds / patience, worst(cost, context.constraints.limits) / context.tolerance)


def estimated(one: Estimate) -> str:
    """Formats an estimate for a language model."""
    score = "" if one.score is None else f"scored {one.score:.4g}, "
    return f"{score}{one.seconds:g} s, {one.megabytes:g} MB, {one.milliseconds:g} ms"
