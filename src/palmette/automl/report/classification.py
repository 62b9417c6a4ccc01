"""What is shown of a classification: confusions, classes one by one, curves, calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from palmette.automl.measure import Predictions
from palmette.automl.measure.metrics import Floats, in_order
from palmette.automl.report.plots import Axis, Figure, Plot, heat, level
from palmette.automl.wording import fixed, many, share, short

WRITTEN = 12
"""Classes up to which every cell of the confusion matrix is written out."""
COLOURED = 6
"""Classes up to which each curve has a colour of its own."""
SHADED = 120
"""Classes up to which the matrix is drawn at all."""
CURVES = 24
"""Classes that have curves, the most frequent ones."""
MEASURED = 300
"""Classes whose area is computed, the first ones."""
BINS = 10
WORST = 10
Z = 1.96


class OfClass(NamedTuple):
    """What the model does with a class."""

    name: str
    rows: int
    precision: float
    recall: float
    low: float
    """Of the 95 % interval of the recall, by Wilson."""
    high: float
    f1: float
    auc: float | None
    """Of the class against the rest; None where it cannot be told, or was not computed."""


class Confused(NamedTuple):
    """A pair of classes, and how often one was taken for the other."""

    truth: str
    said: str
    rows: int
    share: float
    """Of the rows of the true class."""


class Cell(NamedTuple):
    rows: int
    share: float
    level: int


class Classified(NamedTuple):
    """What is shown."""

    classes: tuple[OfClass, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """Truth by prediction; empty where there are too many classes to write out."""
    shading: Markup
    """In its place; empty where there are even too many to draw."""
    worst: tuple[Confused, ...]
    figures: tuple[Figure, ...]
    gap: float
    """By how much probabilities miss what comes true, on average; NaN without probabilities."""


def classified(truth: NDArray[np.generic], predictions: Predictions, positive: str | None) -> Classified:
    """Of rows with their true classes (n,)."""
    true, said = truth.astype(str), predictions.values.astype(str)
    names = predictions.classes or in_order(np.unique(np.concatenate([true, said])).tolist())
    table = _counts(true, said, names)
    curves = _Curves(true, predictions, names, positive)
    shares = table / np.maximum(1, table.sum(axis=1, keepdims=True))
    is_written = len(names) <= WRITTEN
    cells = tuple(
        tuple(Cell(int(n), float(part), level(float(part))) for n, part in zip(row, parts, strict=True))
        for row, parts in zip(table, shares, strict=True)
    )
    told = f"Confusion matrix of {len(names)} classes, true classes from top to bottom"
    return Classified(
        classes=tuple(_of_class(table, number, name, curves.areas.get(name)) for number, name in enumerate(names)),
        names=names,
        cells=cells if is_written else (),
        shading=heat(shares.tolist(), told) if len(names) <= SHADED and not is_written else Markup(""),
        worst=_worst(table, names),
        figures=tuple(curves.figures()),
        gap=curves.calibration().gap if curves.shown else float("nan"),
    )


def _counts(true: NDArray[np.str_], said: NDArray[np.str_], names: tuple[str, ...]) -> NDArray[np.int64]:
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(names), len(names)), dtype=np.int64)
    for one, other in zip(true, said, strict=True):
        if one in place and other in place:
            table[place[one], place[other]] += 1
    return table


def _of_class(table: NDArray[np.int64], number: int, name: str, auc: float | None) -> OfClass:
    hits, rows, called = int(table[number, number]), int(table[number].sum()), int(table[:, number].sum())
    low, high = wilson(hits, rows)
    nothing = float("nan")
    return OfClass(
        name=name,
        rows=rows,
        precision=hits / called if called else nothing,
        recall=hits / rows if rows else nothing,
        low=low,
        high=high,
        f1=2 * hits / (rows + called) if rows + called else nothing,
        auc=auc,
    )


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson; NaN without rows."""
    if not rows:
        return float("nan"), float("nan")
    part, square = hits / rows, Z**2
    middle = (part + square / (2 * rows)) / (1 + square / rows)
    half = Z / (1 + square / rows) * np.sqrt(part * (1 - part) / rows + square / (4 * rows**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _worst(table: NDArray[np.int64], names: tuple[str, ...]) -> tuple[Confused, ...]:
    """The commonest mistakes."""
    wrong = table - np.diag(np.diag(table))
    order = np.argsort(-wrong, axis=None, kind="stable")[:WORST]
    pairs = [divmod(int(place), len(names)) for place in order]
    return tuple(
        Confused(names[i], names[j], int(wrong[i, j]), float(wrong[i, j] / table[i].sum()))
        for i, j in pairs
        if wrong[i, j]
    )


class Calibration(NamedTuple):
    """What probabilities say and what came true, by group of rows."""

    means: Floats
    rates: Floats
    ends: Floats
    """(groups, 2): of the 95 % intervals of the rates."""
    gap: float


class _Curves:
    """ROC, precision and recall, calibration; nothing where there are no probabilities."""

    def __init__(
        self, true: NDArray[np.str_], predictions: Predictions, names: tuple[str, ...], positive: str | None
    ) -> None:
        self.true, self.names, self.said = true, names, predictions.values.astype(str)
        self.probabilities, self.classes = predictions.probabilities, predictions.classes
        self.positive = positive if positive in names else names[-1]
        asked = (self.positive,) if len(names) == 2 else names
        rows = {name: int((true == name).sum()) for name in asked}
        has_both = [name for name in asked if 0 < rows[name] < len(true)]
        kept = set(sorted(has_both, key=lambda name: -rows[name])[:CURVES])
        self.shown = [name for name in has_both if name in kept] if self.probabilities is not None else []
        self.areas = {name: self._area(name) for name in dict.fromkeys((*names[:MEASURED], *self.shown))}

    def of(self, name: str) -> Floats:
        """The probabilities of a class (n,)."""
        assert self.probabilities is not None
        column: Floats = self.probabilities[:, self.classes.index(name)]
        return column

    def _area(self, name: str) -> float | None:
        if self.probabilities is None or not 0 < (self.true == name).sum() < len(self.true):
            return None
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.true == name, self.of(name)))

    def figures(self) -> Iterator[Figure]:
        if self.probabilities is None or not self.shown:
            return
        yield self._roc()
        yield self._precision()
        yield self._calibration()
        yield self._certainty()

    def _kind(self, number: int) -> str:
        return f"c{number}" if len(self.shown) <= COLOURED else "faint"

    def _roc(self) -> Figure:
        from sklearn.metrics import roc_curve

        areas = [self.areas[name] or 0.0 for name in self.shown]
        plot = Plot(
            f"ROC curve: area {fixed(float(np.mean(areas)), 3)}" + (" on average" if len(areas) > 1 else ""),
            Axis("False positive rate", 0, 1),
            Axis("True positive rate", 0, 1),
        )
        plot.line(np.array([0.0, 1]), np.array([0.0, 1]), "guide")
        grid = np.linspace(0, 1, 101)
        rises = []
        for number, (name, area) in enumerate(zip(self.shown, areas, strict=True)):
            wrong, right, _ = roc_curve(self.true == name, self.of(name))
            plot.line(wrong, right, self._kind(number), f"{name}: AUC {fixed(area, 3)}")
            rises.append(np.interp(grid, wrong, right))
        if len(self.shown) > COLOURED:
            plot.line(grid, np.mean(rises, axis=0), "c0", "Mean of the classes")
        if len(self.shown) == 1:
            self._here(plot, is_roc=True)
            plot.text(0.97, 0.06, f"AUC {fixed(areas[0], 3)}", "strong", "end")
        which = "each class" if len(self.shown) < CURVES else f"each of the {CURVES} most frequent classes"
        which = short(self.shown[0], 24) if len(self.shown) == 1 else which
        caption = f"Ranking of {which} against the rest. The dashed line is what chance would give."
        return Figure("ROC curve", plot.svg(), caption + self._dot(), self._keys())

    def _dot(self) -> str:
        return " The dot is the decision that the delivered model takes." if len(self.shown) == 1 else ""

    def _keys(self) -> tuple[tuple[str, str], ...]:
        if len(self.shown) == 1:
            return ()
        if len(self.shown) > COLOURED:
            return (("c0", "mean of the classes"), ("faint", "single classes"))
        return tuple((f"c{number}", name) for number, name in enumerate(self.shown))

    def _here(self, plot: Plot, is_roc: bool) -> None:
        """A dot at the decision for the positive class."""
        is_true, is_said = self.true == self.positive, self.said == self.positive
        recall = (is_said & is_true).sum() / is_true.sum()
        other = (is_said & ~is_true).sum() / (~is_true).sum() if is_roc else recall
        if is_roc:
            plot.dots(np.array([other]), np.array([recall]), "c1", "point")
        elif is_said.any():
            plot.dots(np.array([recall]), np.array([(is_said & is_true).sum() / is_said.sum()]), "c1", "point")

    def _precision(self) -> Figure:
        from sklearn.metrics import average_precision_score, precision_recall_curve

        areas = [float(average_precision_score(self.true == name, self.of(name))) for name in self.shown]
        mean = fixed(float(np.mean(areas)), 3)
        plot = Plot(f"Precision by recall: average precision {mean}", Axis("Recall", 0, 1), Axis("Precision", 0, 1))
        grid = np.linspace(0, 1, 101)
        falls = []
        for number, (name, area) in enumerate(zip(self.shown, areas, strict=True)):
            precision, recall, _ = precision_recall_curve(self.true == name, self.of(name))
            some, told = recall > 0, f"{name}: average precision {fixed(area, 3)}"
            plot.line(recall[some], precision[some], self._kind(number), told)
            falls.append(np.interp(grid, recall[::-1], precision[::-1]))
        if len(self.shown) > COLOURED:
            plot.line(grid, np.mean(falls, axis=0), "c0", "Mean of the classes")
        caption = "How many of the rows called a class are of it, against how many of it are found."
        if len(self.shown) == 1:
            base = float((self.true == self.shown[0]).mean())
            plot.line(np.array([0.0, 1]), np.array([base, base]), "guide")
            self._here(plot, is_roc=False)
            plot.text(0.03, 0.06, f"Average precision {fixed(areas[0], 3)}", "strong")
            caption += f" The dashed line is the class's share, {share(base)}."
        return Figure("Precision and recall", plot.svg(), caption, self._keys())

    def calibration(self) -> Calibration:
        """Of two classes by the positive one; of more by the most probable class."""
        assert self.probabilities is not None
        if len(self.names) == 2:
            given, came = self.of(self.positive), self.true == self.positive
        else:
            given = self.probabilities.max(axis=1)
            came = self.true == np.array(self.classes)[self.probabilities.argmax(axis=1)]
        order = np.argsort(given, kind="stable")
        parts = [part for part in np.array_split(order, min(BINS, max(1, len(order) // 10))) if len(part)]
        means = np.array([given[part].mean() for part in parts])
        rates = np.array([came[part].mean() for part in parts])
        ends = np.array([wilson(int(came[part].sum()), len(part)) for part in parts])
        gap = sum(len(part) * abs(m - r) for part, m, r in zip(parts, means, rates, strict=True)) / len(order)
        return Calibration(means, rates, ends, float(gap))

    def _calibration(self) -> Figure:
        found, two = self.calibration(), len(self.names) == 2
        plot = Plot(
            f"Calibration: mean gap {share(found.gap)}",
            Axis(f"Probability of {short(self.positive, 24) if two else 'the likeliest class'}", 0, 1, is_share=True),
            Axis("Share that came true", 0, 1, is_share=True),
        )
        plot.line(np.array([0.0, 1]), np.array([0.0, 1]), "guide")
        plot.whiskers(found.means, found.ends[:, 0], found.ends[:, 1])
        plot.line(found.means, found.rates)
        plot.dots(found.means, found.rates, "c0", "point")
        caption = (
            f"In {many(len(found.means), 'group')} of equally many rows. On the dashed line probabilities mean what "
            f"they say; the gap is {share(found.gap)} on average. Vertical lines are 95 % intervals."
        )
        return Figure("Calibration", plot.svg(), caption)

    def _certainty(self) -> Figure:
        """How sure the model is, where it is right and where it is wrong."""
        assert self.probabilities is not None
        sure, right = self.probabilities.max(axis=1), self.said == self.true
        edges = np.linspace(1 / len(self.names), 1, 2 * BINS + 1)
        good = np.histogram(sure[right], edges)[0].astype(float)
        every = np.histogram(sure, edges)[0].astype(float)
        plot = Plot(
            "Rows by how sure the model is, right and wrong ones",
            Axis("Probability of the likeliest class", float(edges[0]), 1, is_share=True),
            Axis("Rows", 0, max(1.0, 1.05 * float(every.max())), is_whole=True),
        )
        plot.bars(edges, good)
        plot.bars(edges, every, "c1", good)
        halves = np.array_split(np.argsort(-sure, kind="stable"), 2)
        surer, other = (share(float(right[half].mean())) if len(half) else "–" for half in halves)
        caption = f"Of the surer half of the rows {surer} are right, of the other half {other}."
        return Figure("Certainty", plot.svg(), caption, (("c0", "right"), ("c1", "wrong")))
