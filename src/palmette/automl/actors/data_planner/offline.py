"""The rules of the data planner: what becomes of each column follows from its kind, the leaks and the request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from palmette.automl.artefacts import DataPlan, Plan, Treatment
from palmette.automl.data import USELESS, Dataset
from palmette.automl.planning.algorithms import TREES
from palmette.automl.planning.facts import preparation, training_rows
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model

Action = Literal["number", "category", "boolean", "date parts", "words", "drop"]
DATE_PARTS, WORD_PARTS = 6, 2
"""Columns that a model is given for an instant, and for a text."""

ACTIONS: Mapping[str, Action] = {
    "numeric": "number",
    "categorical": "category",
    "boolean": "boolean",
    "datetime": "date parts",
    "text": "words",
    "list": "words",
}
"""By kind of column; columns of other kinds are left out."""
WHY: Mapping[Action, str] = {
    "number": "a quantity",
    "category": "one of a few names",
    "boolean": "yes or no",
    "date parts": "an instant",
    "words": "a text: its words, and how many they are",
}


class DataPlannerInput(Model):
    plan: Plan
    requirements: Requirements
    dataset: Dataset
    profile: Profile


def data_plan(input: DataPlannerInput) -> DataPlan:
    """The treatment of every column but the target, and what else is done; all columns may be left out."""
    left_out = must_drop(input)
    treatments = tuple(
        Treatment(column=one.name, action="drop", reason=left_out[one.name])
        if one.name in left_out
        else Treatment(column=one.name, action=ACTIONS[one.kind], reason=_reason(one.name, ACTIONS[one.kind], input))
        for one in input.dataset.columns
        if one.name != input.profile.aim.target
    )
    only_trees = bool(input.plan.algorithms) and TREES.issuperset(input.plan.algorithms)
    steps = dict.fromkeys([*input.plan.preparation, *preparation(input.profile, only_trees)])
    return DataPlan(
        plan=input.plan,
        treatments=treatments,
        steps=tuple(steps),
        rows=training_rows(input.profile),
        features=features_of(treatments),
    )


def features_of(treatments: tuple[Treatment, ...]) -> int:
    """Columns that a model is given."""
    parts = {"drop": 0, "date parts": DATE_PARTS, "words": WORD_PARTS}
    return sum(parts.get(one.action, 1) for one in treatments)


def must_drop(input: DataPlannerInput) -> dict[str, str]:
    """By column that no model may be given: why. The request's word goes before the data's."""
    return dict(reversed([*_must_drop(input)]))


def _must_drop(input: DataPlannerInput) -> Iterator[tuple[str, str]]:
    data, wanted, aim = input.dataset, input.requirements.dataset, input.profile.aim
    for one in wanted.excluded:
        if (column := data.column(one.column)) is not None:
            yield column.name, "the request excludes it"
    labels = data.column(wanted.target_column or wanted.target) if aim.task == "clustering" else None
    if labels is not None:
        yield labels.name, "the labels that the groups are compared with"
    if data.key and data.key != aim.target:
        yield data.key, "it only says which row an answer is for"
    if aim.group:
        yield aim.group, "it names an entity, and new rows are of others"
    yield from input.profile.dropped.items()
    for column in data.columns:
        if column.kind not in ACTIONS:
            yield column.name, USELESS.get(column.kind, f"no model reads a column of kind {column.kind!r}")


def _reason(name: str, action: Action, input: DataPlannerInput) -> str:
    """Why a column is treated so; its figures are the profile's."""
    strongest = any(one.name == name and one.rank == 1 for one in input.profile.columns)
    return f"{WHY[action]}; the strongest by itself" if strongest else WHY[action]
