"""Permutation importance of a model behind an interface: one call predicts all shuffled copies of its rows.

A column that another one can replace looks less important than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance
from palmette.automl.measure import Metric, Predictions, score

if TYPE_CHECKING:
    import pandas as pd

SAMPLE, LEAST_SAMPLE = 300, 100
"""Rows that are shuffled, if there are as many; fewer before columns are left out."""
REPEATS = 5
LEAST_REPEATS = 2
MOST = 10_000
"""Rows that are predicted in all."""
MOST_VALUES = 5_000_000
"""In these rows; with many columns there are fewer rows."""


class Measure(NamedTuple):
    """How predictions are scored."""

    metric: Metric
    positive: str | None = None


def importance(
    ask: Callable[[pd.DataFrame], Predictions],
    rows: pd.DataFrame,
    truth: NDArray[np.generic],
    measure: Measure,
    columns: Sequence[str],
    *,
    seed: int = 0,
    most: int = MOST,
) -> tuple[FeatureImportance, ...]:
    """How much worse the metric becomes when one column at a time is shuffled, the largest loss first.

    Nothing where the rows do not allow for the metric.

    Args:
        ask: The model; called once.
        rows: Of the hold-out, as the model reads them.
        truth: (n,): the target in these rows.
        measure: The metric, and the class that it is about.
        columns: To shuffle; the first come first where `most` does not allow for all.
        seed: Of sample and shuffles.
        most: Rows that are predicted in all.
    """
    random, most = np.random.default_rng(seed), min(most, MOST_VALUES // max(1, rows.shape[1]))
    size = min(SAMPLE, max(LEAST_SAMPLE, most // (1 + LEAST_REPEATS * max(1, len(columns)))), len(rows))
    copies = most // max(1, size) - 1
    measured = list(columns)[: max(0, copies // LEAST_REPEATS)]
    if not measured or size < 2:
        return ()
    repeats = min(REPEATS, copies // len(measured))
    some = _spread(truth, size, random)
    sample, known = rows.iloc[some], truth[some]
    orders = [(column, random.permutation(len(some))) for column in measured for _ in range(repeats)]
    answers = ask(_stacked(sample, orders))
    parts = np.arange(len(answers)).reshape(len(orders) + 1, len(some))
    whole, *shuffled = (score(measure.metric, known, answers.take(part), measure.positive) for part in parts)
    if not np.isfinite(whole):
        return ()
    sign = 1.0 if measure.metric.greater_is_better else -1.0
    drops = sign * (whole - np.array(shuffled).reshape(len(measured), repeats))
    means, deviations = drops.mean(axis=1).tolist(), drops.std(axis=1, ddof=1).tolist()
    found = zip(measured, means, deviations, strict=True)
    importances = [
        FeatureImportance(column=column, drop=drop, deviation=deviation) for column, drop, deviation in found
    ]
    return tuple(sorted(importances, key=lambda one: -one.drop))


def _spread(truth: NDArray[np.generic], size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """So many rows, in order, with their share of each class, or of each range of the target."""
    by_truth = np.lexsort((random.permutation(len(truth)), truth))
    return np.sort(by_truth[np.arange(size) * len(truth) // size])


def _stacked(sample: pd.DataFrame, orders: Sequence[tuple[str, NDArray[np.intp]]]) -> pd.DataFrame:
    """The sample, and below it a copy for each shuffle; dtypes stay as they are."""
    import pandas as pd

    count = len(sample)
    made = {}
    for name in sample.columns:
        places = np.tile(np.arange(count), (len(orders) + 1, 1))
        for number, (column, order) in enumerate(orders, start=1):
            if column == name:
                places[number] = order
        made[name] = sample[name].take(places.ravel()).reset_index(drop=True)
    return pd.DataFrame(made)
