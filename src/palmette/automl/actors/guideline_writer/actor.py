"""The actor `guideline_writer`: the blueprint of what is built; a model edits the rules' draft by patches."""

from __future__ import annotations

from typing import NamedTuple

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent
from palmette.automl.artefacts import Choice, DataPlan, Knowledge, Plan, Plans, Proposals
from palmette.automl.candidates import Blueprint, Candidate, first_of_each
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.columns import ColumnEdits, data_plan, edited, objections
from palmette.automl.planning.constraints import PlanStrategy
from palmette.automl.planning.drafting import PlanContext, affordable, draft, plan_of
from palmette.automl.planning.insights import used_by
from palmette.automl.splitting import DataSplits
from palmette.engine import Attempt, Context
from palmette.llm import Answer, Section, section

UNGUIDED = PlanStrategy("first-configurations", "Every learner with its first configuration.", each=1, tuning=False)


class GuidelineInput(PlanningInput):
    choice: Choice | None = None
    proposals: Proposals | None = None
    plans: Plans | None = None
    knowledge: Knowledge | None = None
    guided: bool = True
    """False: by kinds and the request alone, without the profile and without a plan."""


class GuidelineAnswer(Answer, ColumnEdits):
    remarks: tuple[str, ...] = ()
    """What the coders must know about these data beyond the figures; a sentence each."""


class BlueprintBasis(NamedTuple):
    """What a blueprint rests on."""

    plan: Plan
    data: DataPlan
    candidates: tuple[Candidate, ...]
    context: PlanContext


class GuidelineWriter(RuledAgent):
    """Turns the chosen plan into a blueprint; what the request, the data and the plan determine stays as it is."""

    name = "guideline_writer"
    description = "Turns the chosen plan into the blueprint: columns, features, candidates, folds, metric and policy."
    produces = "blueprint"
    Input = GuidelineInput
    Output = Blueprint
    Answer = GuidelineAnswer

    def by_rule(self, input: GuidelineInput, context: Context) -> Blueprint:
        return blueprint_of(input, basis_of(input))

    def in_short(self, output: Blueprint) -> str:
        counts = {"columns": output.columns, "derived features": output.derived, "candidates": output.candidates}
        listed = ", ".join(f"{len(found)} {name}" for name, found in counts.items() if found)
        return f"{listed}, compared by {output.metric}; {output.seconds:.0f} s"

    def is_settled(self, input: GuidelineInput, context: Context) -> bool:
        """The data planner has decided about the columns."""
        return input.proposals is not None

    def sections(self, input: GuidelineInput, context: Context) -> tuple[Section, ...]:
        basis = basis_of(input)
        due = blueprint_of(input, basis)
        return (
            shown.request(basis.context),
            shown.task(due, input.profile),
            shown.columns(due, input.profile),
            shown.dropped(due),
            shown.plan(due),
            shown.findings(input.profile),
            shown.leaks(basis.context) if input.guided else section("leaks"),
            shown.insights(used_by(basis_of(input).plan, input.knowledge) if input.guided else None),
        )

    def objection(self, answer: GuidelineAnswer, input: GuidelineInput) -> str:
        return " ".join(objections(answer, basis_of(input).data, input.samples))

    def read(self, answer: GuidelineAnswer, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        basis = basis_of(input)
        made = blueprint_of(input, basis._replace(data=edited(basis.data, answer)))
        remarks = tuple(text for one in answer.remarks if (text := " ".join(one.split())))
        made = made.model_copy(update={"remarks": (*made.remarks, *remarks)})
        return Attempt(made, answer.reason, answer.fix)


def basis_of(input: GuidelineInput) -> BlueprintBasis:
    """The chosen proposal, else the first one, else the first plan, else the first plan of the rules."""
    profile = input.profile if input.guided else input.profile.model_copy(update={"decisions": ()})
    context = PlanContext.of(
        input.task, input.samples, profile, input.plans.rounds if input.plans else (), input.knowledge or Knowledge()
    )
    proposals = input.proposals.proposals if input.proposals else ()
    chosen = input.choice.proposal if input.choice else next(iter(proposals), None)
    if chosen and input.guided:
        return BlueprintBasis(chosen.plan, chosen.data, tuple(one.candidate for one in chosen.estimates), context)
    data = data_plan(input.task, input.samples, profile, DataSplits.of(input.samples, profile).train)
    if not input.guided:
        data = data.model_copy(update={"derived": ()})
        plan = plan_of(UNGUIDED, first_of_each(affordable(context)), context)
    else:
        drafted = input.plans or draft(context)
        assert drafted is not None  # nothing was tried before
        plan = drafted.plans[0]
    return BlueprintBasis(plan, data, plan.candidates, context)


def blueprint_of(input: GuidelineInput, basis: BlueprintBasis) -> Blueprint:
    """The blueprint of a plan, with its policy, and the seconds of this round."""
    plan = basis.plan
    drawn = blueprint(input.task, input.samples, input.profile, basis.data, basis.candidates)
    return drawn.model_copy(
        update={
            "shares": plan.shares,
            "ensembling": plan.ensembling,
            "tuning": plan.tuning,
            "seconds": basis.context.round_seconds,
            "remarks": (plan.idea,) if input.guided else (),
        }
    )
