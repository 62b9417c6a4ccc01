"""The actor `model_planner`: searches for candidates without training any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from palmette.automl.actors.model_planner.offline import (
    MOST,
    ModelPlannerInput,
    algorithms_of,
    candidates,
    proposal,
)
from palmette.automl.artefacts import Proposal
from palmette.automl.planning.facts import folds_of, shown_figures
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Agent, Answer, Section, section

LONGEST = 300
CODES = (
    "candidate-unknown", "candidate-twice", "candidate-too-long", "candidates-too-many", "estimates-differ",
    "plan-empty",
)  # fmt: skip
"""What it answers for."""


class Pick(Model):
    algorithm: str
    """One of the candidates."""
    reason: str
    """Why it stands where it stands, in one sentence."""


class ModelPlanAnswer(Answer):
    candidates: tuple[Pick, ...]
    """One to five, the most promising first."""


class ModelPlanner(Agent):
    """Ranks the candidates of a plan; the figures are estimated by the harness, whoever ranks."""

    name = "model_planner"
    description = "Finds a plan's most promising candidates without training: expected score, time, size, latency."
    produces = "proposals"
    Input = ModelPlannerInput
    Output = Proposal
    Answer = ModelPlanAnswer
    has_criterion = True

    def offline(self, input: ModelPlannerInput, context: Context) -> Attempt[Proposal]:
        if not algorithms_of(input):
            return Attempt(None, "The plan leaves no algorithm.", TERMINATE, (_empty(input),))
        made = proposal(input)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules find the same again.", TERMINATE, context.evidence)
        context.progress(f"{input.data_plan.plan.name}: {', '.join(one.algorithm for one in made.candidates)}")
        return Attempt(made)

    def brief(self, input: ModelPlannerInput, context: Context) -> tuple[Section, ...]:
        plan = input.data_plan.plan
        wanted = [str(one) for one in input.requirements.problem.constraints]
        wanted += [f"preferred: {one.name}" for one in input.requirements.knowledge.preferences]
        return (
            section("plan", plan.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json"),
            section("steps", *input.data_plan.steps, rank=2),
            section("wishes", "\n".join(wanted), rank=1),
            section("figures", shown_figures(input.profile), rank=2),
            section("candidates", *(one.model_dump_json() for one in candidates(input)), rank=NEEDED, language="json"),
        )

    def read(self, answer: ModelPlanAnswer, input: ModelPlannerInput, context: Context) -> Attempt[Proposal]:
        known = {one.algorithm: one for one in candidates(input)}
        unknown = [one.algorithm for one in answer.candidates if one.algorithm not in known]
        if unknown or not answer.candidates:
            found = [_unknown(name, known) for name in unknown] or [_empty(input)]
            return Attempt(None, answer.reason, answer.fix, tuple(found))
        picked = tuple(known[one.algorithm].model_copy(update={"reason": one.reason}) for one in answer.candidates)
        made = Proposal(data=input.data_plan, candidates=picked, folds=folds_of(input.profile, input.requirements))
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: ModelPlannerInput, output: Proposal, context: Context) -> Verdict:
        """Candidates are the plan's and are here, each once, five at most; every figure is the harness's estimate."""
        known = {one.algorithm: one for one in candidates(input)}
        found, seen = [], set()
        for one in output.candidates:
            due = known.get(one.algorithm)
            if due is None:
                found.append(_unknown(one.algorithm, known))
            elif due.model_copy(update={"reason": one.reason}) != one:
                message = f"Estimated again, the figures of {one.algorithm} differ."
                found.append(Violation(code="estimates-differ", message=message, subject=one.algorithm))
            if one.algorithm in seen:
                message = f"{one.algorithm} is proposed twice."
                found.append(Violation(code="candidate-twice", message=message, subject=one.algorithm))
            if not one.reason.strip() or len(one.reason) > LONGEST:
                message = f"The reason has {len(one.reason)} characters; one sentence of at most {LONGEST} is meant."
                found.append(Violation(code="candidate-too-long", message=message, subject=one.algorithm))
            seen.add(one.algorithm)
        if len(output.candidates) > MOST:
            message = f"There are {len(output.candidates)} candidates; {MOST} at most are meant."
            found.append(Violation(code="candidates-too-many", message=message))
        if (output.data, output.folds) != (input.data_plan, folds_of(input.profile, input.requirements)):
            found.append(Violation(code="estimates-differ", message="The data plan or the folds are not those given."))
        detail = f"{len(output.candidates)} candidates of {input.data_plan.plan.name}, estimated again"
        status: Literal["passed", "failed"] = "failed" if found else "passed"
        return Verdict.of(found, [Measurement(name="candidates", status=status, detail=detail)])

    def implicated(self, violation: Violation, output: Proposal) -> str | None:
        """To blame for what its own check finds."""
        return f"Search for candidates again: {violation.message}" if violation.code in CODES else None


def _unknown(name: str, known: Iterable[str]) -> Violation:
    message = f"{name!r} is no candidate of the plan.{did_you_mean(name, known)} There are {', '.join(known)}."
    return Violation(code="candidate-unknown", message=message, subject=name)


def _empty(input: ModelPlannerInput) -> Violation:
    plan = input.data_plan.plan
    message = f"The plan {plan.name!r} leaves no candidate: none of {', '.join(plan.algorithms)} is installed."
    return Violation(code="plan-empty", message=message, subject=plan.name)
