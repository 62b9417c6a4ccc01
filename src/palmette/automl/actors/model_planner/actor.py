"""The actor `model_planner`: searches all plans for the candidates that are worth training, without training any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from palmette.automl import context as shown
from palmette.automl.artefacts import DataPlan, DataPlans, Plan, Plans, Proposal, Proposals
from palmette.automl.planning import variants
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.estimates import encoded, estimate, estimated, misfit, proposal, with_data
from palmette.automl.planning.request import request_section
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section

MOST_ADDED = 4
"""Candidates that a model adds to a plan at most."""


class ModelPlannerInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    plans: Plans
    data_plans: DataPlans


class Search(Model):
    plan: str
    """Name of the plan."""
    first: tuple[str, ...] = ()
    """Candidates that are trained first, in this order; the others follow as they are."""
    leave_out: tuple[str, ...] = ()
    """Candidates that cannot help here."""
    add: tuple[variants.NewCandidate, ...] = ()
    """At most 4, trained after `first`."""


class SearchAnswer(Answer):
    plans: tuple[Search, ...] = ()
    """Plans that change."""


class ModelPlanner(Agent):
    """Estimates the candidates of every plan; a model ranks, leaves out and adds some. The harness estimates all."""

    name = "model_planner"
    description = "Finds the candidates of all plans that are worth training: expected score, time, size and latency."
    produces = "proposals"
    Input = ModelPlannerInput
    Output = Proposals
    Answer = SearchAnswer
    has_criterion = True

    def offline(self, input: ModelPlannerInput, context: Context) -> Attempt[Proposals]:
        made = Proposals(proposals=tuple(proposal(plan, data, known) for plan, data, known in _steps(input)))
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules find the same again.", TERMINATE, context.evidence)
        context.progress("; ".join(f"{one.plan.name}: {len(one.estimates)} candidates" for one in made.proposals))
        return Attempt(made)

    def brief(self, input: ModelPlannerInput, context: Context) -> tuple[Section, ...]:
        found = [(proposal(plan, data, known), known) for plan, data, known in _steps(input)]
        known = found[0][1]
        every = {one.candidate.name: one for made, _ in found for one in made.estimates}
        plans = [f"{made.plan.name}: {', '.join(one.candidate.name for one in made.estimates)}" for made, _ in found]
        return (
            request_section(known),
            shown.task(known.blueprint, input.profile),
            section("plans", "\n".join(plans), rank=NEEDED),
            section(
                "candidates",
                "\n".join(f"{shown.described(one.candidate)}; {estimated(one)}" for one in every.values()),
                rank=NEEDED,
            ),
            section("learners", "\n".join(variants.learner_lines(known)), rank=1),
        )

    def objection(self, answer: SearchAnswer, input: ModelPlannerInput) -> str:
        return " ".join(_objections(answer, input))

    def read(self, answer: SearchAnswer, input: ModelPlannerInput, context: Context) -> Attempt[Proposals]:
        changes = {one.plan: one for one in answer.plans}
        made = [
            _searched(proposal(plan, data, known), changes[plan.name], known)
            if plan.name in changes
            else proposal(plan, data, known)
            for plan, data, known in _steps(input)
        ]
        return Attempt(Proposals(proposals=tuple(made)), answer.reason, answer.fix)

    def check(self, input: ModelPlannerInput, output: Proposals, context: Context) -> Verdict:
        """A proposal for each plan, of allowed candidates, each once; every figure is the harness's estimate."""
        found = [*_violations(input, output)]
        detail = "; ".join(f"{one.plan.name}: {len(one.estimates)} candidates" for one in output.proposals)
        measured = Measurement(name="proposals", status="failed" if found else "passed", detail=detail)
        return Verdict.of(found, [measured])

    def implicated(self, violation: Violation, output: Proposals) -> str | None:
        """It answers for its own check."""
        return f"Search again: {violation.message}" if violation.code.startswith("proposal") else None


def _steps(input: ModelPlannerInput) -> Iterator[tuple[Plan, DataPlan, PlanContext]]:
    """Each plan with its data plan, and the context with the columns that it leaves."""
    start = replace(PlanContext.of(input.task, input.samples, input.profile), rounds=input.plans.rounds)
    known = with_data(start, input.samples, input.data_plans.data_plans[0])
    for plan, data in zip(input.plans.plans, input.data_plans.data_plans, strict=True):
        yield plan, data, known


def _objections(answer: SearchAnswer, input: ModelPlannerInput) -> Iterator[str]:
    steps = {plan.name: (proposal(plan, data, known), known) for plan, data, known in _steps(input)}
    for one in answer.plans:
        if one.plan not in steps:
            yield f"There is no plan {one.plan!r}."
            continue
        made, known = steps[one.plan]
        names = [each.candidate.name for each in made.estimates]
        strange = sorted({*one.first, *one.leave_out} - {*names})
        yield from (f"{name!r} is not a candidate of {one.plan!r}." for name in strange)
        if {*names} <= {*one.leave_out} and not one.add:
            yield f"Nothing is left of {one.plan!r}."
        if len(one.add) > MOST_ADDED:
            yield f"{one.plan!r} adds {len(one.add)} candidates; the most is {MOST_ADDED}."
        yield from variants.objections(one.add, known)


def _searched(made: Proposal, change: Search, known: PlanContext) -> Proposal:
    """A proposal with a model's changes; additions that cannot fit time and limits are left out again."""
    estimates = {one.candidate.name: one for one in made.estimates if one.candidate.name not in change.leave_out}
    first = [estimates.pop(name) for name in dict.fromkeys(change.first) if name in estimates]
    taken, added = {one.candidate.name for one in made.estimates}, []
    for one in change.add:
        candidate = encoded(variants.made_of(one, known.strategies[0], taken), made.data)
        taken.add(candidate.name)
        added.append(estimate(candidate, known))
    kept = (*first, *(one for one in added if misfit(one, known) <= 1), *estimates.values())
    return made.model_copy(update={"estimates": kept or made.estimates})


def _violations(input: ModelPlannerInput, output: Proposals) -> Iterator[Violation]:
    steps = list(_steps(input))
    if [(one.plan, one.data) for one in output.proposals] != [(plan, data) for plan, data, _ in steps]:
        message = "There is not one proposal for each plan with its data plan, in their order."
        yield Violation(code="proposal-missing", message=message)
        return
    for made, (_, _, known) in zip(output.proposals, steps, strict=True):
        name, seen = made.plan.name, set[str]()
        for one in made.estimates:
            candidate = one.candidate
            if candidate.learner not in known.constraints.allowed or candidate.name in seen:
                message = f"{candidate.name!r} of {name!r} is not allowed, or there twice."
                yield Violation(code="proposal-candidate", message=message, subject=name)
            elif one != estimate(candidate, known, one.reason):
                message = f"Estimated again, the figures of {candidate.name!r} differ."
                yield Violation(code="proposal-estimate", message=message, subject=name)
            seen.add(candidate.name)
