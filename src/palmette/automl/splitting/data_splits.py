"""The rows of a run, split again from the data by every process that needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from palmette.automl.splitting.artefacts import SplitRequest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from palmette.automl.samples.artefacts import Samples
    from palmette.automl.splitting.split import Split


class HasSplit(Protocol):
    """A profile, for one."""

    @property
    def split(self) -> SplitRequest: ...


@dataclass(frozen=True)
class DataSplits:
    """The rows of a run, in the trusted process; `holdout` never leaves it with its target.

    Frames have typed columns by name. They are shared: copy one before changing it.
    """

    train: pd.DataFrame
    holdout: pd.DataFrame
    groups: NDArray[np.int64] | None
    """(n,): equal for training rows that stay together."""
    units: NDArray[np.int64] | None = None
    """(n,): equal for training rows that err alike, of one group or near one another in time; None: each by itself."""
    holdout_units: NDArray[np.int64] | None = None
    """(m,): the same of the rows of the hold-out."""

    @classmethod
    def of(cls, samples: Samples, profile: HasSplit) -> DataSplits:
        """The rows, from the files as they are now.

        Raises:
            UserError: a file has changed since the run began.
        """
        from palmette.automl.samples.load import reload

        reload(samples)  # raises where a file has changed
        return _splits(samples, profile.split)

    @property
    def judged(self) -> DataSplits:
        """The same with the rows that the model is judged on as the hold-out: the training rows where none are held
        out."""
        return self if len(self.holdout) else replace(self, holdout=self.train, holdout_units=self.units)

    def sample(self, most: int, seed: int, classes: NDArray[np.generic] | None = None, least: int = 2) -> DataSplits:
        """A part of the training rows, without a hold-out; of each of `classes` (n,), `least` rows come first."""
        import numpy as np

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
        return DataSplits(self.train.iloc[rows].reset_index(drop=True), self.holdout.iloc[:0], groups)


@lru_cache(maxsize=1)
def _splits(samples: Samples, request: SplitRequest) -> DataSplits:
    from palmette.automl.measure.intervals import blocks
    from palmette.automl.samples.load import reload

    table, made = reload(samples).table, split_of(samples, request)
    train, holdout = (table.iloc[rows].reset_index(drop=True) for rows in (made.train, made.holdout))
    if time := made.facts.time:
        orders = [part[time].rank(method="first", na_option="top").to_numpy() for part in (train, holdout)]
        return DataSplits(train, holdout, made.groups, *map(blocks, orders))
    return DataSplits(train, holdout, made.groups, made.groups, made.holdout_groups)


@lru_cache(maxsize=2)
def split_of(samples: Samples, request: SplitRequest) -> Split:
    """The split of the files as they are now, which the profile and the rows of a run share."""
    from palmette.automl.samples.load import reload
    from palmette.automl.splitting.split import split_for

    return split_for(reload(samples), request)
