"""The actor `data_planner`: decomposes a plan into what is done with the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from palmette.automl.actors.data_planner.offline import (
    ACTIONS,
    DataPlannerInput,
    data_plan,
    features_of,
    must_drop,
)
from palmette.automl.artefacts import DataPlan, Treatment
from palmette.automl.planning.facts import training_rows
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Agent, Answer, Section, section

LONGEST = 300
MOST_STEPS = 20
CODES = (
    "column-unknown", "column-untreated", "column-treated-twice", "column-used", "treatment-misfit", "no-columns",
    "data-plan-differs", "steps-too-many", "treatment-too-long",
)  # fmt: skip
"""What it answers for."""


class ColumnNote(Model):
    column: str
    """As it is listed."""
    reason: str
    """One sentence."""


class DataPlanAnswer(Answer):
    left_out: tuple[ColumnNote, ...] = ()
    """Columns that no model is given beside those that must be left out, each with why."""
    remarks: tuple[ColumnNote, ...] = ()
    """Of columns that are used: what matters in their treatment, where there is more to say than their kind."""
    steps: tuple[str, ...]
    """What else is done with the data, in order, each a sentence."""


class DataPlanner(Agent):
    """Decides what becomes of every column; what must be left out is left out, whoever decides."""

    name = "data_planner"
    description = "Decomposes a plan for the data: a treatment with its reason for every column, and the steps."
    produces = "data_plans"
    Input = DataPlannerInput
    Output = DataPlan
    Answer = DataPlanAnswer
    has_criterion = True

    def offline(self, input: DataPlannerInput, context: Context) -> Attempt[DataPlan]:
        made = data_plan(input)
        if not made.features:
            return Attempt(None, "No column is left.", TERMINATE, tuple(_nothing_left(input, made)))
        if any(self.implicated(violation, made) for violation in context.evidence):
            return Attempt(None, "The rules decide the same again.", TERMINATE, context.evidence)
        context.progress(f"{made.features} features for {input.plan.name}")
        return Attempt(made)

    def brief(self, input: DataPlannerInput, context: Context) -> tuple[Section, ...]:
        profile, left_out = input.profile, must_drop(input)
        ordered = sorted(profile.columns, key=lambda column: (column.rank, column.name))
        return (
            section("plan", input.plan.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json"),
            section("wishes", *input.requirements.dataset.preprocessing, *input.requirements.knowledge.hints, rank=1),
            section("aim", profile.aim.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json"),
            section("left_out", *(f"{name}: {why}" for name, why in left_out.items()), rank=1),
            section(
                "columns",
                *(one.model_dump_json(exclude_defaults=True) for one in ordered if one.name not in left_out),
                rank=2,
            ),
            section("findings", *(fact.text for fact in profile.suggestions), rank=2),
        )

    def read(self, answer: DataPlanAnswer, input: DataPlannerInput, context: Context) -> Attempt[DataPlan]:
        drawn = data_plan(input)
        gone = {one.column: one.reason for one in answer.left_out}
        said = {one.column: one.reason for one in answer.remarks}
        unknown = [name for name in (*gone, *said) if name not in {one.column for one in drawn.treatments}]
        if unknown:
            return Attempt(None, answer.reason, answer.fix, tuple(_unknown(name, input) for name in unknown))
        treatments = tuple(_said(one, gone, said) for one in drawn.treatments)
        changes = {"treatments": treatments, "features": features_of(treatments), "steps": answer.steps}
        return Attempt(drawn.model_copy(update=changes), answer.reason, answer.fix)

    def check(self, input: DataPlannerInput, output: DataPlan, context: Context) -> Verdict:
        """Every column but the target is treated once, by its kind; what must not be used is not; one is left."""
        found = [*_of_columns(input, output), *_of_words(output)]
        due = {"plan": input.plan, "rows": training_rows(input.profile), "features": features_of(output.treatments)}
        found += [
            Violation(code="data-plan-differs", message=f"The {name} of the data plan are {value!r}.", subject=name)
            for name, value in due.items()
            if getattr(output, name) != value
        ]
        used = sum(one.action != "drop" for one in output.treatments)
        detail = f"{used} columns are used, {len(output.treatments) - used} are left out"
        return Verdict.of(found, [Measurement(name="data plan", status="failed" if found else "passed", detail=detail)])

    def implicated(self, violation: Violation, output: DataPlan) -> str | None:
        """To blame for what its own check finds."""
        return f"Plan the data again: {violation.message}" if violation.code in CODES else None


def _said(one: Treatment, gone: dict[str, str], said: dict[str, str]) -> Treatment:
    """A treatment as a model wants it; what is left out by rule stays so, for that reason."""
    if one.action == "drop":
        return one
    if one.column in gone:
        return Treatment(column=one.column, action="drop", reason=gone[one.column])
    return one.model_copy(update={"reason": said[one.column]}) if one.column in said else one


def _unknown(name: str, input: DataPlannerInput) -> Violation:
    names = [column.name for column in input.dataset.columns if column.name != input.profile.aim.target]
    message = f"There is no column {name!r} to treat.{did_you_mean(name, names)}"
    return Violation(code="column-unknown", message=message, subject=name)


def _of_columns(input: DataPlannerInput, output: DataPlan) -> Iterator[Violation]:
    times, left_out = Counter(one.column for one in output.treatments), must_drop(input)
    kinds = {column.name: column.kind for column in input.dataset.columns if column.name != input.profile.aim.target}
    for name in kinds.keys() - times.keys():
        yield Violation(code="column-untreated", message=f"Nothing is said of the column {name!r}.", subject=name)
    for name, count in times.items():
        if name not in kinds:
            yield _unknown(name, input)
        elif count > 1:
            message = f"The column {name!r} is treated {count} times."
            yield Violation(code="column-treated-twice", message=message, subject=name)
    for one in output.treatments:
        if one.action == "drop" or one.column not in kinds:
            continue
        if one.column in left_out:
            message = f"The column {one.column!r} must be left out: {left_out[one.column]}."
            yield Violation(code="column-used", message=message, subject=one.column)
        elif one.action != (due := ACTIONS[kinds[one.column]]):
            message = f"The column {one.column!r} is {kinds[one.column]}: {due!r} or 'drop' fits, not {one.action!r}."
            yield Violation(code="treatment-misfit", message=message, subject=one.column)
    yield from _nothing_left(input, output)


def _nothing_left(input: DataPlannerInput, output: DataPlan) -> Iterator[Violation]:
    if all(one.action == "drop" for one in output.treatments):
        why = "; ".join(f"{one.column!r}: {one.reason}" for one in output.treatments) or "there is no other column"
        message = f"No column is left to learn {input.profile.aim.target or 'groups'!r} from ({why[:LONGEST]})."
        yield Violation(code="no-columns", message=message, subject=input.profile.aim.target)


def _of_words(output: DataPlan) -> Iterator[Violation]:
    if len(output.steps) > MOST_STEPS:
        message = f"There are {len(output.steps)} steps; {MOST_STEPS} at most are read."
        yield Violation(code="steps-too-many", message=message)
    texts = [(one.column, one.reason) for one in output.treatments] + [("", step) for step in output.steps]
    for subject, text in texts:
        if not text.strip() or len(text) > LONGEST:
            message = f"A reason or step has {len(text)} characters; one sentence of at most {LONGEST} is meant."
            yield Violation(code="treatment-too-long", message=message, evidence=text[:LONGEST], subject=subject)
