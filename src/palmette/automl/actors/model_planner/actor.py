"""The actor `model_planner`: searches all plans for the candidates that are worth training, without training any."""

from collections.abc import Mapping
from dataclasses import replace

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent
from palmette.automl.artefacts import DataPlan, Estimate, Plan, Plans, Proposal, Proposals
from palmette.automl.candidates import Candidate, substance
from palmette.automl.composition import encoder_named, learner_named
from palmette.automl.kinds import Kind
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.drafting import PlanContext
from palmette.documents import Model
from palmette.engine import Attempt, Context
from palmette.errors import counted
from palmette.llm import NEEDED, Answer, Section, section


class ModelPlannerInput(PlanningInput):
    plans: Plans
    data_plan: DataPlan

    def begun(self) -> tuple[PlanContext, dict[str, Proposal]]:
        """The context with the columns that the data plan leaves, and the rules' proposals by plan."""
        known = self.known(rounds=self.plans.rounds)
        drawn = blueprint(self.task, self.samples, self.profile, self.data_plan)
        known = replace(known, blueprint=drawn.model_copy(update={"seconds": known.blueprint.seconds}))
        return known, {plan.name: proposal(plan, self.data_plan, known) for plan in self.plans.plans}


class PlanChanges(Model):
    plan: str
    """Name of the plan."""
    first: tuple[str, ...] = ()
    """Candidates that are trained first, in this order; the others follow as they are."""
    leave_out: tuple[str, ...] = ()
    """Candidates that cannot help here."""


class SearchAnswer(Answer):
    plans: tuple[PlanChanges, ...] = ()
    """Plans that change."""


class ModelPlanner(RuledAgent):
    """Estimates the candidates of every plan; a model ranks them and leaves some out."""

    name = "model_planner"
    description = "Finds the candidates of all plans that are worth training: expected time, size and latency."
    produces = "proposals"
    Input = ModelPlannerInput
    Output = Proposals
    Answer = SearchAnswer

    def by_rule(self, input: ModelPlannerInput, context: Context) -> Proposals:
        return Proposals(proposals=tuple(input.begun()[1].values()))

    def in_short(self, output: Proposals) -> str:
        return "; ".join(f"{one.plan.name}: {counted(len(one.estimates), 'candidate')}" for one in output.proposals)

    def sections(self, input: ModelPlannerInput, context: Context) -> tuple[Section, ...]:
        known, proposals = input.begun()
        every = {one.candidate.name: one for made in proposals.values() for one in made.estimates}
        names = {name: ", ".join(one.candidate.name for one in made.estimates) for name, made in proposals.items()}
        plans = [f"{name} ({proposals[name].plan.idea}): {listed}" for name, listed in names.items()]
        candidates = [f"{shown.described(one.candidate)}; {one}" for one in every.values()]
        return (
            shown.request(known),
            shown.task(known.blueprint, input.profile),
            section("plans", "\n".join(plans), rank=NEEDED),
            section("candidates", "\n".join(candidates), rank=NEEDED),
        )

    def objection(self, answer: SearchAnswer, input: ModelPlannerInput) -> str:
        found, proposals = list[str](), input.begun()[1]
        for one in answer.plans:
            if one.plan not in proposals:
                found.append(f"There is no plan {one.plan!r}.")
                continue
            names, asked = {each.candidate.name for each in proposals[one.plan].estimates}, (*one.first, *one.leave_out)
            found += [f"{name!r} is not a candidate of {one.plan!r}." for name in asked if name not in names]
            if names <= {*one.leave_out}:
                found.append(f"Nothing is left of {one.plan!r}.")
        return " ".join(found)

    def read(self, answer: SearchAnswer, input: ModelPlannerInput, context: Context) -> Attempt[Proposals]:
        proposals = input.begun()[1]
        for change in answer.plans:
            made = proposals[change.plan]
            kept = {one.candidate.name: one for one in made.estimates if one.candidate.name not in change.leave_out}
            first = [kept.pop(name) for name in dict.fromkeys(change.first) if name in kept]
            proposals[change.plan] = made.model_copy(update={"estimates": (*first, *kept.values())})
        return Attempt(Proposals(proposals=tuple(proposals.values())), answer.reason, answer.fix)


def encoded(candidate: Candidate, encoders: Mapping[Kind, str]) -> Candidate:
    """Adds a plan's encoders to a candidate, for the kinds that it leaves open and its learner supports."""
    layout = learner_named(candidate.learner).layout
    fitting = {kind: name for kind, name in encoders.items() if layout in encoder_named(name).layouts}
    return candidate.model_copy(update={"encoders": {**fitting, **candidate.encoders}})


def proposal(plan: Plan, data: DataPlan, context: PlanContext) -> Proposal:
    """Returns a plan's candidates that fit time and limits, in order; if none does, the one that comes closest."""
    every = [encoded(one, data.encoders.get(plan.name, {})) for one in plan.candidates]
    scores = {key: one.score for key, one in context.costs.measured.items()}
    found = [Estimate(candidate=one, score=scores.get(substance(one)), cost=context.costs.of(one)) for one in every]
    ratios = {one.candidate.name: context.misfit(one.cost, context.tolerance) for one in found}
    fitting = [one for one in found if ratios[one.candidate.name] <= 1]
    kept = fitting or [min(found, key=lambda one: ratios[one.candidate.name])]
    return Proposal(plan=plan, data=data, estimates=tuple(kept))
