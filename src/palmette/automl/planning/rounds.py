"""Rounds of a run: a plan is executed and measured, and plans are revised while a constraint is missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import ValidationError

from palmette.automl.artefacts import Assessment, Comparison, MeasuredCandidate, MeasuredRound, Plan, Plans
from palmette.automl.planning.costs import digest
from palmette.automl.planning.drafting import LEAST, PlanContext, Revision, draft
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.search.job import uses_own_code
from palmette.automl.task_spec.spec import Constraint, TaskSpec
from palmette.engine import Context

REJECTED = "plan-rejected"  # code of a violation found by estimates; its subject is the plan, its evidence the quantity
MISSED = ("constraint-missed", "score-missed")
"""Codes of violations found by measurement; their evidence is a `MeasuredRound` as JSON."""
EARLIER = "earlier-better"
"""Code of the violation by a model that is worse than that of an earlier round; its evidence is that round as JSON.
"""
MOST_REVISIONS = 3  # less than the number of returns of one violation after which the planner stops the run


class Revised(NamedTuple):
    """The revision and the rounds that the next draft starts from."""

    revision: Revision
    rounds: tuple[MeasuredRound, ...]


def revised(context: Context) -> Revised:
    """Derives the next revision from the planner's evidence and the earlier plans."""
    found = [one for one in context.evidence if one.code in (REJECTED, *MISSED)]
    last = context.last
    if not found or not isinstance(last, Plans):
        return Revised(Revision(), ())
    rounds = [done for one in found if one.code in MISSED and (done := _round(one.evidence))][:1]
    names = {done.plan for done in rounds} | {one.subject for one in found if one.code == REJECTED}
    failed = [one for one in last.plans if one.name in names]
    if not failed and context.attempt == 1:
        failed = [*last.plans]
    missed = [quantity for done in rounds for quantity in _missed(done)]
    missed += [one.evidence for one in found if one.code == REJECTED and one.evidence]
    why = f"Earlier plans failed: {found[0].message}"
    # If no plan failed, the last plans are a revision that was refused, and their number includes the failure.
    return Revised(_after(last, failed, missed, why), (*last.rounds, *(rounds if failed else ())))


def can_revise(
    task: TaskSpec, samples: Samples, profile: Profile, plans: Plans, done: MeasuredRound | None = None
) -> bool:
    """Returns whether the rules know an untried plan and time is left for it."""
    rounds = (*plans.rounds, *([done] if done else ()))
    context = PlanContext.of(task, samples, profile, rounds)
    if len(rounds) > MOST_REVISIONS or context.seconds < LEAST * task.budget or (done and not done.missed):
        return False
    failed = [one for one in plans.plans if done is None or one.name == done.plan]
    return draft(context, _after(plans, failed, _missed(done) if done else ())) is not None


def better_before(rounds: Sequence[MeasuredRound], done: MeasuredRound, greater: bool) -> MeasuredRound | None:
    """Returns the best earlier round if it beats `done`, else None.

    Rounds are compared by the number of missed constraints, then by how much they miss them, then by score. Rounds
    with incomparable outputs or own code in the model are ignored.
    """

    def place(one: MeasuredRound) -> tuple[int, float, float]:
        score = one.score if one.score is not None else -math.inf if greater else math.inf
        return len(one.missed), one.excess, -score if greater else score

    same = [
        one
        for one in rounds
        if one.selection
        and one.store.split("-")[1:2] == done.store.split("-")[1:2]
        and not any(uses_own_code(member.candidate) for member in one.selection.members)
    ]
    best = min(same, key=place, default=None)
    return best if best and place(best) < place(done) else None


def measured_round(
    plan: str, store: str, comparison: Comparison, assessment: Assessment, missed: Sequence[Constraint]
) -> MeasuredRound:
    """Returns the measurements of an executed plan."""
    return MeasuredRound(
        plan=plan,
        candidates=tuple(
            MeasuredCandidate(candidate=row.candidate, score=row.score, seconds=row.seconds)
            for row in comparison.leaderboard
            if row.candidate and row.candidate.learner != "dummy"
        ),
        members=tuple(one.candidate.name for one in comparison.selection.members),
        selection=comparison.selection,
        score=comparison.selection.score,
        store=store,
        milliseconds=assessment.latency.p50 if assessment.latency else None,
        megabytes=assessment.megabytes,
        seconds=assessment.training_seconds,
        missed=tuple(missed),
    )


def _after(last: Plans, failed: Sequence[Plan], missed: Sequence[str], why: str = "") -> Revision:
    return Revision(
        number=last.plans[0].revision + bool(failed),
        missed=tuple(dict.fromkeys(missed)),
        why=why,
        tried=(*last.tried, *map(digest, failed)),
        names=(*(one.plan for one in last.rounds), *(one.name for one in last.plans if failed)),
    )


def _missed(done: MeasuredRound) -> list[str]:
    return [one.quantity for one in done.missed]


def _round(text: str) -> MeasuredRound | None:
    try:
        return MeasuredRound.model_validate_json(text)
    except ValidationError:
        return None
