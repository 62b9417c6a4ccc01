"""The actor `data_planner`: decides for all plans at once what becomes of the columns."""

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent, verdict
from palmette.automl.artefacts import DataPlan, Plans
from palmette.automl.composition import encoder_named, encoders, learner_named
from palmette.automl.planning.columns import ColumnEdits, data_plan, edited, objections, unsound
from palmette.documents import Model
from palmette.engine import Attempt, Context, Verdict, Violation
from palmette.errors import counted
from palmette.llm import NEEDED, Answer, Section, section


class DataPlannerInput(PlanningInput):
    plans: Plans


class EncoderEdit(Model):
    encoder: str
    """As it is listed."""
    plans: tuple[str, ...] = ()
    """Names of the plans that use it; empty for all."""


class DataAnswer(Answer, ColumnEdits):
    encoders: tuple[EncoderEdit, ...] = ()
    """Encoders that suit some plans better than the usual one of their kind."""


class DataPlanner(RuledAgent):
    """Treats columns by their kind, the request and the leaks; a model edits the result."""

    name = "data_planner"
    description = "Decides the data steps of all plans: the treatment of every column, derived features, encoders."
    produces = "data_plan"
    Input = DataPlannerInput
    Output = DataPlan
    Answer = DataAnswer
    codes = ("data-plan",)

    def by_rule(self, input: DataPlannerInput, context: Context) -> DataPlan:
        return _carried(input, context) or _drawn(input)

    def in_short(self, output: DataPlan) -> str:
        used = sum(one.kind != "drop" for one in output.treatments)
        return f"{counted(used, 'column')} used, {counted(len(output.derived), 'derived feature')}"

    def is_settled(self, input: DataPlannerInput, context: Context) -> bool:
        """Plans were revised: what was decided about the columns stands."""
        return _carried(input, context) is not None

    def sections(self, input: DataPlannerInput, context: Context) -> tuple[Section, ...]:
        known = input.known(rounds=input.plans.rounds)
        listed = [one for one in encoders() if one.kind in known.facts.kinds]
        fitting = [f"{'usual ' if one.usual else ''}for {', '.join(sorted(one.layouts))}" for one in listed]
        lines = [f"{one.kind}: {one.name} ({of}): {one.description}" for one, of in zip(listed, fitting, strict=True)]
        return (
            shown.request(known),
            section("plans", "\n".join(f"{one.name}: {one.idea}" for one in input.plans.plans), rank=NEEDED),
            shown.task(known.blueprint, input.profile),
            shown.columns(known.blueprint, input.profile),
            shown.findings(input.profile),
            shown.dropped(known.blueprint),
            section("encoders", "\n".join(lines), rank=1),
            shown.leaks(known),
        )

    def objection(self, answer: DataAnswer, input: DataPlannerInput) -> str:
        known, plans = {one.name: one for one in encoders()}, input.plans.plans
        layouts = {one.name: {learner_named(each.learner).layout for each in one.candidates} for one in plans}
        found = [*objections(answer, _drawn(input), input.samples)]
        for one in answer.encoders:
            if one.encoder not in known:
                found.append(f"{one.encoder!r} is not a listed encoder.")
                continue
            for name in one.plans or layouts:
                if name not in layouts:
                    found.append(f"There is no plan {name!r}.")
                elif not known[one.encoder].layouts & layouts[name]:
                    found.append(f"No learner of {name!r} takes the layouts of {one.encoder!r}.")
        return " ".join(found)

    def read(self, answer: DataAnswer, input: DataPlannerInput, context: Context) -> Attempt[DataPlan]:
        encoders = {
            plan.name: {
                encoder_named(one.encoder).kind: one.encoder
                for one in answer.encoders
                if plan.name in (one.plans or (plan.name,))
            }
            for plan in input.plans.plans
        }
        made = edited(_drawn(input), answer).model_copy(update={"encoders": encoders, "reason": answer.reason})
        return Attempt(made, answer.reason, answer.fix)

    def check(self, input: DataPlannerInput, output: DataPlan, context: Context) -> Verdict:
        """Every kind suits its column, and features are derived from used columns."""
        wrong = (Violation(code="data-plan-unsound", message=message) for message in unsound(output, input.samples))
        return verdict("data plans", wrong, self.in_short(output))


def _drawn(input: DataPlannerInput) -> DataPlan:
    return data_plan(input.task, input.samples, input.profile, input.splits.train)


def _carried(input: DataPlannerInput, context: Context) -> DataPlan | None:
    """The data plan of earlier plans for those that were revised; None where there is none, or it has failed."""
    last = context.last
    if not isinstance(last, DataPlan) or not input.plans.plans[0].revision or context.evidence or context.attempt > 1:
        return None
    encoders = dict.fromkeys((one.name for one in input.plans.plans), next(iter(last.encoders.values()), {}))
    return last.model_copy(update={"encoders": encoders})
