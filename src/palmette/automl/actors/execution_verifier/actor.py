"""The actor `execution_verifier`: chooses the plan that is carried out, or sends all of them back."""

from __future__ import annotations

from palmette.automl.actors.execution_verifier.offline import (
    Judgement,
    VerifierInput,
    choice_of,
    eligible,
    judged,
    ranked,
)
from palmette.automl.artefacts import Choice
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Agent, Answer, AnswerError, Section, section

LONGEST = 600
MOODS = {"must": "only", "may": "to be tried first", "not": "never", "baseline": "to be compared with"}
CODES = ("choice-unknown", "choice-refused", "rejections-differ", "choice-too-long")
"""What it answers for."""


class PlanReason(Model):
    plan: str
    """Its name."""
    reason: str
    """One sentence."""


class ChoiceAnswer(Answer):
    plan: str
    """The name of the plan that is carried out."""
    why: str
    """What speaks for it, in one or two sentences."""
    rejected: tuple[PlanReason, ...] = ()
    """Every other plan, and what speaks against it."""


class ExecutionVerifier(Agent):
    """Refuses proposals that cannot keep what is asked for, and chooses among the others."""

    name = "execution_verifier"
    description = "Chooses the plan that is expected to serve best, or sends all back with the reasons."
    produces = "choice"
    Input = VerifierInput
    Output = Choice
    Answer = ChoiceAnswer
    has_criterion = True

    def offline(self, input: VerifierInput, context: Context) -> Attempt[Choice]:
        judgements = judged(input)
        fine = ranked(eligible(judgements, _sent_back(context)), input)
        if not fine:
            return Attempt(None, "No plan can keep what is asked for.", TERMINATE, _problems(judgements))
        made = choice_of(fine[0], judgements)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules choose the same again.", TERMINATE, context.evidence)
        context.progress(f"{fine[0].name} is carried out")
        return Attempt(made)

    def brief(self, input: VerifierInput, context: Context) -> tuple[Section, ...]:
        judgements = judged(input)
        fine = eligible(judgements, _sent_back(context))
        if not fine:
            raise AnswerError("No plan can keep what is asked for.", violations=_problems(judgements))
        wanted = [str(one) for one in input.requirements.problem.constraints]
        wanted += [f"preferred: {one.name}" for one in input.requirements.knowledge.preferences]
        wanted += [f"{MOODS[one.mood]}: {one.name}" for one in input.requirements.model.algorithms]
        refused = [problem.message for one in judgements if one not in fine for problem in one.problems]
        return (
            section("request", input.requirements.text, rank=NEEDED, language="text"),
            section("wishes", "\n".join(wanted), rank=NEEDED),
            section("seconds", f"{input.settings.seconds:g}", rank=NEEDED),
            section("proposals", *map(_shown, fine), rank=NEEDED, language="text"),
            section("refused", *refused, rank=1),
        )

    def read(self, answer: ChoiceAnswer, input: VerifierInput, context: Context) -> Attempt[Choice]:
        judgements = judged(input)
        chosen = [one for one in judgements if one.name == answer.plan]
        if not chosen:
            names = [one.name for one in judgements]
            message = f"There is no plan {answer.plan!r}, only {', '.join(names)}.{did_you_mean(answer.plan, names)}"
            return Attempt(None, answer.reason, answer.fix, (Violation(code="choice-unknown", message=message),))
        said = {one.plan: one.reason for one in answer.rejected}
        made = choice_of(chosen[0], judgements, answer.why)
        rejected = tuple(one.model_copy(update={"reason": said.get(one.plan, one.reason)}) for one in made.rejected)
        return Attempt(made.model_copy(update={"rejected": rejected}), answer.reason, answer.fix)

    def check(self, input: VerifierInput, output: Choice, context: Context) -> Verdict:
        """The choice is a proposal that keeps the wishes and, if any can, the limits; every other has its reason."""
        judgements = judged(input)
        fine = eligible(judgements, sent_back=True)
        found = []
        chosen = [one for one in judgements if one.proposal == output.proposal]
        if not chosen:
            message = f"The chosen {output.proposal.data.plan.name!r} is none of the proposals as they were made."
            found.append(Violation(code="choice-unknown", message=message))
        elif chosen[0] not in fine:
            message = " ".join(problem.message for problem in chosen[0].problems)
            found.append(Violation(code="choice-refused", message=message, subject=chosen[0].name))
        others = sorted(one.name for one in judgements if one not in chosen[:1])
        if sorted(one.plan for one in output.rejected) != others:
            message = f"Reasons are due for {', '.join(others) or 'no plan'}, each once."
            found.append(Violation(code="rejections-differ", message=message))
        for text in (output.reason, *(one.reason for one in output.rejected)):
            if not text.strip() or len(text) > LONGEST:
                message = f"A reason has {len(text)} characters; one or two sentences, at most {LONGEST}, are meant."
                found.append(Violation(code="choice-too-long", message=message, evidence=text[:LONGEST]))
        measured = [Measurement(name="choice", status="failed" if found else "passed", detail=_detail(judgements))]
        doubts = [problem.message for one in chosen[:1] for problem in one.missed]
        measured += [Measurement(name="limit in doubt", status="warning", detail=doubt) for doubt in doubts]
        return Verdict.of(found, measured)

    def implicated(self, violation: Violation, output: Choice) -> str | None:
        """To blame for what its own check finds."""
        return f"Choose again: {violation.message}" if violation.code in CODES else None


def _sent_back(context: Context) -> bool:
    """Whether plans were sent back in this run already: then the nearest is tried, and what is measured decides."""
    return any(violation.code == "plan-rejected" for past in context.attempts for violation in past.violations)


def _problems(judgements: list[Judgement]) -> tuple[Violation, ...]:
    found = [problem for one in judgements for problem in one.problems]
    return tuple(found) or (Violation(code="plan-rejected", message="There is no proposal to choose from."),)


def _detail(judgements: list[Judgement]) -> str:
    sound = sum(not one.problems for one in judgements)
    return f"{sound} of {len(judgements)} plans can keep what is asked for, by estimate"


def _shown(one: Judgement) -> str:
    """A proposal as a model sees it."""
    plan, proposal = one.proposal.data.plan, one.proposal
    many = "several models together" if plan.ensemble else "one model"
    told = [f"{plan.name}: {plan.idea}", f"{many}; {plan.tuning}"]
    told.append(f"expected skill of what it delivers: {one.worth:.3f}; limits kept by estimate: {one.kept}")
    for candidate in proposal.candidates:
        score = "unknown" if candidate.score is None else f"{candidate.score:.3g}"
        told.append(
            f"- {candidate.algorithm}: score {score}, {candidate.seconds:g} s, {candidate.megabytes:g} MB, "
            f"{candidate.milliseconds:g} ms a row; {candidate.reason}"
        )
    return "\n".join([*told, *(f"! {problem.message}" for problem in one.problems)])
