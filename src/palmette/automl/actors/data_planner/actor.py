"""The actor `data_planner`: decides for all plans at once what becomes of the columns."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl import context as shown
from palmette.automl.artefacts import DataPlan, DataPlans, Plan, Plans
from palmette.automl.composition import encoder_named, encoders, learner_named
from palmette.automl.planning.columns import ColumnEdits, data_plan, edited, objections, unsound
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.request import leak_lines, request_section
from palmette.automl.profile import Profile
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class DataPlannerInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    plans: Plans


class EncoderEdit(Model):
    encoder: str
    """As it is listed."""
    plans: tuple[str, ...] = ()
    """Names of the plans that use it; empty for all."""


class DataAnswer(Answer, ColumnEdits):
    encoders: tuple[EncoderEdit, ...] = ()
    """Encoders that suit some plans better than the usual one of their kind."""


class DataPlanner(Agent):
    """Treats columns by their kind, the request and the leaks; a model edits the result."""

    name = "data_planner"
    description = "Decides the data steps of all plans: the treatment of every column, derived features, encoders."
    produces = "data_plans"
    Input = DataPlannerInput
    Output = DataPlans
    Answer = DataAnswer
    has_criterion = True

    def offline(self, input: DataPlannerInput, context: Context) -> Attempt[DataPlans]:
        made = _carried(input, context) or by_rule(input)
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules decide the same again.", TERMINATE, context.evidence)
        used = sum(one.kind != "drop" for one in made.data_plans[0].treatments)
        context.progress(f"{used} columns, {len(made.data_plans[0].derived)} derived features")
        return Attempt(made)

    def is_settled(self, input: DataPlannerInput, context: Context) -> bool:
        """Plans were revised: what was decided about the columns stands."""
        return _carried(input, context) is not None

    def brief(self, input: DataPlannerInput, context: Context) -> tuple[Section, ...]:
        known = PlanContext.of(input.task, input.samples, input.profile)
        gone = (f"{one.name}: {one.reason}" for one in known.blueprint.dropped)
        return (
            request_section(known),
            section("plans", "\n".join(f"{one.name}: {one.idea}" for one in input.plans.plans), rank=NEEDED),
            shown.task(known.blueprint, input.profile),
            shown.columns(known.blueprint, input.profile),
            section("dropped", *gone, rank=1),
            section("encoders", "\n".join(_encoders(known)), rank=1),
            section("leaks", *leak_lines(known), rank=1),
        )

    def objection(self, answer: DataAnswer, input: DataPlannerInput) -> str:
        drawn = by_rule(input).data_plans[0]
        return " ".join([*objections(answer, drawn, input.samples), *_misfits(answer, input)])

    def read(self, answer: DataAnswer, input: DataPlannerInput, context: Context) -> Attempt[DataPlans]:
        drawn = by_rule(input).data_plans
        made = [_with_encoders(edited(one, answer), answer) for one in drawn]
        return Attempt(DataPlans(data_plans=tuple(made)), answer.reason, answer.fix)

    def check(self, input: DataPlannerInput, output: DataPlans, context: Context) -> Verdict:
        """One data plan for each plan, with every column once; what may not be used is dropped."""
        found = [*_violations(input, output)]
        used = sum(one.kind != "drop" for one in output.data_plans[0].treatments) if output.data_plans else 0
        measured = Measurement(
            name="data plans", status="failed" if found else "passed", detail=f"{used} columns are used"
        )
        return Verdict.of(found, [measured])

    def implicated(self, violation: Violation, output: DataPlans) -> str | None:
        """It answers for its own check."""
        return f"Plan the data again: {violation.message}" if violation.code.startswith("data-plan") else None


def by_rule(input: DataPlannerInput) -> DataPlans:
    """The same treatment for every plan."""
    rows = DataSplits.of(input.samples, input.profile).train
    made = data_plan(input.task, input.samples, input.profile, rows)
    return DataPlans(data_plans=tuple(made.model_copy(update={"plan": one.name}) for one in input.plans.plans))


def _carried(input: DataPlannerInput, context: Context) -> DataPlans | None:
    """The data plan of earlier plans for those that were revised; None where there is none, or it has failed."""
    last = context.last
    if not isinstance(last, DataPlans) or not input.plans.plans[0].revision or context.evidence or context.attempt > 1:
        return None
    first = last.data_plans[0]
    return DataPlans(data_plans=tuple(first.model_copy(update={"plan": one.name}) for one in input.plans.plans))


def _layouts(plan: Plan) -> set[str]:
    return {learner_named(one.learner).layout for one in plan.candidates}


def _encoders(known: PlanContext) -> Iterator[str]:
    for one in encoders():
        if one.kind in known.facts.kinds:
            usual = (
                "usual for " + ", ".join(sorted(one.layouts)) if one.usual else f"for {', '.join(sorted(one.layouts))}"
            )
            yield f"{one.kind}: {one.name} ({usual}): {one.description}"


def _misfits(answer: DataAnswer, input: DataPlannerInput) -> Iterator[str]:
    known = {one.name: one for one in encoders()}
    plans = {one.name: one for one in input.plans.plans}
    for one in answer.encoders:
        encoder = known.get(one.encoder)
        if encoder is None:
            yield f"{one.encoder!r} is not a listed encoder."
            continue
        for name in one.plans or plans:
            if name not in plans:
                yield f"There is no plan {name!r}."
            elif not encoder.layouts & _layouts(plans[name]):
                yield f"No learner of {name!r} takes the layouts of {one.encoder!r}."


def _with_encoders(plan: DataPlan, answer: DataAnswer) -> DataPlan:
    wanted = [one.encoder for one in answer.encoders if not one.plans or plan.plan in one.plans]
    found = {encoder_named(name).kind: name for name in wanted}
    return plan.model_copy(update={"encoders": found, "reason": answer.reason})


def _violations(input: DataPlannerInput, output: DataPlans) -> Iterator[Violation]:
    if [one.plan for one in output.data_plans] != [one.name for one in input.plans.plans]:
        message = "There is not one data plan for each plan, in their order."
        yield Violation(code="data-plan-missing", message=message)
    due = {one.column: one for one in by_rule(input).data_plans[0].treatments}
    for plan in output.data_plans:
        if sorted(one.column for one in plan.treatments) != sorted(due):
            message = f"The data plan of {plan.plan!r} does not treat every column once."
            yield Violation(code="data-plan-columns", message=message, subject=plan.plan)
        for one in plan.treatments:
            rule = due.get(one.column)
            if rule and rule.kind == "drop" != one.kind:
                message = f"Column {one.column!r} must be dropped: {rule.reason}."
                yield Violation(code="data-plan-leak", message=message, subject=one.column)
        for message in unsound(plan, input.samples):
            yield Violation(code="data-plan-features", message=message, subject=plan.plan)
