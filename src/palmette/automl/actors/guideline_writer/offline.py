"""The rules of the guideline writer: the chosen plan and the profile become a blueprint."""

from __future__ import annotations

from typing import Literal

from palmette.automl.artefacts import Choice, DataPlan, Plans, Proposal, Settings
from palmette.automl.data import Column, Dataset
from palmette.automl.data.cut import cut_for
from palmette.automl.goal import goal_of
from palmette.automl.modalities.tabular import ALGORITHMS, Algorithm, Blueprint, ColumnPlan, Dropped, Folds, Source
from palmette.automl.modalities.tabular.draft import Goal, draft
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model

FORMATS: dict[str, Literal["parquet", "excel"]] = {"parquet": "parquet", "excel": "excel"}
"""Of files whose rows the project reads as they are; all others become CSV."""


class GuidelineInput(Model):
    requirements: Requirements
    dataset: Dataset
    profile: Profile
    choice: Choice | None = None
    proposals: tuple[Proposal, ...] = ()
    plans: Plans | None = None
    settings: Settings = Settings()
    guided: bool = True
    """False: from what is fixed alone, as if nobody had profiled the data or planned."""

    @property
    def data_plan(self) -> DataPlan | None:
        """The part for the data of what was chosen, or of the first proposal where nobody chooses."""
        proposal = self.choice.proposal if self.choice else next(iter(self.proposals), None)
        return proposal.data if proposal and self.guided else None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Those of what was chosen, else of the first proposal, else of the first plan, in order."""
        if not self.guided:
            return ()
        proposal = self.choice.proposal if self.choice else next(iter(self.proposals), None)
        plan = proposal.data.plan if proposal else self.plans.plans[0] if self.plans else None
        candidates = [one.algorithm for one in proposal.candidates] if proposal else []
        return tuple(dict.fromkeys([*(plan.algorithms if plan else ()), *candidates]))


def blueprint_of(input: GuidelineInput) -> Blueprint:
    """The blueprint that follows from the chosen plan.

    Raises:
        UserError: no column is left to learn from.
    """
    from palmette.automl.data.load import reload

    goal, profile = goal_of(input.requirements, input.profile), input.profile
    assert goal.task != "clustering"
    loaded = reload(input.dataset)
    rows = loaded.table.iloc[cut_for(loaded, profile.aim).train]
    left_out = _left_out(input)
    columns = [column for column in input.dataset.columns if column.name not in left_out]
    drawn = draft(
        Goal(goal.task, goal.target, goal.metric, goal.positive), columns, rows, _algorithms(input), input.settings.seed
    )
    known = {column.name: column for column in input.dataset.columns}
    told = {one.column: one.reason for one in input.data_plan.treatments} if input.data_plan else {}
    return drawn.model_copy(
        update={
            "title": _title(input, goal.task),
            "columns": tuple(_as_in_file(one, known[one.name], told.get(one.name, "")) for one in drawn.columns),
            "dropped": (*drawn.dropped, *(Dropped(name=name, reason=why) for name, why in left_out.items())),
            "folds": _folds(drawn.folds, profile),
            "source": _source(input.dataset, goal.target),
        }
    )


def _left_out(input: GuidelineInput) -> dict[str, str]:
    """By column that no model is given: why."""
    treatments = input.data_plan.treatments if input.data_plan else ()
    found = {one.column: one.reason for one in treatments if one.action == "drop"}
    if input.guided:
        found |= input.profile.dropped
    for one in input.requirements.dataset.excluded:
        column = input.dataset.column(one.column)
        if column is not None:
            found[column.name] = "the request excludes it"
    if input.dataset.key and input.dataset.key != input.profile.aim.target:
        found.setdefault(input.dataset.key, "it only says which row an answer is for")
    return {name: why for name, why in found.items() if input.dataset.column(name) and name != input.profile.aim.target}


def _algorithms(input: GuidelineInput) -> tuple[Algorithm, ...]:
    """Those that were chosen and are known here, in their order; all where there are none."""
    return tuple(one for name in input.algorithms for one in ALGORITHMS if one == name) or ALGORITHMS


def _as_in_file(plan: ColumnPlan, column: Column, reason: str) -> ColumnPlan:
    source = column.source if column.source != column.name else ""
    treatment = f"{plan.treatment}; {reason}" if reason and plan.treatment else reason or plan.treatment
    return plan.model_copy(update={"source": source, "reading": column.reading, "treatment": treatment})


def _folds(folds: Folds, profile: Profile) -> Folds:
    """Divided as the hold-out was cut: by entity, by time, or by chance."""
    if profile.aim.time:
        return folds.model_copy(update={"kind": "time", "by": profile.aim.time})
    if profile.aim.group:
        return folds.model_copy(update={"kind": "grouped", "by": profile.aim.group})
    return folds


def _source(dataset: Dataset, target: str) -> Source:
    """How the project reads files like the ones that were given."""
    file, column = dataset.files[0], dataset.column(target)
    assert column is not None
    source = Source(target=column.source if column.source != column.name else "", target_reading=column.reading)
    dialect = file.dialect
    if dialect is not None and dialect.header and dialect.quote and not dialect.skipped and not dialect.escape:
        return source.model_copy(update={"dialect": dialect})
    return source if file.compression else source.model_copy(update={"format": FORMATS.get(file.format, "csv")})


def _title(input: GuidelineInput, task: str) -> str:
    name = input.profile.aim.target
    return f"{name} ({task})"
