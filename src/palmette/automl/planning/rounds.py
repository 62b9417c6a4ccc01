"""Rounds of a run: a plan is executed and measured, and plans are revised while a constraint is missed."""

from collections.abc import Sequence

from palmette.automl.artefacts import Assembly, Assessment, Comparison, MeasuredCandidate, MeasuredRound, Plan, Plans
from palmette.automl.candidates import Cost
from palmette.automl.planning.constraints import ESTIMATED, digest, worst
from palmette.automl.planning.drafting import PlanContext, Revision, draft
from palmette.automl.search.job import uses_own_code
from palmette.automl.task_spec.spec import Constraint
from palmette.engine import Context

REJECTED = "plan-rejected"  # code of a violation found by estimates; its subject is the plan, its evidence the quantity
MISSED = ("constraint-missed", "score-missed")
"""Codes of violations found by measurement; their evidence is a `MeasuredRound` as JSON."""
EARLIER = "earlier-better"
"""Code of the violation by a model that is worse than that of an earlier round; its evidence is that round as JSON.
"""
MOST_REVISIONS = 3  # less than the number of returns of one violation after which the planner stops the run


def revised(context: Context) -> Revision:
    """Derives the next revision from the planner's evidence and the earlier plans."""
    found = [one for one in context.evidence if one.code in (REJECTED, *MISSED)]
    last = context.last
    if not found or not isinstance(last, Plans):
        return Revision()
    rounds = [MeasuredRound.model_validate_json(one.evidence) for one in found if one.code in MISSED][:1]
    names = {one.plan.name for one in rounds} | {one.subject for one in found if one.code == REJECTED}
    failed = [one for one in last.plans if one.name in names]
    if not failed and context.attempt == 1:
        failed = [*last.plans]
    rejected = [one.evidence for one in found if one.code == REJECTED and one.evidence]
    # If no plan failed, the last plans are a revision that was refused, and their number includes the failure.
    made = _after(last, failed, rounds if failed else [])
    missed = tuple(dict.fromkeys((*(limit.quantity for one in rounds for limit in one.missed), *rejected)))
    return made._replace(missed=missed, why=f"Earlier plans failed: {found[0].message}")


def can_revise(context: PlanContext, plans: Plans) -> bool:
    """Returns whether the rules know an untried plan and time is left for it; the context has all rounds."""
    done = context.rounds[len(plans.rounds) :]
    if len(context.rounds) > MOST_REVISIONS or any(not one.missed for one in done):
        return False
    revision = _after(plans, [one.plan for one in done] or plans.plans, done)
    missed = tuple(limit.quantity for one in done for limit in one.missed)
    return draft(context, revision._replace(missed=missed)) is not None


def better_before(rounds: Sequence[MeasuredRound], done: MeasuredRound, greater: bool) -> MeasuredRound | None:
    """Returns the best earlier round if it beats `done`, else None.

    Rounds are compared by the number of missed constraints, then by how much they miss them, then by score. Rounds
    with incomparable outputs or own code in the model are ignored.
    """

    def place(one: MeasuredRound) -> tuple[int, float, float]:
        cost = Cost(0.0, one.megabytes, one.milliseconds or 0.0)
        excess = worst(cost, [limit for limit in one.missed if limit.quantity in ESTIMATED])
        return len(one.missed), round(excess, 1), -one.selection.score if greater else one.selection.score

    same = [
        one
        for one in rounds
        if one.store.split("-")[1:2] == done.store.split("-")[1:2]
        and not any(uses_own_code(member.candidate) for member in one.selection.members)
    ]
    best = min(same, key=place, default=None)
    return best if best and place(best) < place(done) else None


def measured_round(
    plan: Plan, assembly: Assembly, comparison: Comparison, assessment: Assessment, missed: Sequence[Constraint]
) -> MeasuredRound:
    """Returns the measurements of an executed plan."""
    return MeasuredRound(
        plan=plan,
        candidates=tuple(
            MeasuredCandidate(candidate=row.candidate, score=row.score, seconds=row.seconds)
            for row in comparison.leaderboard
            if row.candidate and row.candidate.learner != "dummy"
        ),
        selection=comparison.selection,
        store=assembly.store,
        milliseconds=assessment.latency.p50 if assessment.latency else None,
        megabytes=assessment.megabytes,
        seconds=round(assembly.seconds + comparison.fit_seconds, 1),
        fit_seconds=comparison.fit_seconds,
        missed=tuple(missed),
    )


def _after(last: Plans, failed: Sequence[Plan], rounds: Sequence[MeasuredRound]) -> Revision:
    return Revision(
        number=last.plans[0].revision + bool(failed),
        rounds=(*last.rounds, *rounds),
        tried=(*last.tried, *map(digest, failed)),
        names=(*(one.plan.name for one in last.rounds), *(one.name for one in last.plans if failed)),
    )
