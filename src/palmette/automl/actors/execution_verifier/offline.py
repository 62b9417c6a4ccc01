"""The rules of the execution verifier: which proposals can keep the request, and which promises most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from palmette.automl.artefacts import Choice, Estimate, Plans, Proposal, Proposals, RejectedPlan
from palmette.automl.learners.learner import Cost
from palmette.automl.planning.constraints import MARGIN, needs
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.rounds import REJECTED
from palmette.automl.planning.scores import expected_score
from palmette.automl.problems.registry import problem_of
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Violation

ALONE, TOGETHER = 0.01, 0.02
"""Error reduction that many candidates are taken to add to the best one: delivered alone, and together."""


class ChoiceInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    plans: Plans
    proposals: Proposals


class Judgement(NamedTuple):
    """A proposal, held against the request."""

    proposal: Proposal
    problems: tuple[Violation, ...]
    """Limits that no candidate of it is expected to keep, by a wide margin."""
    kept: int
    """Limits that the delivered model is expected to keep."""
    promise: float
    """Expected error reduction of the delivered model."""

    @property
    def name(self) -> str:
        return self.proposal.plan.name

    @property
    def alone(self) -> bool:
        return self.proposal.plan.ensembling == "single"


def judged(input: ChoiceInput) -> list[Judgement]:
    """Every proposal, the best first: by limits, then by promise; in the plans' order after a round, or where something
    counts beside the score."""
    known = replace(PlanContext.of(input.task, input.samples, input.profile), rounds=input.plans.rounds)
    found = [_judge(one, known) for one in input.proposals.proposals]
    in_order = bool(known.rounds or known.constraints.preferences)
    return sorted(found, key=lambda one: (-one.kept, 0.0 if in_order else -one.promise))


def eligible(judgements: Sequence[Judgement], final: bool) -> list[Judgement]:
    """Those that may be chosen; where no other plans follow, also those that seem too costly."""
    return [one for one in judgements if not one.problems] or ([*judgements] if final else [])


def choice_of(chosen: Judgement, judgements: Sequence[Judgement], reason: str = "") -> Choice:
    """The choice of a proposal, with the reasons against the others."""
    others = [one for one in judgements if one is not chosen]
    return Choice(
        proposal=chosen.proposal,
        reason=reason or _for(chosen),
        rejected=tuple(RejectedPlan(plan=one.name, reason=_against(one, chosen)) for one in others),
    )


def _judge(proposal: Proposal, known: PlanContext) -> Judgement:
    limits, single = known.constraints.limits, proposal.plan.ensembling == "single"
    needed = [needs(Cost(one.seconds, one.megabytes, one.milliseconds), limits) for one in proposal.estimates]
    best = [min(ways, key=lambda one: one.ratio) for ways in zip(*needed, strict=True)]
    whole = needed[0] if single else needs(known.costs.together([one.candidate for one in proposal.estimates]), limits)
    return Judgement(
        proposal=proposal,
        problems=(
            *(_rejected(proposal, str(one), one.constraint.quantity) for one in best if one.ratio > MARGIN),
            *_too_long(proposal, known.seconds),
        ),
        kept=sum(one.ratio <= 1 for one in whole),
        promise=_promise(proposal, known),
    )


def _rejected(proposal: Proposal, why: str, quantity: str) -> Violation:
    message = f"The plan {proposal.plan.name!r} is rejected: {why}."
    return Violation(code=REJECTED, message=message, subject=proposal.plan.name, evidence=quantity)


def _too_long(proposal: Proposal, seconds: float) -> Iterator[Violation]:
    least = min(one.seconds for one in proposal.estimates)
    if least > MARGIN * seconds:
        why = f"its fastest candidate takes about {least:.2g} s to train, and {seconds:.0f} s are left"
        yield _rejected(proposal, why, "training_time")


def _promise(proposal: Proposal, known: PlanContext) -> float:
    """The expected error reduction of the best candidate, and a little for every other one."""
    metric = problem_of(known.blueprint).metric

    def reduction(one: Estimate) -> float:
        return expected_score(one.candidate.learner, known.profile, metric).reduction or 0.0

    found = [reduction(one) for one in proposal.estimates]
    return max(found) + (ALONE if proposal.plan.ensembling == "single" else TOGETHER) * (1 - 1 / len(found))


def _for(one: Judgement) -> str:
    best = max(one.proposal.estimates, key=lambda each: (each.score is not None, each is one.proposal.estimates[0]))
    name = best.candidate.name
    words = [
        f"{name} is trained first" if best.score is None else f"{name} is expected to reach about {best.score:.3g}"
    ]
    words.append("one model is delivered" if one.alone else "several models may be delivered together")
    words += [f"although {problem.message.removesuffix('.')}" for problem in one.problems[:1]]
    return f"{'; '.join(words)}."


def _against(one: Judgement, chosen: Judgement) -> str:
    if one.problems:
        return " ".join(dict.fromkeys(problem.message for problem in one.problems))
    if one.kept != chosen.kept:
        return f"It is expected to keep {one.kept} limits on time and size; {chosen.name} keeps {chosen.kept}."
    if chosen.promise - one.promise > TOGETHER:
        own = f"{max(one.promise, 0):.1%} of the dummy's error"
        return f"It is expected to remove {own}; {chosen.name}, {chosen.promise:.1%}."
    counts = [len(each.proposal.estimates) for each in (one, chosen)]
    fewer = f", and trains {counts[0]} candidates of {counts[1]}" if counts[0] < counts[1] else ""
    return f"It promises no more than {chosen.name}{fewer}."
