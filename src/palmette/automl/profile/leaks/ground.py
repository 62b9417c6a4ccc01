"""What the detectors look at: a sample of the training rows, the target as codes or ranks, each column in bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Kind
from palmette.automl.data.cut import Hashes, Split, row_hashes
from palmette.automl.profile.association import COARSE, FINE, as_numbers, in_bins, ranks, skill, strength, target_codes

SAMPLE = 20_000
"""Training rows that detectors look at; more make nothing surer."""


@dataclass(frozen=True)
class Ground:
    """A table with its target, kinds and cut."""

    table: pd.DataFrame
    target: str
    task: str
    split: Split
    kinds: Mapping[str, Kind]

    @cached_property
    def features(self) -> list[str]:
        """All columns but the target."""
        return [str(name) for name in self.table.columns if name != self.target]

    @cached_property
    def told(self) -> list[str]:
        """Features that say something: neither keys nor constant."""
        return [name for name in self.features if self.kinds[name] not in ("identifier", "constant")]

    @cached_property
    def hashes(self) -> Hashes:
        """Of each row of the table: equal where all features that say something are."""
        return row_hashes(self.table[self.told]) if self.told else np.arange(len(self.table), dtype=np.uint64)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """A sample of the training rows, in the order of the file."""
        train = self.split.train
        if len(train) > SAMPLE:
            train = np.sort(np.random.default_rng(0).choice(train, SAMPLE, replace=False))
        return self.table.iloc[train]

    @cached_property
    def is_classes(self) -> bool:
        return self.task == "classification"

    @cached_property
    def codes(self) -> Any:
        """The target of `rows` as classes, or as ranges."""
        return target_codes(self.rows[self.target], self.task)

    @cached_property
    def different(self) -> int:
        """How many classes, or ranges, `codes` has."""
        return len(np.unique(self.codes))

    @cached_property
    def aim(self) -> Any:
        """What a skill is measured on: classes, or ranks."""
        return self.codes if self.is_classes else ranks(self.rows[self.target])

    @cached_property
    def _known(self) -> dict[str, float]:
        return {}

    def strength(self, name: str) -> float:
        """Mutual information of a column with the target, as a share."""
        return strength(in_bins(self.rows[name], COARSE), self.codes)

    def skill(self, name: str) -> float:
        """What a column alone predicts; 0 for constant ones and for clustering."""
        if not self.target or self.kinds[name] == "constant":
            return 0.0
        if name not in self._known:
            fine = min(FINE, max(COARSE, len(self.rows) // 10))
            bins = {COARSE, fine} if as_numbers(self.rows[name]) is not None else {fine}
            self._known[name] = max(self.skill_of(in_bins(self.rows[name], one, len(self.rows))) for one in bins)
        return self._known[name]

    def skill_of(self, codes: Any) -> float:
        """What any codes of the sampled rows predict."""
        return skill(codes, self.aim, self.task)
