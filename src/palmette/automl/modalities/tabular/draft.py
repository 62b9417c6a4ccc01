"""A blueprint by rules, from the data alone: what an expert would write down before seeing a score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from palmette.automl.data import USELESS, Column
from palmette.automl.measure.metrics import in_order
from palmette.automl.modalities.tabular.algorithms import ALGORITHMS, Algorithm, installed
from palmette.automl.modalities.tabular.blueprint import Blueprint, ColumnPlan, Dropped, Example, Folds, Kind, Transform
from palmette.automl.modalities.tabular.instants import PARTS, Made, drifts, parts_of, spans
from palmette.automl.modalities.tabular.names import distinct, plain
from palmette.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

KINDS: dict[str, Kind] = {
    "numeric": "numeric",
    "categorical": "categorical",
    "boolean": "boolean",
    "datetime": "datetime",
    "text": "text",
    "list": "text",
}
"""What columns of each kind become; those of other kinds are left out."""
TRANSFORMS: dict[str, Transform] = {"rmsle": "log1p", "rmse_log": "log"}
"""What a metric of logarithms is about: its root mean square is learnt directly on that scale."""
LIGHT, HEAVY = 300_000, 2_000_000
"""Work (rows times columns, times classes where there are several) above which there are fewer folds."""
FEW, MANY = 3_000, 30_000
"""Rows below which more folds are worth their time and a second thread is not, and above which few folds do."""
MARGIN = 0.1
"""Share of the target's range by which a prediction may leave it."""
SHOWN_CATEGORIES = 30
WHOLE = re.compile(r"(-?\d+)\.0")


class Goal(NamedTuple):
    """What is to be predicted, and how well is measured."""

    task: Literal["classification", "regression"]
    target: str
    metric: str
    positive: str | None = None


def draft(
    goal: Goal,
    columns: Sequence[Column],
    rows: pd.DataFrame,
    wanted: Iterable[Algorithm] = ALGORITHMS,
    seed: int = 0,
    time: str = "",
) -> Blueprint:
    """A blueprint for training rows, each with the target, whose columns are as described.

    The rows to predict are later than these by the column `time`, if there is one.

    Raises:
        UserError: no column says anything about the target.
    """
    used = [column for column in columns if column.name != goal.target]
    dated = [column.name for column in used if column.kind == "datetime"]
    kept, left = planned(used, rows, drifts(rows, dated, goal.target, time))
    if not kept:
        raise _nothing_left(goal.target, left)
    target = rows[goal.target]
    classes = class_names(target)
    transform = TRANSFORMS.get(goal.metric, "none")
    is_classes = goal.task == "classification"
    work = len(rows) * len(kept) * (classes.nunique() if is_classes and classes.nunique() > 2 else 1)
    return Blueprint(
        title=goal.target,
        task=goal.task,
        target=goal.target,
        metric=goal.metric,
        rows=len(rows),
        columns=kept,
        dropped=left,
        derived=tuple(spans((one.name for one in kept if one.kind == "datetime"), rows, _features(kept))),
        classes=in_order(classes.unique()) if is_classes else (),
        positive=None if goal.positive is None else WHOLE.sub(r"\1", goal.positive.strip()),
        transform="none" if is_classes else transform,
        bounds=None if is_classes else _bounds(target, transform),
        algorithms=installed(wanted),
        threads=1 if len(rows) < FEW else 2,
        folds=folds_for(len(rows), int(classes.value_counts().min()) if is_classes else None, work),
        seed=seed,
    )


def _nothing_left(target: str, left: Iterable[Dropped]) -> UserError:
    reasons = ", ".join(f"{one.name!r} is {one.reason}" for one in left) or "there is no other"
    message = f"No column is left to predict {target!r} from: {reasons}."
    return UserError(message, "Add columns that say something about it.", code="no-columns")


def planned(
    columns: Iterable[Column], rows: pd.DataFrame, drifting: Mapping[str, float] = MappingProxyType({})
) -> tuple[tuple[ColumnPlan, ...], tuple[Dropped, ...]]:
    """Columns that models are given, and those that say nothing, whatever is learnt.

    `drifting` says how far the target moves with columns of instants that will all be later in the rows to predict.
    """
    every = list(columns)
    return (
        tuple(_plan(one, rows[one.name], drifting.get(one.name)) for one in every if one.kind in KINDS),
        tuple(Dropped(name=one.name, reason=USELESS[one.kind]) for one in every if one.kind not in KINDS),
    )


def class_names(target: pd.Series) -> pd.Series:
    """Classes as text; whole numbers without a fraction."""
    return target.astype(str).str.strip().str.replace(WHOLE, r"\1", regex=True)


def _features(columns: Iterable[ColumnPlan]) -> Iterable[str]:
    return distinct((column.name for column in columns), plain).values()


def _plan(column: Column, values: pd.Series, drift: float | None) -> ColumnPlan:
    kind = KINDS[column.kind]
    made = parts_of(values, drift) if kind == "datetime" else Made(PARTS, "")
    categories = sorted(class_names(values.dropna()).unique()) if kind == "categorical" else []
    return ColumnPlan(
        name=column.name,
        kind=kind,
        treatment="; ".join(filter(None, (_treatment(kind, column, values), made.reason))),
        parts=made.parts,
        categories=tuple(categories) if len(categories) <= SHOWN_CATEGORIES else (),
        examples=tuple(_example(kind, one) for one in column.examples),
    )


def _treatment(kind: Kind, column: Column, values: pd.Series) -> str:
    missing = f"{column.missing:.1%} missing" if column.missing else "none missing"
    match kind:
        case "numeric":
            unit = ", hours written as 13:45" if column.reading.form == "clock" else ""
            return f"{missing}; {values.min():.6g} to {values.max():.6g}{unit}"
        case "categorical":
            return f"{missing}; {column.distinct} categories"
        case "datetime":
            return f"{missing}; {values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}"
        case "text":
            return f"{missing}; {column.distinct} different texts"
        case "boolean":
            return missing
        case _ as never:
            assert_never(never)


def _example(kind: Kind, text: str) -> Example:
    if kind == "numeric":
        try:
            return float(text)
        except ValueError:
            return None
    if kind == "boolean":
        from palmette.automl.data.kinds import TRUE

        return text.strip().casefold() in TRUE
    return text


def _bounds(target: pd.Series, transform: Transform) -> tuple[float, float]:
    """The range of the target and a little more, on the scale that is learnt; never below 0 where no value is."""
    import numpy as np

    learn, restore = {"none": (np.positive, np.positive), "log": (np.log, np.exp), "log1p": (np.log1p, np.expm1)}[
        transform
    ]
    low, high = float(learn(target.min())), float(learn(target.max()))
    margin = MARGIN * (high - low)
    lowest, highest = float(restore(low - margin)), float(restore(high + margin))
    return (max(lowest, 0.0) if target.min() >= 0 else lowest), highest


def folds_for(rows: int, rarest: int | None, work: int = 0) -> Folds:
    """More folds where rows are few: each model then learns from nearly all of them."""
    count = 8 if rows < FEW and work < LIGHT else 5 if rows < MANY and work < HEAVY else 3
    if rarest is None:
        return Folds(count=min(count, max(2, rows)), kind="random")
    return Folds(count=max(2, min(count, rarest)), kind="stratified")
