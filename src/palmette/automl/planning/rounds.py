"""Rounds of a run: a plan is carried out and measured, and plans are revised while a constraint is missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic import ValidationError

from palmette.automl.artefacts import Assessment, Comparison, MeasuredCandidate, MeasuredRound, Plan, Plans
from palmette.automl.candidates import Blueprint
from palmette.automl.planning.costs import digest
from palmette.automl.planning.drafting import PlanContext, Revision, draft
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.task_spec.spec import Constraint, TaskSpec
from palmette.engine import Context

REJECTED = "plan-rejected"
"""Code of a violation of an estimate; its subject is the plan, its evidence the quantity."""
MISSED = ("constraint-missed", "score-missed")
"""Codes of violations of a measured number; their evidence is a `MeasuredRound` as JSON."""
FIRST = 0.6
"""Share of the seconds left that a round takes where another may follow."""
LEAST = 0.1
"""Share of the budget that must be left for another round."""
MOST_REVISIONS = 3
"""Fewer than the returns of one violation after which the planner gives a run up."""
FITTING = 0.9
"""Share of a limit on training time that search and final fit are given."""


class Revised(NamedTuple):
    """Where the drafting of plans begins."""

    revision: Revision
    rounds: tuple[MeasuredRound, ...]


def revised(context: Context) -> Revised:
    """What the evidence of the planner, and the plans before, demand of the next plans."""
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
    # Without a failed one, the last plans are a revision that was refused: it counts the failure already.
    return Revised(_after(last, failed, missed, why), (*last.rounds, *(rounds if failed else ())))


def can_revise(
    task: TaskSpec, samples: Samples, profile: Profile, plans: Plans, done: MeasuredRound | None = None
) -> bool:
    """Whether the rules know a plan that was not tried, and time is left for it.

    Args:
        task: The request.
        samples: The data.
        profile: Their profile.
        plans: The last plans.
        done: What one of them measured; None where all were rejected by their estimates.
    """
    rounds = (*plans.rounds, *([done] if done else ()))
    context = replace(PlanContext.of(task, samples, profile), rounds=rounds)
    if len(rounds) > MOST_REVISIONS or context.seconds < LEAST * task.budget or (done and not done.missed):
        return False
    failed = [one for one in plans.plans if done is None or one.name == done.plan]
    return draft(context, _after(plans, failed, _missed(done) if done else ())) is not None


def measured_round(
    plan: str, blueprint: Blueprint, comparison: Comparison, assessment: Assessment, missed: Sequence[Constraint]
) -> MeasuredRound:
    """Measured numbers of a plan that was carried out.

    Args:
        plan: Its name.
        blueprint: What was trained.
        comparison: The leaderboard, and what was chosen.
        assessment: Of the delivered model.
        missed: Constraints that another plan may keep. A score counts out of fold: the hold-out sends nothing back.
    """
    members = [one.candidate for one in comparison.selection.members]
    known = {one.name: one for one in (*blueprint.candidates, *members)}
    return MeasuredRound(
        plan=plan,
        candidates=tuple(
            MeasuredCandidate(candidate=known[row.name], score=row.score, seconds=row.seconds)
            for row in comparison.leaderboard
            if row.name in known
        ),
        members=tuple(one.name for one in members),
        milliseconds=assessment.latency.p50 if assessment.latency else None,
        megabytes=assessment.megabytes,
        seconds=assessment.training_seconds,
        missed=tuple(missed),
    )


def round_seconds(task: TaskSpec, rounds: Sequence[MeasuredRound], revisable: bool) -> float:
    """Seconds for search and final fit of the next round.

    Args:
        task: The request.
        rounds: Those before.
        revisable: Whether plans are revised where a constraint is missed.
    """
    least = LEAST * task.budget
    left = max(task.budget - sum(one.seconds for one in rounds), least)
    limits = [
        one.value for one in task.constraints if one.quantity == "training_time" and one.comparison in ("<", "<=")
    ]
    share = FIRST if revisable and task.constraints and (1 - FIRST) * left >= least else 1.0
    return round(min([share * left, *(FITTING * limit for limit in limits)]), 1)


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
