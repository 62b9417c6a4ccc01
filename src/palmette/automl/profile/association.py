"""Association of columns with the target: mutual information, and the error one alone removes on unseen rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import STRUCTURE, UNUSABLE, Kind
from palmette.automl.problem_traits import learning_task
from palmette.automl.splitting.data_splits import SplitRequest
from palmette.automl.splitting.parts import Hashes, row_hashes
from palmette.automl.splitting.split import RowSplit

COARSE, FINE = 16, 200  # bins for mutual information, and for the reduction of error
TARGET_BINS = 10
PROMISING = 0.5  # reduction of error from which a column's ranges are chosen by a tree, too
FREQUENT = 60  # values of a column of words that are distinguished for mutual information
SAMPLE = 20_000  # training rows that leak detectors look at; more make nothing more certain
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def as_numbers(column: Any) -> Floats | None:
    """Numbers and timestamps as floats, NaN where missing; None for words."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        values = column.to_numpy("datetime64[ns]").astype("int64").astype(float)
        return np.where(column.isna().to_numpy(), np.nan, values)
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return None
    return np.asarray(column.to_numpy(float))


def in_bins(column: Any, bins: int, frequent: int = FREQUENT) -> Codes:
    """A code for each row: a range of equal weight, or one of the frequent values; 0 where there is no value."""
    values = as_numbers(column)
    if values is None:
        codes = pd.factorize(column)[0].astype(np.int64)
        counts = np.bincount(codes[codes >= 0])
        if len(counts) > frequent:
            places = np.full(len(counts), frequent, dtype=np.int64)
            places[np.argsort(-counts, kind="stable")[:frequent]] = np.arange(frequent)
            codes = np.where(codes >= 0, places[np.maximum(codes, 0)], -1)
        return np.asarray(codes + 1)
    known = ~np.isnan(values)
    codes = np.zeros(len(values), dtype=np.int64)
    if known.any():
        present = values[known]
        different = np.unique(present[:: max(1, len(present) // 2000)])
        if len(different) <= bins:
            edges = (different[1:] + different[:-1]) / 2
        else:
            edges = np.unique(np.quantile(present, np.linspace(0, 1, bins + 1)[1:-1]))
        codes[known] = np.searchsorted(edges, present, side="right") + 1
    return codes


def mutual_information(codes: Codes, target: Codes) -> float:
    """Mutual information as a share of the target's entropy, in [0, 1], corrected for bias (Miller and Madow)."""
    width = int(target.max()) + 1
    joint = np.bincount(codes * width + target, minlength=(int(codes.max()) + 1) * width).reshape(-1, width)
    of_codes, of_target = joint.sum(axis=1), joint.sum(axis=0)
    classes, own = np.count_nonzero(of_target), _entropy(of_target)
    if classes < 2:
        return 0.0
    bias = (np.count_nonzero(of_codes) - 1) * (classes - 1) / (2 * len(codes))
    return float(np.clip((_entropy(of_codes) + own - _entropy(joint) - bias) / own, 0, 1))


def _entropy(counts: Codes) -> float:
    shares = counts[counts > 0] / counts.sum()
    return -float((shares * np.log(shares)).sum())


@lru_cache(maxsize=4)
def _half(count: int) -> npt.NDArray[np.bool_]:
    """One half of the rows, random but always the same."""
    return np.asarray(np.random.default_rng(0).permutation(count) % 2 == 0)


def _class_reduction(codes: Codes, target: Codes, learn: npt.NDArray[np.bool_]) -> float:
    width = int(target.max()) + 1
    usual = int(np.bincount(target[learn], minlength=width).argmax())
    seen, counts = np.unique(codes[learn] * width + target[learn], return_counts=True)
    order = np.argsort(counts, kind="stable")
    guess = np.full(int(codes.max()) + 1, usual, dtype=np.int64)
    guess[seen[order] // width] = seen[order] % width  # the most frequent is written last
    truth = target[~learn]
    dummy = float((truth != usual).mean())
    return 1 - float((truth != guess[codes[~learn]]).mean()) / dummy if dummy else 0.0


def _rank_reduction(codes: Codes, target: Floats, learn: npt.NDArray[np.bool_]) -> float:
    size, mean = int(codes.max()) + 1, float(target[learn].mean())
    counts = np.bincount(codes[learn], minlength=size)
    sums = np.bincount(codes[learn], target[learn], minlength=size)
    guess = (sums + mean * 0.5) / (counts + 0.5)
    truth = target[~learn]
    dummy = float(((truth - mean) ** 2).mean())
    return 1 - float(((truth - guess[codes[~learn]]) ** 2).mean()) / dummy if dummy else 0.0


@dataclass(frozen=True)
class LeakContext:
    """A table with its target, kinds and split, and what leak detectors share."""

    table: pd.DataFrame
    request: SplitRequest
    split: RowSplit
    kinds: Mapping[str, Kind]
    known_after: tuple[str, ...] = ()  # columns that the request declares to be known only after the outcome
    _reductions: dict[str, float] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return self.request.target

    @property
    def problem(self) -> str:
        """The task of the problem."""
        return learning_task(self.request.problem)

    @property
    def is_classes(self) -> bool:
        return self.problem == "classification"

    @cached_property
    def features(self) -> list[str]:
        """All columns that a model may be given: none that the request leaves out, and none that names the parts."""
        aside = {self.target, self.request.column, *self.request.hidden}
        aside |= {name for name, kind in self.kinds.items() if kind in STRUCTURE}
        return [str(name) for name in self.table.columns if name not in aside]

    @cached_property
    def informative(self) -> list[str]:
        """Features that are neither keys nor constant."""
        return [name for name in self.features if self.kinds[name] not in UNUSABLE]

    @cached_property
    def hashes(self) -> Hashes:
        """A hash for each row of the table, equal where all informative features are."""
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
    def codes(self) -> Codes:
        """The target of `rows` as classes, or as ranges of equal weight."""
        target = self.rows[self.target]
        if self.is_classes:
            return np.asarray(pd.factorize(target.astype(str))[0], dtype=np.int64)
        return in_bins(target, TARGET_BINS)

    @cached_property
    def _measured_on(self) -> Any:
        """Classes, or ranks in [0, 1], which monotone transforms of the target do not change."""
        return self.codes if self.is_classes else self.rows[self.target].rank(pct=True).to_numpy(float)

    def mutual_information(self, name: str) -> float:
        """Mutual information of a column with the target, as a share of the target's entropy."""
        return mutual_information(in_bins(self.rows[name], COARSE), self.codes)

    def error_reduction(self, name: str) -> float:
        """Share of the dummy's error that a column alone removes; 0 for constant ones and for clustering."""
        if not self.target or self.kinds[name] == "constant":
            return 0.0
        if name not in self._reductions:
            fine, values = min(FINE, max(COARSE, len(self.rows) // 10)), as_numbers(self.rows[name])
            bins = {fine} if values is None else {COARSE, fine}
            found = max(self.reduction_of(in_bins(self.rows[name], one, len(self.rows))) for one in bins)
            if values is not None and PROMISING <= found < 1:
                found = max(found, self._reduction_by_tree(values[:, None]))
            self._reductions[name] = found
        return self._reductions[name]

    def _reduction_by_tree(self, values: Floats) -> float:
        """As `reduction_of`, with ranges that a tree chose on the seen half: a threshold need not be a quantile."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeClassifier if self.is_classes else DecisionTreeRegressor
        tree = kind(max_leaf_nodes=COARSE, random_state=0)
        return self._in_halves(lambda learn: tree.fit(values[learn], self._measured_on[learn]).apply(values))

    def reduction_of(self, codes: Codes) -> float:
        """Share of the dummy's error that codes of `rows` remove on the half of the rows that they did not see."""
        return self._in_halves(lambda _: codes)

    def _in_halves(self, codes: Callable[[npt.NDArray[np.bool_]], Codes]) -> float:
        """Share of the dummy's error that the codes learnt on one half of `rows` remove on the other; the mean."""
        if len(self.rows) < 20:
            return 0.0
        half, reduction = _half(len(self.rows)), _class_reduction if self.is_classes else _rank_reduction
        return max(0.0, sum(reduction(codes(learn), self._measured_on, learn) for learn in (half, ~half)) / 2)

    def reduction_by_presence(self, name: str) -> float:
        """Share of the dummy's error that the presence of a value removes."""
        return self.reduction_of(self.rows[name].isna().to_numpy().astype(np.int64))

    def reduction_by_any(self, name: str) -> float:
        """Share of the dummy's error that the column's values, or their presence, remove."""
        return max(self.error_reduction(name), self.reduction_by_presence(name))

    def by_reduction(self, names: Iterable[str]) -> list[str]:
        """The columns, the strongest predictor first."""
        return sorted(names, key=lambda name: (-self.error_reduction(name), name))
