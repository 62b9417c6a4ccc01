"""The rules of the execution verifier: which proposals can keep what is asked for, and which promises most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from palmette.automl.artefacts import Choice, Expectation, Proposal, Rejected, Settings
from palmette.automl.planning.algorithms import READABLE
from palmette.automl.planning.facts import metric_of_run
from palmette.automl.planning.limits import MARGIN, needs, together
from palmette.automl.planning.scores import expected
from palmette.automl.planning.wishes import Wishes, wishes_of
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model
from palmette.engine import Violation

CHOICE, TOGETHER = 0.01, 0.02
"""Skill that many candidates are taken to add to the best one: where one is delivered, and where several are."""
EXPLAINED = 0.3
"""Skill that a model which says why may lack, where an explainable one is preferred."""


class VerifierInput(Model):
    requirements: Requirements
    profile: Profile
    proposals: tuple[Proposal, ...]
    settings: Settings = Settings()


class Judgement(NamedTuple):
    """What is to be thought of a proposal."""

    proposal: Proposal
    broken: tuple[Violation, ...]
    """Wishes for algorithms that it does not keep: never tolerated."""
    missed: tuple[Violation, ...]
    """Limits that no candidate of it can keep, by a wide margin."""
    kept: int
    """Limits that what it delivers is expected to keep: all candidates together, or the first one."""
    lean: bool
    """Whether it delivers one model."""
    readable: bool
    """Whether a person can read the model."""
    worth: float
    """Expected skill of what it delivers."""

    @property
    def name(self) -> str:
        return self.proposal.data.plan.name

    @property
    def problems(self) -> tuple[Violation, ...]:
        return (*self.broken, *self.missed)


def judged(input: VerifierInput) -> list[Judgement]:
    """Every proposal, judged."""
    return [_judge(one, input) for one in input.proposals]


def _judge(proposal: Proposal, input: VerifierInput) -> Judgement:
    plan, wishes = proposal.data.plan, wishes_of(input.requirements, [one.algorithm for one in proposal.candidates])
    needed = [needs(one, wishes.limits) for one in proposal.candidates]
    best = [min(ways, key=lambda one: one.times) for ways in zip(*needed, strict=True)]
    whole = needs(together(proposal.candidates) if plan.ensemble else proposal.candidates[0], wishes.limits)
    missed = [_rejected(plan.name, str(one), one.constraint.quantity) for one in best if one.times > MARGIN]
    return Judgement(
        proposal=proposal,
        broken=tuple(_broken(proposal, wishes)),
        missed=(*missed, *_too_long(proposal, input.settings.seconds)),
        kept=sum(one.times <= 1 for one in whole),
        lean=not plan.ensemble,
        readable=not plan.ensemble and READABLE.issuperset(one.algorithm for one in proposal.candidates),
        worth=_worth(proposal, wishes, input),
    )


def _rejected(plan: str, why: str, subject: str) -> Violation:
    return Violation(code="plan-rejected", message=f"The plan {plan!r} is rejected: {why}.", subject=subject)


def _broken(proposal: Proposal, wishes: Wishes) -> Iterator[Violation]:
    plan = proposal.data.plan
    for one in proposal.candidates:
        if one.algorithm not in wishes.allowed:
            wanted = f"it must be {' or '.join(wishes.named)}" if wishes.named else "the request excludes it"
            yield _rejected(plan.name, f"{one.algorithm} may not be used, {wanted}", "algorithms")


def _too_long(proposal: Proposal, seconds: float) -> Iterator[Violation]:
    least = min(one.seconds for one in proposal.candidates)
    if least > MARGIN * seconds:
        why = f"its quickest candidate takes about {least:.2g} s to train, and there are {seconds:g} s"
        yield _rejected(proposal.data.plan.name, why, "training time")


def _worth(proposal: Proposal, wishes: Wishes, input: VerifierInput) -> float:
    """The expected skill of the best candidate that can be had, and a little for every other."""
    metric = metric_of_run(input.requirements, input.profile)
    fitting = [one for one in proposal.candidates if _fits(one, wishes, input.settings.seconds)]
    skills = [expected(one.algorithm, input.profile, metric).skill or 0.0 for one in fitting]
    added = TOGETHER if proposal.data.plan.ensemble else CHOICE
    return max(skills) + added * (1 - 1 / len(skills)) if skills else -1.0


def _fits(one: Expectation, wishes: Wishes, seconds: float) -> bool:
    return one.seconds <= seconds and all(needed.times <= MARGIN for needed in needs(one, wishes.limits))


def eligible(judgements: Sequence[Judgement], sent_back: bool) -> list[Judgement]:
    """Those that may be chosen, the best first; once plans were sent back, also those that only seem too costly."""
    sound = [one for one in judgements if not one.broken]
    fine = [one for one in sound if not one.missed] or (sound if sent_back else [])
    return fine


def ranked(judgements: Sequence[Judgement], input: VerifierInput) -> list[Judgement]:
    """The best first: what keeps most limits, then what is preferred, then what promises most."""
    preferred = wishes_of(input.requirements, ()).lean

    def key(one: Judgement) -> tuple[int, bool, float]:
        bonus = EXPLAINED if one.readable and "explainable" in preferred else 0.0
        return -one.kept, bool(preferred) and not one.lean, -one.worth - bonus

    return sorted(judgements, key=key)


def choice_of(chosen: Judgement, judgements: Sequence[Judgement], reason: str = "") -> Choice:
    """The choice of a proposal, with the reasons against the others."""
    others = [one for one in judgements if one is not chosen]
    return Choice(
        proposal=chosen.proposal,
        reason=reason or _for(chosen),
        rejected=tuple(Rejected(plan=one.name, reason=_against(one, chosen)) for one in others),
    )


def _for(one: Judgement) -> str:
    first = one.proposal.candidates[0]
    name, score = first.algorithm, first.score
    said = [f"{name} promises most" if score is None else f"about {score:.3g} is expected of {name}"]
    said.append("one model is delivered" if one.lean else "several models may be delivered together")
    said += [f"although {problem.message}" for problem in one.missed[:1]]
    return f"{'; '.join(said)}."


def _against(one: Judgement, chosen: Judgement) -> str:
    if one.problems:
        return " ".join(dict.fromkeys(problem.message for problem in one.problems))
    if one.kept != chosen.kept:
        return f"It is expected to keep {one.kept} limits on time and size; {chosen.name} keeps {chosen.kept}."
    if chosen.readable and not one.readable:
        return f"Nobody can read its model; that of {chosen.name} says why."
    if chosen.worth - one.worth > TOGETHER:
        skills = f"{max(one.worth, 0):.1%} of the dummy's error; {chosen.name}, {chosen.worth:.1%}"
        return f"It is expected to remove {skills}."
    own, others = len(one.proposal.candidates), len(chosen.proposal.candidates)
    if own < others:
        return f"It promises as much, but has {own} to choose from; {chosen.name} has {others}."
    return f"It promises no more than {chosen.name}, which suits the wishes as well."
