"""Results of a classification: confusion of classes, each class by itself, curves, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.formatting import fixed, many, share, short
from palmette.automl.measure import Predictions
from palmette.automl.measure.confusion import counts
from palmette.automl.measure.metrics import Floats, classes_of
from palmette.automl.report.plots import Axis, Figure, Plot

CURVES = 6
"""Classes that have curves, the most frequent ones."""
BINS = 10
WORST = 5
Z = 1.96
Labels = NDArray[np.str_]
UNIT = np.array([0.0, 1.0])


class ClassResult(NamedTuple):
    """How well a class is recognised."""

    name: str
    rows: int
    precision: float
    recall: float
    low: float
    """Of the 95 % Wilson interval of the recall."""
    high: float
    f1: float
    auc: float | None
    """Of the class against the rest; None where it is undefined."""


class Confusion(NamedTuple):
    """A pair of classes, and how often one was predicted for the other."""

    truth: str
    predicted: str
    rows: int
    share: float
    """Of the rows of the true class."""


class Calibration(NamedTuple):
    """Probabilities beside the shares that came true, by group of rows."""

    of: str
    means: Floats
    rates: Floats
    ends: Floats
    """(groups, 2): of the 95 % intervals of the rates."""
    gap: float
    """Mean distance of means and rates."""


class ClassificationResults(NamedTuple):
    classes: tuple[ClassResult, ...]
    counts: list[list[int]]
    """Truth by prediction, in the order of the classes."""
    worst: tuple[Confusion, ...]
    """The most frequent mistakes."""
    figures: tuple[Figure, ...]
    gap: float
    """Of the calibration; NaN without probabilities."""


def classification_results(
    truth: NDArray[np.generic], predictions: Predictions, positive: str | None
) -> ClassificationResults:
    """Of rows with their true classes (n,)."""
    true, predicted = truth.astype(str), predictions.values.astype(str)
    names = classes_of(true, predictions)
    number = {name: place for place, name in enumerate(names)}
    places = [np.array([number[name] for name in side]) for side in (true, predicted)]
    table = counts(places[0], places[1], len(names)).astype(int)
    ranked = _ranked(true, predictions, table, names)
    figures: tuple[Figure, ...] = ()
    gap = float("nan")
    if ranked and predictions.probabilities is not None:
        one = positive if positive in ranked else list(ranked)[-1]
        most = sorted(ranked, key=lambda name: -int((true == name).sum()))[:CURVES]
        shown = {name: ranked[name] for name in ([one] if len(names) == 2 else most)}
        found = _calibration(true, predictions, one if len(names) == 2 else None)
        figures, gap = (*_curves(true, predicted, shown), _drawn(found)), found.gap
    classes = tuple(_class_result(table, place, true, ranked) for place in enumerate(names))
    return ClassificationResults(classes, table.tolist(), tuple(_worst(table, names)), figures, gap)


def _ranked(true: Labels, made: Predictions, table: NDArray[np.int64], names: Sequence[str]) -> dict[str, Floats]:
    """The probabilities of each class that some rows are of and some are not."""
    if made.probabilities is None:
        return {}
    rows = dict(zip(names, table.sum(axis=1), strict=True))
    columns = zip(made.classes, made.probabilities.T, strict=True)
    return {name: column for name, column in columns if 0 < rows[name] < len(true)}


def _class_result(
    table: NDArray[np.int64], place: tuple[int, str], true: Labels, ranked: Mapping[str, Floats]
) -> ClassResult:
    from sklearn.metrics import roc_auc_score

    number, name = place
    hits, rows, predicted = int(table[number, number]), int(table[number].sum()), int(table[:, number].sum())
    pairs = ((hits, predicted), (hits, rows), (2 * hits, rows + predicted))
    precision, recall, f1 = (part / whole if whole else float("nan") for part, whole in pairs)
    auc = float(roc_auc_score(true == name, ranked[name])) if name in ranked else None
    return ClassResult(name, rows, precision, recall, *wilson(hits, rows), f1, auc)


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson; NaN without rows."""
    if not rows:
        return float("nan"), float("nan")
    part, square = hits / rows, Z**2
    middle = (part + square / (2 * rows)) / (1 + square / rows)
    half = Z / (1 + square / rows) * np.sqrt(part * (1 - part) / rows + square / (4 * rows**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _worst(table: NDArray[np.int64], names: tuple[str, ...]) -> Iterator[Confusion]:
    wrong = table - np.diag(np.diag(table))
    for place in np.argsort(-wrong, axis=None, kind="stable")[:WORST]:
        i, j = divmod(int(place), len(names))
        if wrong[i, j]:
            yield Confusion(names[i], names[j], int(wrong[i, j]), float(wrong[i, j] / table[i].sum()))


def _curves(true: Labels, predicted: Labels, shown: Mapping[str, Floats]) -> Iterator[Figure]:
    """ROC, and precision by recall; of a single class with the decision of the model."""
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    names, alone = list(shown), len(shown) == 1
    keys = () if alone else tuple((f"c{place}", name) for place, name in enumerate(names))
    dot = " The dot marks the decision of the delivered model." if alone else ""
    is_true, is_said = true == names[0], predicted == names[0]
    hits, wrong = float((is_true & is_said).sum()), float((is_said & ~is_true).sum())
    recall, precision = hits / is_true.sum(), hits / max(1, is_said.sum())
    roc = Plot("ROC curve", Axis("False positive rate", 0, 1), Axis("True positive rate", 0, 1))
    found = Plot("Precision by recall", Axis("Recall", 0, 1), Axis("Precision", 0, 1))
    roc.line(UNIT, UNIT, "guide")
    for place, (name, column) in enumerate(shown.items()):
        wrongs, rights, _ = roc_curve(true == name, column)
        roc.line(wrongs, rights, f"c{place}", name)
        precisions, recalls, _ = precision_recall_curve(true == name, column)
        found.line(recalls[recalls > 0], precisions[recalls > 0], f"c{place}", name)
    if alone:
        roc.dots(np.array([wrong / (~is_true).sum()]), np.array([recall]), "c1", "point")
        found.dots(np.array([recall]), np.array([precision]), "c1", "point")
    area, average = (
        fixed(float(np.mean([measure(true == name, column) for name, column in shown.items()])), 3)
        for measure in (roc_auc_score, average_precision_score)
    )
    which = short(names[0], 24) if alone else f"each of {many(len(names), 'class', 'classes')}"
    caption = f"Ranking of {which} against the rest. The dashed line is chance. Area {area}.{dot}"
    yield Figure("ROC curve", roc.svg(), caption, keys)
    chance = f"; chance is {share(float(is_true.mean()))}, the class's share" if alone else ""
    yield Figure("Precision and recall", found.svg(), f"Average precision {average}{chance}.{dot}", keys)


def _calibration(true: Labels, made: Predictions, positive: str | None) -> Calibration:
    """Of the positive class; of the most probable class where there is none."""
    assert made.probabilities is not None
    if positive is not None:
        given, came = made.probabilities[:, made.classes.index(positive)], true == positive
    else:
        given = made.probabilities.max(axis=1)
        came = true == np.array(made.classes)[made.probabilities.argmax(axis=1)]
    order = np.argsort(given, kind="stable")
    parts = [part for part in np.array_split(order, min(BINS, max(1, len(order) // 10))) if len(part)]
    means = np.array([given[part].mean() for part in parts])
    rates = np.array([came[part].mean() for part in parts])
    ends = np.array([wilson(int(came[part].sum()), len(part)) for part in parts])
    gap = sum(len(part) * abs(m - r) for part, m, r in zip(parts, means, rates, strict=True)) / len(order)
    return Calibration(short(positive or "the likeliest class", 24), means, rates, ends, float(gap))


def _drawn(found: Calibration) -> Figure:
    x = Axis(f"Probability of {found.of}", 0, 1, is_share=True)
    plot = Plot("Calibration", x, Axis("Share that came true", 0, 1, is_share=True))
    plot.line(UNIT, UNIT, "guide")
    plot.whiskers(found.means, found.ends[:, 0], found.ends[:, 1])
    plot.line(found.means, found.rates)
    plot.dots(found.means, found.rates, "c0", "point")
    caption = (
        f"{many(len(found.means), 'group')} of equally many rows. On the dashed line probabilities come true; "
        f"the mean gap is {share(found.gap)}. Vertical lines are 95 % intervals."
    )
    return Figure("Calibration", plot.svg(), caption)
