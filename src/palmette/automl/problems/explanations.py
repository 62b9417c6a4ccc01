"""What a model looks at: permutation importance of columns, and occlusion of parts of files.

A column that another one can replace looks less important than it is.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Occlusion
from palmette.automl.kinds import FileKind
from palmette.automl.measure.metrics import Metric, Predictions, score

SAMPLE, LEAST_SAMPLE = 300, 100  # rows to shuffle if there are enough, and their minimum before columns are left out
REPEATS = 5
LEAST_REPEATS = 2
MOST = 10_000  # most rows to predict in total
MOST_VALUES = 5_000_000  # most values in these rows; tables with many columns use fewer rows


Ask = Callable[[pd.DataFrame], Predictions]
"""Asks a model for the predictions of rows."""


def importance(
    ask: Ask,
    rows: pd.DataFrame,
    truth: NDArray[np.generic],
    metric: Metric,
    columns: Sequence[str],
    *,
    positive: str | None = None,
    seed: int = 0,
) -> tuple[FeatureImportance, ...]:
    """Returns how much the metric worsens when one column at a time is shuffled, the largest loss first.

    Returns nothing if the metric is undefined on the rows of the hold-out, whose target is `truth` (n,). The model,
    `ask`, is called once, for at most `MOST` rows in total; if these are too few for all columns, for the first ones.
    """
    random, most = np.random.default_rng(seed), min(MOST, MOST_VALUES // max(1, rows.shape[1]))
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
    whole, *shuffled = (score(metric, known, answers.take(part), positive) for part in parts)
    if not np.isfinite(whole):
        return ()
    sign = 1.0 if metric.greater_is_better else -1.0
    drops = sign * (whole - np.array(shuffled).reshape(len(measured), repeats))
    means, deviations = drops.mean(axis=1).tolist(), drops.std(axis=1, ddof=1).tolist()
    found = sorted(zip(measured, means, deviations, strict=True), key=lambda one: -one[1])
    return tuple(FeatureImportance(column=name, drop=drop, deviation=spread) for name, drop, spread in found)


def _spread(truth: NDArray[np.generic], size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Samples `size` positions, sorted, with every class or range of the target represented by its share."""
    by_truth = np.lexsort((random.permutation(len(truth)), truth))
    return np.sort(by_truth[np.arange(size) * len(truth) // size])


def _stacked(sample: pd.DataFrame, orders: Sequence[tuple[str, NDArray[np.intp]]]) -> pd.DataFrame:
    """Stacks the sample and a copy for each shuffle; dtypes are kept."""
    unchanged, made = np.arange(len(sample)), {}
    for name in sample.columns:
        places = [unchanged, *(order if column == name else unchanged for column, order in orders)]
        made[name] = sample[name].take(np.concatenate(places)).reset_index(drop=True)
    return pd.DataFrame(made)


FILES = 6  # number of files that are covered part by part


def telling_rows(
    truth: NDArray[np.generic], made: Predictions, usable: Sequence[int], each: int
) -> tuple[list[int], list[int]]:
    """Returns positions of wrong predictions and of right ones, the most certain first; for numbers, of errors above
    and below the median, the largest first.
    """
    if made.probabilities is None:
        errors = np.abs(truth.astype(float) - made.values.astype(float))
        wrong, order = errors > np.median(errors), np.argsort(-errors, kind="stable")
    else:
        wrong = truth.astype(str) != made.values.astype(str)
        order = np.argsort(-made.probabilities.max(axis=1), kind="stable")
    known = {*usable}
    places = [int(place) for place in order if place in known]
    return [one for one in places if wrong[one]][:each], [one for one in places if not wrong[one]][:each]


def occlusions(
    ask: Ask, rows: pd.DataFrame, column: str, kind: FileKind, places: Sequence[int]
) -> tuple[Occlusion, ...]:
    """Returns, for each row in `places`, how much each part of its file adds to the prediction.

    The model, `ask`, is called once; `rows` are its inputs, with the bytes of the files in `column`.
    """
    versions = [[rows[column].iloc[place], *kind.covered(rows[column].iloc[place])] for place in places]
    counts = [len(one) for one in versions]
    if max(counts, default=1) < 2:
        return ()
    stacked = rows.iloc[np.repeat(places, counts)].reset_index(drop=True)
    cells = pd.Series([cell for one in versions for cell in one], stacked.index, object)
    answers, ends, found = ask(stacked.assign(**{column: cells})), np.cumsum(counts), []
    for place, start, end in zip(places, ends - counts, ends, strict=True):
        if answers.probabilities is None:
            values = answers.values[start:end].astype(float)
            changes = np.abs(values[1:] - values[0])
        else:
            likely = answers.probabilities[start].argmax()
            changes = answers.probabilities[start, likely] - answers.probabilities[start + 1 : end, likely]
        found.append(Occlusion(row=place, changes=tuple(changes.tolist())))
    return tuple(found)
