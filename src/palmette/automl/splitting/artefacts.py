"""The request for a split, and the facts of the hold-out."""

from __future__ import annotations

from typing import Literal

from palmette.automl.task_spec.spec import Forecast
from palmette.documents import Model

SplitStrategy = Literal["random", "stratified", "grouped", "time", "given", "none"]


class SplitRequest(Model):
    """What is predicted, and how the rows are split for it."""

    target: str = ""
    """Empty for clustering."""
    problem: str
    """A registered problem, e.g. `classification`."""
    by: Literal["", "random", "stratified", "group", "time", "column"] = ""
    """Empty: the data decide."""
    group: str = ""
    """A column whose equal values stay on one side; empty to let the data decide."""
    time: str = ""
    """The column of times whose latest rows are the hold-out."""
    column: str = ""
    """The column that names the part of each row."""
    since: str = ""
    """The start of the hold-out in time: `2024`, `2024-03`, `2024-03-15`, `--03` for the last March, `P3M` for three
    months before the end; empty for a share of the rows."""
    share: float = 0.2
    """Share of the rows that are held out; 0 for none."""
    forecast: Forecast = Forecast()
    seed: int = 0
    most_rows: int = 0
    """Rows that are learnt from at most; 0 for all."""

    @property
    def splits_by_column(self) -> bool:
        """Whether a column names the part of each row."""
        return bool(self.column) and (self.by == "column" or (not self.by and bool(self.share)))


class HoldOut(Model):
    """How the hold-out was split off: enough to repeat it. Positions are not stored."""

    rows: int
    training_rows: int
    left_out: int = 0
    """Rows without a target value, in neither part."""
    unused: int = 0
    """Rows with a target in neither part: the budget is too short for them."""
    strategy: SplitStrategy
    grouped_by: tuple[str, ...] = ()
    """Columns whose equal values stay on one side: an entity, or all features where rows repeat."""
    time: str = ""
    """The column of times, where the hold-out is the latest rows."""
    column: str = ""
    """The column that names the part of each row."""
    seed: int
    digest: str
    """Digest of the positions of the hold-out."""
    reasons: tuple[str, ...]
    """How and why, in sentences."""
