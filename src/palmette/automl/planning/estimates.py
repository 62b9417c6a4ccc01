"""Training-free search: what candidates are expected to score and cost."""

from __future__ import annotations

from dataclasses import replace

from palmette.automl.artefacts import DataPlan, Estimate, Plan, Proposal
from palmette.automl.candidates import Candidate, substance
from palmette.automl.composition import encoder_named, learner_named
from palmette.automl.learners.learner import Cost
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.constraints import worst
from palmette.automl.planning.drafting import PATIENCE, PlanContext
from palmette.automl.planning.scores import expected_score
from palmette.automl.problems.registry import problem_of
from palmette.automl.samples import Samples


def with_data(context: PlanContext, samples: Samples, data: DataPlan) -> PlanContext:
    """The context with the columns that a data plan leaves."""
    drawn = blueprint(context.task, samples, context.profile, data)
    return replace(context, blueprint=drawn.model_copy(update={"seconds": context.blueprint.seconds}))


def encoded(candidate: Candidate, data: DataPlan) -> Candidate:
    """A candidate with the encoders of its data plan where it names none and its learner takes them."""
    layout = learner_named(candidate.learner).layout
    fitting = {kind: name for kind, name in data.encoders.items() if layout in encoder_named(name).layouts}
    return candidate.model_copy(update={"encoders": {**fitting, **candidate.encoders}})


def estimate(candidate: Candidate, context: PlanContext, reason: str = "") -> Estimate:
    """What a candidate is expected to score and cost; by measured numbers where it was trained before."""
    cost = context.costs.of(candidate)
    known = {substance(one.candidate): one.score for done in context.rounds for one in done.candidates}
    guess = expected_score(candidate.learner, context.profile, problem_of(context.blueprint).metric)
    score = known.get(substance(candidate))
    why = guess.reason if score is None else "measured in an earlier round"
    return Estimate(
        candidate=candidate,
        score=guess.score if score is None else score,
        seconds=cost.seconds,
        megabytes=cost.megabytes,
        milliseconds=cost.milliseconds,
        reason=reason or why,
    )


def proposal(plan: Plan, data: DataPlan, context: PlanContext) -> Proposal:
    """The candidates of a plan that fit time and limits, in its order; at least the one that comes closest.

    Args:
        plan: The plan.
        data: Its data steps.
        context: With the columns of the data plan.
    """
    found = [estimate(encoded(one, data), context) for one in plan.candidates]
    ratios = {one.candidate.name: misfit(one, context) for one in found}
    fitting = [one for one in found if ratios[one.candidate.name] <= 1]
    kept = fitting or [min(found, key=lambda one: ratios[one.candidate.name])]
    return Proposal(plan=plan, data=data, estimates=tuple(kept))


def misfit(one: Estimate, context: PlanContext) -> float:
    """The largest ratio of what a candidate needs to what it may, tolerance included; it is left out above 1."""
    cost = Cost(one.seconds, one.megabytes, one.milliseconds)
    patience = PATIENCE * max(context.seconds, 1.0)
    return max(one.seconds / patience, worst(cost, context.constraints.limits) / context.tolerance)


def estimated(one: Estimate) -> str:
    """An estimate as a model sees it."""
    score = "score unknown" if one.score is None else f"about {one.score:.4g}"
    return f"{one.candidate.name}: {score}, {one.seconds:g} s, {one.megabytes:g} MB, {one.milliseconds:g} ms"
