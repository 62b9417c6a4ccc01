"""The actor `execution_verifier`: chooses the plan that is carried out, or sends all of them back."""

from __future__ import annotations

from palmette.automl import context as shown
from palmette.automl.actors.execution_verifier.offline import ChoiceInput, Judgement, choice_of, eligible, judged
from palmette.automl.artefacts import Choice
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.estimates import estimated
from palmette.automl.planning.request import request_section
from palmette.automl.planning.rounds import REJECTED, can_revise
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Agent, Answer, Section, section


class PlanReason(Model):
    plan: str
    reason: str
    """One sentence."""


class ChoiceAnswer(Answer):
    plan: str
    """The name of the plan that is carried out."""
    why: str
    """What decided, in one or two sentences for readers of the request."""
    rejected: tuple[PlanReason, ...] = ()
    """The other plans, each with what speaks against it."""


class ExecutionVerifier(Agent):
    """Rejects proposals that cannot keep the request, and chooses among the others."""

    name = "execution_verifier"
    description = "Chooses the plan that is expected to serve best, or sends all back with the reasons."
    produces = "choice"
    Input = ChoiceInput
    Output = Choice
    Answer = ChoiceAnswer
    has_criterion = True

    def offline(self, input: ChoiceInput, context: Context) -> Attempt[Choice]:
        judgements = judged(input)
        fine = eligible(judgements, _final(input, context))
        if not fine:
            return Attempt(None, "No plan can keep the request.", TERMINATE, _problems(judgements))
        made = choice_of(fine[0], judgements)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules choose the same again.", TERMINATE, context.evidence)
        context.progress(f"{fine[0].name} is carried out")
        return Attempt(made)

    def is_settled(self, input: ChoiceInput, context: Context) -> bool:
        """At most one plan can be chosen."""
        return len(eligible(judged(input), _final(input, context))) < 2

    def brief(self, input: ChoiceInput, context: Context) -> tuple[Section, ...]:
        known = PlanContext.of(input.task, input.samples, input.profile)
        fine = eligible(judged(input), _final(input, context))
        every = {each.candidate.name: each for one in fine for each in one.proposal.estimates}
        return (
            request_section(known),
            shown.task(known.blueprint, input.profile),
            section("plans", *map(_shown, fine), rank=NEEDED),
            section("candidates", "\n".join(map(estimated, every.values())), rank=NEEDED),
        )

    def objection(self, answer: ChoiceAnswer, input: ChoiceInput) -> str:
        names = [one.name for one in judged(input)]
        return "" if answer.plan in names else f"There is no plan {answer.plan!r}.{did_you_mean(answer.plan, names)}"

    def read(self, answer: ChoiceAnswer, input: ChoiceInput, context: Context) -> Attempt[Choice]:
        judgements = judged(input)
        chosen = next(one for one in judgements if one.name == answer.plan)
        made, reasons = choice_of(chosen, judgements, answer.why), {one.plan: one.reason for one in answer.rejected}
        rejected = tuple(one.model_copy(update={"reason": reasons.get(one.plan, one.reason)}) for one in made.rejected)
        return Attempt(made.model_copy(update={"rejected": rejected}), answer.reason, answer.fix)

    def check(self, input: ChoiceInput, output: Choice, context: Context) -> Verdict:
        """The choice is one of the proposals, and one that keeps the limits if any can; every other has its reason."""
        judgements = judged(input)
        found = []
        chosen = [one for one in judgements if one.proposal == output.proposal]
        if not chosen:
            message = f"The chosen {output.proposal.plan.name!r} is none of the proposals."
            found.append(Violation(code="choice-unknown", message=message))
        elif chosen[0] not in eligible(judgements, final=True):
            message = " ".join(problem.message for problem in chosen[0].problems)
            found.append(Violation(code="choice-rejected", message=message, subject=chosen[0].name))
        others = sorted(one.name for one in judgements if one not in chosen[:1])
        if sorted(one.plan for one in output.rejected) != others:
            message = f"Reasons are due against {', '.join(others) or 'no plan'}, each once."
            found.append(Violation(code="choice-reasons", message=message))
        sound = sum(not one.problems for one in judgements)
        detail = f"{sound} of {len(judgements)} plans can keep the request, by estimate"
        measured = [Measurement(name="choice", status="failed" if found else "passed", detail=detail)]
        doubts = [problem.message for one in chosen[:1] for problem in one.problems]
        measured += [Measurement(name="limit in doubt", status="warning", detail=doubt) for doubt in doubts]
        return Verdict.of(found, measured)

    def implicated(self, violation: Violation, output: Choice) -> str | None:
        """It answers for its own check."""
        return f"Choose again: {violation.message}" if violation.code.startswith("choice") else None


def _final(input: ChoiceInput, context: Context) -> bool:
    """Whether plans were sent back in this run already, or no other is known: then the measurement of one decides."""
    before = any(violation.code == REJECTED for past in context.attempts for violation in past.violations)
    return before or not can_revise(input.task, input.samples, input.profile, input.plans)


def _problems(judgements: list[Judgement]) -> tuple[Violation, ...]:
    found = [problem for one in judgements for problem in one.problems]
    return tuple(found) or (Violation(code=REJECTED, message="There is no proposal to choose from."),)


def _shown(one: Judgement) -> str:
    """A proposal as a model sees it."""
    plan, names = one.proposal.plan, ", ".join(each.candidate.name for each in one.proposal.estimates)
    return (
        f"{plan.name}: {plan.idea} Ensembling {plan.ensembling}; limits kept by estimate: {one.kept}. Trains {names}."
    )
