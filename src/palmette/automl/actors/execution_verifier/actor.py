"""The actor `execution_verifier`: chooses the plan that is carried out, or sends all of them back."""

from collections.abc import Sequence
from typing import NamedTuple

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent, verdict
from palmette.automl.artefacts import Choice, Plans, Proposal, Proposals
from palmette.automl.planning.constraints import MARGIN, needs
from palmette.automl.planning.rounds import REJECTED, can_revise
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Answer, Section, section


class ChoiceInput(PlanningInput):
    plans: Plans
    proposals: Proposals


class ChoiceAnswer(Answer):
    plan: str
    """The name of the plan that is carried out."""
    why: str
    """What decided, in one or two sentences for readers of the request."""


class Judgement(NamedTuple):
    """A proposal, held against the request."""

    proposal: Proposal
    problems: tuple[Violation, ...]  # limits that no candidate of it is expected to keep, by a wide margin
    kept: int  # limits that the delivered model is expected to keep

    @property
    def name(self) -> str:
        return self.proposal.plan.name


class ExecutionVerifier(RuledAgent):
    """Rejects proposals that cannot keep the request, and chooses among the others."""

    name = "execution_verifier"
    description = "Chooses the plan that is expected to serve best, or sends all back with the reasons."
    produces = "choice"
    Input = ChoiceInput
    Output = Choice
    Answer = ChoiceAnswer
    codes = ("choice",)

    def offline(self, input: ChoiceInput, context: Context) -> Attempt[Choice]:
        if _eligible(input, context):
            return super().offline(input, context)
        problems = [problem for one in _judged(input) for problem in one.problems]
        none = Violation(code=REJECTED, message="There is no proposal to choose from.")
        return Attempt(None, "No plan can keep the request.", TERMINATE, tuple(problems) or (none,))

    def by_rule(self, input: ChoiceInput, context: Context) -> Choice:
        return _choice(_eligible(input, context)[0], _judged(input))

    def in_short(self, output: Choice) -> str:
        return f"{output.proposal.plan.name} is carried out"

    def is_settled(self, input: ChoiceInput, context: Context) -> bool:
        """At most one plan can be chosen, or nothing is known that tells the plans apart."""
        fine = _eligible(input, context)
        return len(fine) < 2 or (not input.plans.rounds and len({one.kept for one in fine}) == 1)

    def sections(self, input: ChoiceInput, context: Context) -> tuple[Section, ...]:
        known, fine = input.known(rounds=input.plans.rounds), _eligible(input, context)
        every = {each.candidate.name: each for one in fine for each in one.proposal.estimates}
        plans = [
            f"{one.name}: {one.proposal.plan.idea} Ensembling {one.proposal.plan.ensembling}; "
            f"limits kept by estimate: {one.kept}. "
            f"Trains {', '.join(each.candidate.name for each in one.proposal.estimates)}."
            for one in fine
        ]
        return (
            shown.request(known),
            shown.task(known.blueprint, input.profile),
            section("plans", *plans, rank=NEEDED),
            section("candidates", "\n".join(f"{name}: {costs}" for name, costs in every.items()), rank=NEEDED),
        )

    def objection(self, answer: ChoiceAnswer, input: ChoiceInput) -> str:
        names = [one.name for one in _judged(input)]
        return "" if answer.plan in names else f"There is no plan {answer.plan!r}.{did_you_mean(answer.plan, names)}"

    def read(self, answer: ChoiceAnswer, input: ChoiceInput, context: Context) -> Attempt[Choice]:
        judgements = _judged(input)
        chosen = next(one for one in judgements if one.name == answer.plan)
        return Attempt(_choice(chosen, judgements, answer.why), answer.reason, answer.fix)

    def check(self, input: ChoiceInput, output: Choice, context: Context) -> Verdict:
        """The chosen plan is expected to keep the limits, if any plan is."""
        judgements = {one.name: one for one in _judged(input)}
        problems = judgements[output.proposal.plan.name].problems
        sound = sum(not one.problems for one in judgements.values())
        wrong = [one.model_copy(update={"code": "choice-rejected"}) for one in problems] if sound else []
        doubts = (Measurement(name="limit in doubt", status="warning", detail=one.message) for one in problems)
        detail = f"{sound} of {len(judgements)} plans can keep the request, by estimate"
        return verdict("choice", wrong, detail, *doubts)


def _judged(input: ChoiceInput) -> list[Judgement]:
    """Every proposal: first those that keep most limits, in the order of the plans."""
    known, found = input.known(rounds=input.plans.rounds), list[Judgement]()
    limits = known.constraints.limits
    for made in input.proposals.proposals:
        needed = [needs(one.cost, limits) for one in made.estimates]
        best = [min(ways, key=lambda one: one.ratio) for ways in zip(*needed, strict=True)]
        whole = needed[0]
        if made.plan.ensembling != "single":
            whole = needs(known.costs.together([one.candidate for one in made.estimates]), limits)
        problems = [_rejected(made, str(one), one.constraint.quantity) for one in best if one.ratio > MARGIN]
        least = min(one.cost.seconds for one in made.estimates)
        if least > MARGIN * known.seconds:
            why = f"its fastest candidate takes about {least:.2g} s to train, and {known.seconds:.0f} s are left"
            problems.append(_rejected(made, why, "training_time"))
        found.append(Judgement(made, tuple(problems), kept=sum(one.ratio <= 1 for one in whole)))
    return sorted(found, key=lambda one: -one.kept)


def _eligible(input: ChoiceInput, context: Context) -> list[Judgement]:
    """Those that may be chosen; where no other plans follow, also those that seem too costly.

    None follow where plans were sent back in this run already, or no other is known: a measurement decides then.
    """
    judgements = _judged(input)
    if fine := [one for one in judgements if not one.problems]:
        return fine
    before = any(violation.code == REJECTED for past in context.attempts for violation in past.violations)
    final = before or not can_revise(input.known(rounds=input.plans.rounds), input.plans)
    return judgements if final else []


def _choice(chosen: Judgement, judgements: Sequence[Judgement], reason: str = "") -> Choice:
    """The choice of a proposal, with the reasons against the others."""
    single = chosen.proposal.plan.ensembling == "single"
    usual = [
        f"{chosen.proposal.estimates[0].candidate.name} is trained first",
        "one model is delivered" if single else "several models may be delivered together",
        *(f"although {problem.message.removesuffix('.')}" for problem in chosen.problems[:1]),
    ]
    rejected = {one.name: _against(one, chosen) for one in judgements if one.name != chosen.name}
    return Choice(proposal=chosen.proposal, reason=reason or f"{'; '.join(usual)}.", rejected=rejected)


def _rejected(proposal: Proposal, why: str, quantity: str) -> Violation:
    message = f"The plan {proposal.plan.name!r} is rejected: {why}."
    return Violation(code=REJECTED, message=message, subject=proposal.plan.name, evidence=quantity)


def _against(one: Judgement, chosen: Judgement) -> str:
    if one.problems:
        return " ".join(dict.fromkeys(problem.message for problem in one.problems))
    if one.kept != chosen.kept:
        return f"It is expected to keep {one.kept} limits on time and size; {chosen.name} keeps {chosen.kept}."
    return f"It comes after {chosen.name}, which is expected to keep as many limits."
