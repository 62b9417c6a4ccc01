"""The actor `guideline_writer`: the blueprint of what is built; a model edits the rules' draft by patches."""

from palmette.automl import context as shown
from palmette.automl.actors.model_planner.actor import proposal
from palmette.automl.actors.shared import PlanningInput, RuledAgent
from palmette.automl.artefacts import Choice, Knowledge, Plans, Proposal, Proposals
from palmette.automl.candidates import Blueprint, first_of_each
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.columns import ColumnEdits, data_plan, edited, objections
from palmette.automl.planning.constraints import PlanStrategy
from palmette.automl.planning.drafting import PlanContext, affordable, draft, plan_of
from palmette.automl.planning.insights import resting_on
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


class GuidelineWriter(RuledAgent):
    """Turns the chosen plan into a blueprint; what the request, the data and the plan determine stays as it is."""

    name = "guideline_writer"
    description = "Turns the chosen plan into the blueprint: columns, features, candidates, folds, metric and policy."
    produces = "blueprint"
    Input = GuidelineInput
    Output = Blueprint
    Answer = GuidelineAnswer

    def by_rule(self, input: GuidelineInput, context: Context) -> Blueprint:
        known = planned(input)
        return blueprint_of(input, proposal_of(input, known), known)

    def in_short(self, output: Blueprint) -> str:
        counts = {"columns": output.columns, "derived features": output.derived, "candidates": output.candidates}
        listed = ", ".join(f"{len(found)} {name}" for name, found in counts.items() if found)
        return f"{listed}, compared by {output.metric}; {output.seconds:.0f} s"

    def is_settled(self, input: GuidelineInput, context: Context) -> bool:
        """The data planner has decided about the columns."""
        return input.proposals is not None

    def sections(self, input: GuidelineInput, context: Context) -> tuple[Section, ...]:
        known = planned(input)
        due = blueprint_of(input, proposal_of(input, known), known)
        return (
            shown.request(known),
            shown.task(due, input.profile),
            shown.columns(due, input.profile),
            shown.dropped(due),
            shown.plan(due),
            shown.findings(input.profile),
            shown.leaks(known) if input.guided else section("leaks"),
            shown.insights(one for one, _ in resting_on(known.knowledge, due.candidates) if input.guided),
        )

    def objection(self, answer: GuidelineAnswer, input: GuidelineInput) -> str:
        return " ".join(objections(answer, proposal_of(input, planned(input)).data, input.samples))

    def read(self, answer: GuidelineAnswer, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        known = planned(input)
        drawn = proposal_of(input, known)
        made = blueprint_of(input, drawn.model_copy(update={"data": edited(drawn.data, answer)}), known)
        remarks = tuple(text for one in answer.remarks if (text := " ".join(one.split())))
        made = made.model_copy(update={"remarks": (*made.remarks, *remarks)})
        return Attempt(made, answer.reason, answer.fix)


def planned(input: GuidelineInput) -> PlanContext:
    """The context of the plans; unguided, without decisions about leaks."""
    rounds = input.plans.rounds if input.plans else ()
    undecided = input.model_copy(update={"profile": input.profile.model_copy(update={"decisions": ()})})
    return (input if input.guided else undecided).known(rounds=rounds, knowledge=input.knowledge or Knowledge())


def proposal_of(input: GuidelineInput, context: PlanContext) -> Proposal:
    """The chosen proposal, else the first one, else that of the first plan, else that of the rules' first draft."""
    proposals = input.proposals.proposals if input.proposals else ()
    chosen = input.choice.proposal if input.choice else next(iter(proposals), None)
    if chosen and input.guided:
        return chosen
    data = data_plan(input.task, input.samples, context.profile, input.splits.train)
    if not input.guided:
        plan = plan_of(UNGUIDED, first_of_each(affordable(context)), context)
        return proposal(plan, data.model_copy(update={"derived": ()}), context)
    drafted = input.plans or draft(context)
    assert drafted is not None  # nothing was tried before
    return proposal(drafted.plans[0], data, context)


def blueprint_of(input: GuidelineInput, chosen: Proposal, context: PlanContext) -> Blueprint:
    """The blueprint of a plan, with its policy, and the seconds of this round."""
    plan, candidates = chosen.plan, [one.candidate for one in chosen.estimates]
    drawn = blueprint(input.task, input.samples, input.profile, chosen.data, candidates)
    return drawn.model_copy(
        update={
            "shares": plan.shares,
            "ensembling": plan.ensembling,
            "tuning": plan.tuning,
            "seconds": context.round_seconds,
            "remarks": (plan.idea,) if input.guided else (),
        }
    )
