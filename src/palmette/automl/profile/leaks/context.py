"""Shared facts for leak detectors: a sample of the training rows, the target as codes or ranks, columns in bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import STRUCTURE, UNUSABLE, Kind
from palmette.automl.problem_traits import learning_task
from palmette.automl.profile.association import (
    COARSE,
    FINE,
    as_numbers,
    error_reduction,
    in_bins,
    mutual_information,
    ranks,
    target_codes,
)
from palmette.automl.splitting import SplitRequest
from palmette.automl.splitting.row_groups import Hashes, row_hashes
from palmette.automl.splitting.split import RowSplit

SAMPLE = 20_000
"""Training rows that detectors look at; more make nothing more certain."""


@dataclass(frozen=True)
class LeakContext:
    """A table with its target, kinds and split."""

    table: pd.DataFrame
    request: SplitRequest
    split: RowSplit
    kinds: Mapping[str, Kind]
    known_after: tuple[str, ...] = ()
    """Columns that the request declares to be known only after the outcome."""
    excluded: tuple[str, ...] = ()
    """Columns that the request leaves out: no leak of theirs matters."""
    _reductions: dict[str, float] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return self.request.target

    @property
    def problem(self) -> str:
        """The task of the problem."""
        return learning_task(self.request.problem)

    @cached_property
    def features(self) -> list[str]:
        """All columns that a model may be given: none that the request leaves out, and none that names the parts."""
        aside = {self.target, self.request.column, *self.known_after, *self.excluded}
        aside |= {name for name, kind in self.kinds.items() if kind in STRUCTURE}
        return [str(name) for name in self.table.columns if name not in aside]

    @cached_property
    def informative(self) -> list[str]:
        """Features that are neither keys nor constant."""
        return [name for name in self.features if self.kinds[name] not in UNUSABLE]

    @cached_property
    def hashes(self) -> Hashes:
        """Of each row of the table: equal where all informative features are."""
        columns = self.informative
        return row_hashes(self.table[columns]) if columns else np.arange(len(self.table), dtype=np.uint64)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """A sample of the training rows, in the order of the file."""
        train = self.split.train
        if len(train) > SAMPLE:
            train = np.sort(np.random.default_rng(0).choice(train, SAMPLE, replace=False))
        return self.table.iloc[train]

    @cached_property
    def is_classes(self) -> bool:
        return self.problem == "classification"

    @cached_property
    def codes(self) -> Any:
        """The target of `rows` as classes, or as ranges."""
        return target_codes(self.rows[self.target], self.problem)

    @cached_property
    def different(self) -> int:
        """How many classes, or ranges, `codes` has."""
        return len(np.unique(self.codes))

    @cached_property
    def _measured_on(self) -> Any:
        """Classes, or ranks."""
        return self.codes if self.is_classes else ranks(self.rows[self.target])

    def mutual_information(self, name: str) -> float:
        """Of a column with the target, as a share of the target's entropy."""
        return mutual_information(in_bins(self.rows[name], COARSE), self.codes)

    def error_reduction(self, name: str) -> float:
        """Share of the dummy's error that a column alone removes; 0 for constant ones and for clustering."""
        if not self.target or self.kinds[name] == "constant":
            return 0.0
        if name not in self._reductions:
            fine = min(FINE, max(COARSE, len(self.rows) // 10))
            bins = {COARSE, fine} if as_numbers(self.rows[name]) is not None else {fine}
            found = (self.reduction_of(in_bins(self.rows[name], one, len(self.rows))) for one in bins)
            self._reductions[name] = max(found)
        return self._reductions[name]

    def reduction_of(self, codes: Any) -> float:
        """Share of the dummy's error that any codes of `rows` remove."""
        return error_reduction(codes, self._measured_on, self.problem)
