"""Association of columns with the target: mutual information, and the error one alone removes on unseen rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

COARSE, FINE = 16, 200
"""Bins for mutual information, and for the reduction of error."""
TARGET_BINS = 10
FREQUENT = 60
"""Values of a column of words that are distinguished for mutual information."""
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def as_numbers(column: Any) -> Floats | None:
    """Numbers and timestamps as floats, NaN where missing; None for words."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        values = column.to_numpy("datetime64[ns]").astype("int64").astype(float)
        values[column.isna().to_numpy()] = np.nan
        return np.asarray(values)
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return None
    return np.asarray(column.to_numpy(float))


def in_bins(column: Any, bins: int, frequent: int = FREQUENT) -> Codes:
    """A code for each row: a range of equal weight, or one of the frequent values; 0 where there is nothing."""
    values = as_numbers(column)
    if values is None:
        codes = pd.factorize(column)[0].astype(np.int64)
        counts = np.bincount(codes[codes >= 0]) if (codes >= 0).any() else np.zeros(0, dtype=np.int64)
        if len(counts) > frequent:
            places = np.full(len(counts), frequent, dtype=np.int64)
            places[np.argsort(-counts, kind="stable")[:frequent]] = np.arange(frequent)
            codes = np.where(codes >= 0, places[np.maximum(codes, 0)], -1)
        return np.asarray(codes + 1)
    known = ~np.isnan(values)
    codes = np.zeros(len(values), dtype=np.int64)
    if known.any():
        present = values[known]
        edges = np.unique(np.quantile(present, np.linspace(0, 1, bins + 1)[1:-1]))
        different = np.unique(present[:: max(1, len(present) // 2000)])
        if len(different) <= bins:
            edges = (different[1:] + different[:-1]) / 2
        codes[known] = np.searchsorted(edges, present, side="right") + 1
    return codes


def target_codes(target: Any, problem: str) -> Codes:
    """Classes, or ranges of equal weight."""
    if problem == "classification":
        return np.asarray(pd.factorize(target.astype(str))[0], dtype=np.int64)
    return in_bins(target, TARGET_BINS)


def mutual_information(codes: Codes, target: Codes) -> float:
    """Mutual information as a share of the target's entropy, in [0, 1], corrected for bias (Miller and Madow)."""
    from scipy.stats import entropy
    from sklearn.metrics import mutual_info_score

    whole = float(entropy(np.bincount(target))) if len(codes) else 0.0
    if whole <= 0:
        return 0.0
    different = (len(np.unique(codes)) - 1) * (len(np.unique(target)) - 1)
    return float(np.clip((mutual_info_score(codes, target) - different / (2 * len(codes))) / whole, 0, 1))


@lru_cache(maxsize=4)
def halves(count: int) -> npt.NDArray[np.bool_]:
    """One half of the rows, random but always the same."""
    return np.asarray(np.random.default_rng(0).permutation(count) % 2 == 0)


def error_reduction(codes: Codes, target: Any, problem: str) -> float:
    """Share of the dummy's error that the codes remove on the half of the rows that they did not see.

    Args:
        codes: of the column, from 0.
        target: codes of classes, or ranks in [0, 1].
        problem: classification, or anything else for ranks.
    """
    if len(codes) < 20:
        return 0.0
    first = halves(len(codes))
    score = _class_reduction if problem == "classification" else _rank_reduction
    return max(0.0, (score(codes, target, first) + score(codes, target, ~first)) / 2)


def ranks(target: Any) -> Floats:
    """Ranks in [0, 1]: monotone transforms of the target do not change them."""
    return np.asarray(target.rank(method="average", pct=True).to_numpy(float))


def _class_reduction(codes: Codes, target: Codes, learn: npt.NDArray[np.bool_]) -> float:
    width = int(target.max()) + 1
    size = int(codes.max()) + 1
    usual = int(np.bincount(target[learn], minlength=width).argmax())
    key = codes[learn] * width + target[learn]
    seen, counts = np.unique(key, return_counts=True)
    order = np.argsort(counts, kind="stable")
    guess = np.full(size, usual, dtype=np.int64)
    guess[seen[order] // width] = seen[order] % width  # the most frequent is written last
    truth = target[~learn]
    dummy = float((truth != usual).mean())
    return 1 - float((truth != guess[codes[~learn]]).mean()) / dummy if dummy else 0.0


def _rank_reduction(codes: Codes, target: Floats, learn: npt.NDArray[np.bool_]) -> float:
    size = int(codes.max()) + 1
    mean = float(target[learn].mean())
    counts = np.bincount(codes[learn], minlength=size)
    sums = np.bincount(codes[learn], target[learn], minlength=size)
    guess = (sums + mean * 0.5) / (counts + 0.5)
    truth = target[~learn]
    dummy = float(((truth - mean) ** 2).mean())
    return 1 - float(((truth - guess[codes[~learn]]) ** 2).mean()) / dummy if dummy else 0.0
