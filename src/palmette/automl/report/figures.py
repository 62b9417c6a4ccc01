"""Results of classifications and regressions, with their figures."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.candidates import Blueprint
from palmette.automl.formatting import fixed, many, share, short
from palmette.automl.measure.metrics import Floats, Predictions, classes_of
from palmette.automl.plots import Axis, Figure, Plot, around
from palmette.automl.problems.problem import ReportData

CURVES = 6  # number of classes with curves, the most frequent ones
BINS = 10
WORST = 5
Labels = NDArray[np.str_]
UNIT = np.array([0.0, 1.0])
SHOWN = 1500  # most rows that are drawn
PARTS = 5
LOGARITHMIC = frozenset({"rmsle", "rmse_log"})


class ClassResult(NamedTuple):
    name: str
    rows: int
    precision: float
    recall: float
    low: float  # lower end of the 95 % Wilson interval of the recall
    high: float
    f1: float
    auc: float | None  # one class against the rest; None if undefined


class Confusion(NamedTuple):
    """How often one class was predicted for another."""

    truth: str
    predicted: str
    rows: int
    share: float  # share of the rows of the true class


class ClassificationResults(NamedTuple):
    classes: tuple[ClassResult, ...]
    counts: list[list[int]]  # the confusion matrix: rows are true classes, columns predicted ones
    worst: tuple[Confusion, ...]  # the most frequent mistakes
    figures: tuple[Figure, ...]
    gap: float  # mean calibration error; NaN without probabilities


def classification_results(
    truth: NDArray[np.generic], predictions: Predictions, positive: str | None
) -> ClassificationResults:
    """Compares predictions with true classes (n,)."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score

    true, predicted = truth.astype(str), predictions.values.astype(str)
    names = classes_of(true, predictions)
    table = confusion_matrix(true, predicted, labels=names).astype(int)
    facts = precision_recall_fscore_support(true, predicted, labels=names, zero_division=np.nan)
    ranked: dict[str, Floats] = {}  # probabilities of each class that some rows have and some lack
    if predictions.probabilities is not None:
        columns = zip(predictions.classes, predictions.probabilities.T, strict=True)
        ranked = {name: column for name, column in columns if 0 < (true == name).sum() < len(true)}
    classes = tuple(
        ClassResult(
            name, int(rows), precision, recall, *wilson(int(hits), int(rows)), f1,
            float(roc_auc_score(true == name, ranked[name])) if name in ranked else None,
        )
        for name, precision, recall, f1, rows, hits in zip(names, *facts, np.diag(table), strict=True)
    )  # fmt: skip
    figures: tuple[Figure, ...] = ()
    gap = float("nan")
    if ranked:
        one = positive if positive in ranked else list(ranked)[-1]
        most = sorted(ranked, key=lambda name: -int((true == name).sum()))[:CURVES]
        shown = {name: ranked[name] for name in ([one] if len(names) == 2 else most)}
        calibration, gap = _calibration(true, predictions, one if len(names) == 2 else None)
        figures = (*_curves(true, predicted, shown), calibration)
    return ClassificationResults(classes, table.tolist(), tuple(_worst(table, names)), figures, gap)


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share; NaN without rows."""
    from scipy.stats import binomtest

    if not rows:
        return float("nan"), float("nan")
    found = binomtest(hits, rows).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def _worst(table: NDArray[np.int64], names: tuple[str, ...]) -> Iterator[Confusion]:
    wrong = table - np.diag(np.diag(table))
    for place in np.argsort(-wrong, axis=None, kind="stable")[:WORST]:
        i, j = divmod(int(place), len(names))
        if wrong[i, j]:
            yield Confusion(names[i], names[j], int(wrong[i, j]), float(wrong[i, j] / table[i].sum()))


def _curves(true: Labels, predicted: Labels, shown: Mapping[str, Floats]) -> Iterator[Figure]:
    """ROC and precision-recall curves; for a single class also the decision of the model."""
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
    caption = f"Ranking of {which} against the rest. The dashed line is chance. Area under the curve {area}.{dot}"
    yield Figure("ROC curve", roc.svg(), caption, keys)
    chance = f"; chance is {share(float(is_true.mean()))}, the class's share" if alone else ""
    yield Figure("Precision and recall", found.svg(), f"Average precision {average}{chance}.{dot}", keys)


def _calibration(true: Labels, made: Predictions, positive: str | None) -> tuple[Figure, float]:
    """The calibration plot and the mean calibration error, of the positive class or else the most probable one.

    The error is NaN where all rows have the same answer.
    """
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
    gap = float(np.average(np.abs(means - rates), weights=[len(part) for part in parts]))
    of = short(positive or "the likeliest class", 24)
    x = Axis(f"Probability of {of}", 0, 1, is_share=True)
    plot = Plot("Calibration", x, Axis("Observed share", 0, 1, is_share=True))
    plot.line(UNIT, UNIT, "guide")
    plot.whiskers(means, ends[:, 0], ends[:, 1])
    plot.line(means, rates)
    plot.dots(means, rates, "c0", "point")
    caption = (
        f"{many(len(means), 'group')} of equally many rows. The dashed line is perfect calibration; "
        f"the mean gap is {share(gap)}. Vertical lines are 95 % intervals."
    )
    is_constant = (made.probabilities == made.probabilities[0]).all()
    return Figure("Calibration", plot.svg(), caption), float("nan") if is_constant else gap


class ErrorRange(NamedTuple):
    """Errors in one fifth of the rows, by rank of the true value."""

    low: float
    high: float
    rows: int
    error: float  # mean absolute error
    bias: float  # mean of predicted minus true


class RegressionResults(NamedTuple):
    half: float  # median absolute error
    most: float  # 90 % quantile of the absolute error
    bias: float
    parts: tuple[ErrorRange, ...]
    figures: tuple[Figure, ...]


def regression_results(truth: Floats, predicted: Floats, target: str, is_log: bool) -> RegressionResults | None:
    """Compares true and predicted values (n,); None without any. `is_log`: plots show logarithms."""
    known = np.isfinite(truth) & np.isfinite(predicted)
    truth, predicted = truth[known], predicted[known]
    if not truth.size:
        return None
    error = predicted - truth
    half, most = (float(one) for one in np.quantile(np.abs(error), [0.5, 0.9]))
    places, shown, said = target, truth, predicted
    if is_log and min(truth.min(), predicted.min()) > 0:
        places, shown, said = f"log10 of {target}", np.log10(truth), np.log10(predicted)
    some = np.sort(np.random.default_rng(0).permutation(len(truth))[:SHOWN])
    low, high = around([*shown.tolist(), *said.tolist()])
    x, y = Axis(f"True {places}", low, high), Axis(f"Predicted {places}", low, high)
    against = Plot(f"Predicted against true values of {target}", x, y)
    against.dots(shown[some], said[some])
    against.line(np.array([low, high]), np.array([low, high]), "guide")
    x = Axis(f"Predicted {places}", *around(said.tolist()))
    residuals = Plot(f"Residuals of {target}", x, Axis("Predicted minus true", *around((said - shown).tolist())))
    residuals.dots(said[some], (said - shown)[some])
    residuals.line(np.array([x.low, x.high]), np.zeros(2), "guide")
    caption = "Above the dashed line the prediction is too high. A trend or a funnel shows where to trust it less."
    figures = (
        Figure("Predicted and true", against.svg(), "Each dot is a row. The dashed line marks exact predictions."),
        Figure("Residuals", residuals.svg(), caption),
    )
    parts = []
    for rows in np.array_split(np.argsort(truth, kind="stable"), min(PARTS, len(truth))):
        low, high = float(truth[rows[0]]), float(truth[rows[-1]])
        parts.append(ErrorRange(low, high, len(rows), float(np.abs(error[rows]).mean()), float(error[rows].mean())))
    return RegressionResults(half, most, float(error.mean()), tuple(parts), figures)


def results_of(data: ReportData, blueprint: Blueprint) -> tuple[ClassificationResults | None, RegressionResults | None]:
    """The results of classes or of numbers; both None without predictions."""
    if data.truth is None or data.predictions is None or not len(data.truth):
        return None, None
    if blueprint.classes:
        return classification_results(data.truth, data.predictions, blueprint.positive), None
    truth, predicted = data.truth.astype(np.float64), data.predictions.values.astype(np.float64)
    return None, regression_results(truth, predicted, blueprint.target, blueprint.metric in LOGARITHMIC)
