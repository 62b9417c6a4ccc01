"""The rows of a run, cut again from the data by every process that needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palmette.automl.data import Aim, Dataset
from palmette.automl.measure import blocks
from palmette.automl.profile import Profile

if TYPE_CHECKING:
    import pandas as pd

    from palmette.automl.data.cut import Split


@dataclass(frozen=True)
class Material:
    """The rows of a run, in the trusted process; `holdout` never leaves it with its target.

    The frames are shared: whoever changes one copies it first.
    """

    train: pd.DataFrame
    holdout: pd.DataFrame
    groups: NDArray[np.int64] | None
    """(n,): equal for training rows that stay together."""
    units: NDArray[np.int64] | None = None
    """(n,): equal for training rows that err alike, of one group or near one another in time; None: each by itself."""
    held_units: NDArray[np.int64] | None = None
    """(m,): the same of the rows of the hold-out."""

    @classmethod
    def of(cls, dataset: Dataset, profile: Profile) -> Material:
        """The rows, from the files as they are now.

        Raises:
            UserError: a file has changed since the run began.
        """
        from palmette.automl.data.load import reload

        reload(dataset)  # raises where a file has changed
        return _cut(dataset, profile.aim)

    @property
    def judged(self) -> Material:
        """With the rows that the model is judged on as the hold-out: those learnt from, where none were held out."""
        return self if len(self.holdout) else replace(self, holdout=self.train, held_units=self.units)

    def sample(self, most: int, seed: int, classes: NDArray[np.generic] | None = None, least: int = 2) -> Material:
        """A part of the training rows, without a hold-out; of each of `classes` (n,), `least` rows come first."""
        if len(self.train) <= most:
            return self
        order = np.random.default_rng(seed).permutation(len(self.train))
        if classes is not None:
            rank = np.zeros(len(order), dtype=int)
            for name in np.unique(classes):
                here = classes[order] == name
                rank[here] = np.arange(int(here.sum()))
            order = order[np.argsort(rank >= least, kind="stable")]
        rows = np.sort(order[:most])
        groups = None if self.groups is None else self.groups[rows]
        return Material(self.train.iloc[rows].reset_index(drop=True), self.holdout.iloc[:0], groups)


@lru_cache(maxsize=1)
def _cut(dataset: Dataset, aim: Aim) -> Material:
    from palmette.automl.data.load import reload

    table, split = reload(dataset).table, split_of(dataset, aim)
    train, holdout = (table.iloc[rows].reset_index(drop=True) for rows in (split.train, split.holdout))
    if time := split.told.time:
        orders = [part[time].rank(method="first", na_option="top").to_numpy() for part in (train, holdout)]
        return Material(train, holdout, split.groups, *map(blocks, orders))
    return Material(train, holdout, split.groups, split.groups, split.held_groups)


@lru_cache(maxsize=2)
def split_of(dataset: Dataset, aim: Aim) -> Split:
    """The cut of the files as they are now, which the profile and the rows of a run share."""
    from palmette.automl.data.cut import cut_for
    from palmette.automl.data.load import reload

    return cut_for(reload(dataset), aim)
