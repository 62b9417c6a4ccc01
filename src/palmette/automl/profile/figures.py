"""Figures of columns and of the target, with six significant digits."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import Kind
from palmette.automl.profile import ColumnProfile, Frequent, NumberFacts, TargetProfile, TextFacts, TimeFacts

FREQUENT = 5
CLASSES = 100
FENCES = 3.0
COUNTS_FROM = 10  # different whole numbers from which a target counts something


def figure(value: float) -> float:
    """Six significant digits; 0 for NaN and infinities.

    >>> figure(1 / 3)
    0.333333
    """
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def numbers(values: Any) -> NumberFacts:
    """Figures of floats without NaN."""
    least, quarter, median, three, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    with np.errstate(over="ignore", invalid="ignore"):
        reach = FENCES * (three - quarter)
        mean, deviation = float(values.mean()), float(values.std())
    figures = {
        "mean": mean, "deviation": deviation, "least": least, "quarter": quarter, "median": median,
        "three_quarters": three, "most": most, "skew": skew(values),
        "outliers": ((values < quarter - reach) | (values > three + reach)).mean() if reach else 0.0,
        "zeros": (values == 0).mean(), "negative": (values < 0).mean(),
    }  # fmt: skip
    whole = bool((values == np.floor(values)).all())
    return NumberFacts(whole=whole, **{name: figure(float(value)) for name, value in figures.items()})


def skew(values: Any) -> float:
    """Third standardised moment; 0 for a constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        away, deviation = values - values.mean(), float(values.std())
        return float(((away / deviation) ** 3).mean()) if deviation > 0 and math.isfinite(deviation) else 0.0


def frequent(column: Any, most: int = FREQUENT) -> tuple[Frequent, ...]:
    """The most frequent values; among equals in their own order."""
    counts = column.dropna().astype(str).value_counts()
    least = counts.iloc[:most].min()
    more = sorted(counts[counts > least].items(), key=lambda item: (-item[1], item[0]))
    equal = heapq.nsmallest(most - len(more), counts.index[counts == least])
    total = max(int(counts.sum()), 1)
    return tuple(
        Frequent(value=str(v)[:200], count=int(n), share=figure(n / total))
        for v, n in (*more, *((one, least) for one in equal))
    )


def column_figures(name: str, column: Any, kind: Kind) -> ColumnProfile:
    """Figures of the training rows of a column; its association with the target is added later."""
    present = column.dropna()
    found: dict[str, Any] = {}
    if len(present) and pd.api.types.is_datetime64_any_dtype(column.dtype):
        found["times"] = TimeFacts(first=present.min().isoformat(), last=present.max().isoformat())
    elif len(present) and pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        found["numbers"] = numbers(present.to_numpy(float))
    elif len(present):
        found["frequent"] = frequent(present)
        if kind == "text":
            lengths, words = present.astype(str).str.len(), present.astype(str).str.split().str.len()
            means = {"characters": figure(float(lengths.mean())), "words": figure(float(words.mean()))}
            found["text"] = TextFacts(longest=int(lengths.max()), **means)
    missing = float(column.isna().mean()) if len(column) else 0.0
    return ColumnProfile(name=name, kind=kind, missing=figure(missing), distinct=int(present.nunique()), **found)


def target_figures(name: str, column: Any, problem: str) -> TargetProfile:
    """Figures of the training rows of the target."""
    if problem == "classification":
        counts = column.value_counts().to_numpy(float)
        shares = counts / counts.sum()
        entropy = float(-(shares * np.log(shares)).sum() / math.log(len(shares))) if len(shares) > 1 else 0.0
        classes = frequent(column, CLASSES)
        return TargetProfile(
            name=name, problem=problem, classes=classes, class_count=len(counts), entropy=figure(entropy)
        )
    values = column.to_numpy(float)
    facts = numbers(values)
    low, high = np.quantile(values, [0.01, 0.99])
    return TargetProfile(
        name=name,
        problem=problem,
        numbers=facts,
        orders=figure(math.log10(high / low)) if facts.least > 0 and high > low else 0.0,
        log_skew=figure(skew(np.log1p(values))) if facts.least >= 0 else 0.0,
        is_count=facts.whole and facts.least in (0, 1) and column.nunique() >= COUNTS_FROM,
        bounds=_bounds(facts),
    )


def _bounds(facts: NumberFacts) -> tuple[float, float] | None:
    """The natural range that the values fill: a share, a percentage or a score between whole ends."""
    for low, high in ((0.0, 1.0), (-1.0, 1.0), (0.0, 100.0)):
        wide = (facts.most - facts.least) > 0.6 * (high - low)
        if low <= facts.least and facts.most <= high and wide and not (facts.whole and high == 1.0):
            return low, high
    return None
