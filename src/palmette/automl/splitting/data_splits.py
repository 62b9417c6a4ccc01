"""The request for a split, the facts of the hold-out, and the rows of a run, split again by every process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.measure.intervals import blocks
from palmette.automl.task_spec.spec import Forecast, SplitSpec, TaskSpec
from palmette.documents import Model
from palmette.engine.registry import load
from palmette.errors import UserError
from palmette.problems import error_of

if TYPE_CHECKING:
    from palmette.automl.samples import Samples
    from palmette.automl.splitting.split import RowSplit

SplitStrategy = Literal["random", "stratified", "grouped", "time", "given", "none"]
CELLS = 100_000  # values a second of the budget, to be written, read and learnt from
LEAST = 1_000  # rows that are learnt from, however short the budget


class SplitRequest(SplitSpec):
    """What is predicted, and how the rows are split for it."""

    target: str = ""
    """Empty for clustering."""
    problem: str
    """A registered problem, e.g. `classification`."""
    group: str = ""
    """A column whose equal values stay on one side; empty to let the data decide."""
    time: str = ""
    """The column of times whose latest rows are the hold-out."""
    forecast: Forecast = Forecast()
    seed: int = 0
    hidden: tuple[str, ...] = ()
    """Columns that the request keeps from models; rows that are equal but for them stay together."""
    most_rows: int = 0
    """Rows that are learnt from at most; 0 for all."""

    @property
    def splits_by_column(self) -> bool:
        """Whether a column names the part of each row."""
        return bool(self.column) and (self.by == "column" or (not self.by and bool(self.test_share)))


class HoldOut(Model):
    """How the hold-out was split off: enough to repeat it. Positions are not stored."""

    rows: int
    training_rows: int
    left_out: int = 0
    """Rows without a target value, in neither part."""
    unused: int = 0
    """Rows with a target in neither part: the budget is too short for them."""
    strategy: SplitStrategy
    entity: str = ""
    """The column of entities, where each of them is on one side."""
    time: str = ""
    """The column of times, where the hold-out is the latest rows."""
    column: str = ""
    """The column that names the part of each row."""
    seed: int
    digest: str
    """Digest of the positions of the hold-out."""
    reasons: tuple[str, ...]
    """How and why, in sentences."""


def split_request_of(task: TaskSpec, samples: Samples) -> SplitRequest:
    """What a completed task predicts, and how the rows are split for it; raises UserError where a column does not
    exist, or the inference rows lack others than the target."""

    def column(name: str, field: str) -> str:
        return samples.require(name, field).name if name else ""

    target = column(task.target, "--target") if load("problem", task.problem).has_target else ""
    by_column = task.split.by == "column"
    parts = task.split.column if by_column else samples.split_column
    if by_column and not parts:
        raise error_of(UserError, "no-such-column/split")
    kept_out = {column(one, "The request") for one in (*task.exclude, *task.known_after)}
    included = {column(one, "The request") for one in task.include}
    hidden = tuple(one for one in samples.names if one in kept_out or (included and one not in included))
    lacking = [one for one in samples.targets if one not in (target, *hidden)]
    if target and samples.inference_rows and not task.forecast.targets and lacking:
        flags = " ".join(f"--exclude {one}" for one in lacking)
        facts = {"target": target, "rows": samples.inference_rows, "lacking": lacking, "first": lacking[0]}
        raise error_of(UserError, "rows-lack-columns", flags=flags, **facts)
    most = max(LEAST, round(CELLS * task.budget / len(samples.columns)))
    return SplitRequest(
        target=target,
        problem=task.problem,
        by=task.split.by,
        group=column(task.group_by, "--group-by"),
        time=column(task.time, "--time") if task.split.test_share or task.forecast.targets else "",
        column=column(parts, "--split") if parts != target else "",
        test_from=task.split.test_from if task.split.test_share else "",
        test_share=task.split.test_share,
        forecast=task.forecast,
        seed=task.seed,
        hidden=hidden,
        most_rows=most if most < samples.rows else 0,
    )


@dataclass(frozen=True)
class DataSplits:
    """The rows of a run, in the trusted process; `holdout` never leaves it with its target.

    Frames have typed columns by name. They are shared: copy one before changing it.
    """

    train: pd.DataFrame
    holdout: pd.DataFrame
    groups: NDArray[np.int64] | None  # (n,): equal for training rows that stay together
    units: NDArray[np.int64] | None = None
    """(n,): equal for training rows that err alike, of one group or near one another in time; None: each by itself."""
    holdout_units: NDArray[np.int64] | None = None  # (m,): the same of the rows of the hold-out
    context: pd.DataFrame | None = None
    """Rows beside, without the target, that every fit sees: of the hold-out, and those that have no target."""

    @property
    def visible(self) -> pd.DataFrame:
        """The training rows, and below them the context, whose target is missing."""
        return self.train if self.context is None else pd.concat([self.train, self.context], ignore_index=True)

    @classmethod
    def of(cls, samples: Samples, request: SplitRequest) -> DataSplits:
        """The rows, from the files as they are now; raises UserError where a file has changed since the run began."""
        from palmette.automl.samples.load import reload

        reload(samples)  # raises where a file has changed
        return _splits(samples, request)

    @property
    def judged(self) -> DataSplits:
        """The same with the rows that the model is judged on as the hold-out: the training rows where none are held
        out."""
        return self if len(self.holdout) else replace(self, holdout=self.train, holdout_units=self.units)

    def sample(self, most: int, seed: int, classes: NDArray[np.generic] | None = None, least: int = 2) -> DataSplits:
        """A part of the training rows, without a hold-out; of each of `classes` (n,), `least` rows come first."""
        if len(self.train) <= most:
            return self
        order = np.random.default_rng(seed).permutation(len(self.train))
        if classes is not None:
            rank = pd.Series(order).groupby(classes[order]).cumcount()
            order = order[np.argsort(rank >= least, kind="stable")]
        rows = np.sort(order[:most])
        groups = None if self.groups is None else self.groups[rows]
        some, context = self.train.iloc[rows].reset_index(drop=True), self.context
        if context is not None:
            rest = np.setdiff1d(order, rows)
            context = pd.concat([context, self.train.iloc[rest][context.columns]], ignore_index=True)
        return DataSplits(some, self.holdout.iloc[:0], groups, context=context)


@lru_cache(maxsize=1)
def _splits(samples: Samples, request: SplitRequest) -> DataSplits:
    from palmette.automl.samples.load import reload

    loaded, made = reload(samples), split_of(samples, request)
    table, context = loaded.table, None
    train, holdout = (table.iloc[rows].reset_index(drop=True) for rows in (made.train, made.holdout))
    if load("problem", request.problem).sees_all_rows:
        rest = [table.drop(index=table.index[made.train]), *([] if loaded.inference is None else [loaded.inference])]
        context = pd.concat(rest, ignore_index=True).drop(columns=request.target, errors="ignore")
    if time := made.facts.time:
        orders = [part[time].rank(method="first", na_option="top").to_numpy() for part in (train, holdout)]
        units, others = map(blocks, orders)
        return DataSplits(train, holdout, made.groups, units, others, context)
    return DataSplits(train, holdout, made.groups, made.groups, made.holdout_groups, context)


@lru_cache(maxsize=2)
def split_of(samples: Samples, request: SplitRequest) -> RowSplit:
    """The split of the files as they are now, which the profile and the rows of a run share."""
    from palmette.automl.samples.load import reload
    from palmette.automl.splitting.split import split

    kinds = {one.name: one.kind for one in samples.columns}
    return split(reload(samples).table, request, kinds, samples.test_rows)
