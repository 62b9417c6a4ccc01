"""How good outputs are for the metric of the run: the one measure by which candidates and ensembles are compared.

Of probabilities, the class with the largest weighted one is predicted; for two classes that is a threshold. The weight
of one class is found exactly on a grid: as it grows, rows move to that class one by one, so one count of where each
moves gives the metric for all weights. The weights are an average over resamples of the rows: one sample's best
threshold is mostly noise.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.intervals import QUICK, ScoreInterval, Units, difference, interval
from palmette.automl.measure.metrics import FORMULAS, MOVED, RANKINGS, Floats, Metric, Predictions, counts, score

GRID: Floats = np.linspace(-6.0, 6.0, 241)  # logarithms of weights
COST = 0.002  # cost in the unit of the metric for each unit of a weight's logarithm: no weight without a gain
RESAMPLES = 24
MOST_CLASSES = 60  # classes above which every weight stays 1: the counts of all pairs take too much memory
MOST_CELLS = 40_000  # rows times classes that weights are searched on; they are scored on all rows
PASSES = 2
STACK_FOLDS = 5
Scale = Literal["none", "log", "log1p"]
LEARN = {"none": np.positive, "log": np.log, "log1p": np.log1p}
"""Functions from the unit of a target to the scale that is learnt."""
RESTORE = {"none": np.positive, "log": np.exp, "log1p": np.expm1}


class Scorer(ABC):
    """Compares the outputs of candidates on the training rows."""

    metric: Metric
    blends = True
    """Whether a mean of outputs is an output, so that several candidates can be delivered together."""
    measured = "out of fold"  # the origin of scores, in words

    @abstractmethod
    def utility(self, outputs: Floats) -> float:
        """Orders candidates; greater is better."""

    @abstractmethod
    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        """The predictions that follow from outputs."""

    @abstractmethod
    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        """The value of the metric."""

    @abstractmethod
    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> ScoreInterval:
        """The 95 % interval of the score."""

    @abstractmethod
    def gain(self, outputs: Floats, other: Floats) -> ScoreInterval:
        """How much better the first outputs are than the others, each at its own decision; positive is better."""

    def part(self, rows: NDArray[np.bool_]) -> "Scorer | None":
        """The scorer of some rows; None where parts are not scored."""
        return None

    def class_weights(self, outputs: Floats) -> tuple[float, ...] | None:
        """The decision that suits these outputs; None where there is none to take."""
        return None

    def shares(self, outputs: Sequence[Floats]) -> list[float] | None:
        """Weights of outputs together; None where the search finds them."""
        return None

    def blended(self, outputs: Sequence[Floats], weights: Sequence[float]) -> Floats:
        """The weighted mean of several outputs; called where these blend."""
        return np.asarray(np.average(outputs, axis=0, weights=weights))

    def stacked(self, outputs: Sequence[Floats]) -> Floats:
        """Out-of-fold outputs of a linear model of several outputs; called where these blend."""
        raise NotImplementedError


class DecisionSearch:
    """Searches class weights for one metric, on one truth."""

    def __init__(self, metric: str, truth: NDArray[np.intp], classes: int, positive: int) -> None:
        """`truth` is (n,), class numbers."""
        self.metric, self.truth, self.classes, self.positive = metric, truth, classes, positive
        self._formula = FORMULAS[metric]

    def score(self, outputs: Floats, weights: Floats | None = None) -> float:
        """The metric of probabilities (n, k), decided with weights (k,)."""
        predicted = (outputs if weights is None else outputs * weights).argmax(axis=1)
        return float(self._formula(counts(self.truth, predicted, self.classes), self.positive))

    def best(self, outputs: Floats, passes: int = 1) -> Floats:
        """The logarithms of the best weights (k,), for these very rows or, of many, for evenly spaced ones."""
        found = np.zeros(self.classes)
        if self.classes > MOST_CLASSES:
            return found
        step = -(-outputs.size // MOST_CELLS)
        with np.errstate(divide="ignore"):
            logs = np.log(outputs[::step])
        moved = [self.positive] if self.classes == 2 else range(self.classes)
        for _ in range(passes if self.classes > 2 else 1):
            for number in moved:
                found[number] = self._of_one(logs + found, self.truth[::step], number, found[number])
        return found

    def weights(self, outputs: Floats) -> tuple[float, ...] | None:
        """Weights (k,) to keep, largest 1; None where they gain nothing over the most probable class."""
        random = np.random.default_rng(0)
        found = []
        for _ in range(RESAMPLES):
            rows = random.integers(0, len(outputs), len(outputs))
            drawn = DecisionSearch(self.metric, self.truth[rows], self.classes, self.positive)
            found.append(drawn.best(outputs[rows], PASSES))
        weights = np.exp(np.mean(found, axis=0))
        if self.score(outputs, weights) <= self.score(outputs):
            return None
        return tuple(float(one) for one in weights / weights.max())

    def _of_one(self, logs: Floats, truth: NDArray[np.intp], number: int, now: float) -> float:
        """The best logarithm of the weight of one class, which is `now` in `logs` (n, k), as the others are theirs."""
        own = logs[:, number] - now
        others = logs.copy()
        others[:, number] = -np.inf
        rival = others.argmax(axis=1)
        lead = others[np.arange(len(others)), rival] - own
        lead = np.where(np.isnan(lead), np.inf, lead)
        # A row is predicted as this class from the first weight on that is above the lead of its rival.
        place = np.searchsorted(GRID, lead, side="right")
        cells = (place * self.classes + truth) * self.classes + rival
        size = (len(GRID) + 1) * self.classes**2
        gone = np.bincount(cells, minlength=size).reshape(-1, self.classes, self.classes).cumsum(axis=0).astype(float)
        table = gone[-1] - gone[:-1]
        table[:, :, number] += gone[:-1].sum(axis=2)
        worth = self._formula(table, self.positive) - COST * np.abs(GRID)
        return float(GRID[int(worth.argmax())])


class SupervisedScorer(Scorer):
    """Scores probabilities (n, k), or values (n,) in the unit of the target, of the training rows."""

    def __init__(
        self,
        metric: Metric,
        truth: NDArray[np.generic],
        *,
        classes: tuple[str, ...] = (),
        positive: str | None = None,
        units: Units | None = None,
        scale: Scale = "none",
    ) -> None:
        """`truth` is (n,): class names or numbers; `units` (n,) are equal for rows that intervals draw together.

        Numbers are blended on the `scale`.
        """
        self.scale: Scale = scale
        self.metric, self.truth, self.classes, self.positive, self.units = metric, truth, classes, positive, units
        self._decision: DecisionSearch | None = None
        self._weights: dict[int, tuple[Floats, tuple[float, ...] | None]] = {}
        # A ranking is the same with any decision: macro F1 also finds the rarer class.
        decided = "f1_macro" if metric.name in RANKINGS else metric.name
        if classes and decided in FORMULAS:
            place = {name: number for number, name in enumerate(classes)}
            numbers = np.array([place[str(one)] for one in truth], dtype=np.intp)
            self._decision = DecisionSearch(decided, numbers, len(classes), place[positive or classes[-1]])

    def part(self, rows: NDArray[np.bool_]) -> Scorer | None:
        units = None if self.units is None else self.units[rows]
        options: dict[str, Any] = {"classes": self.classes, "positive": self.positive, "scale": self.scale}
        return SupervisedScorer(self.metric, self.truth[rows], units=units, **options)

    def utility(self, outputs: Floats) -> float:
        if self._decision is None or self.metric.name in RANKINGS:
            value = self.score(outputs)
            return value if self.metric.greater_is_better else -value
        if self.metric.name not in MOVED:
            return self._decision.score(outputs)
        return self._decision.score(outputs, np.exp(self._decision.best(outputs)))

    def class_weights(self, outputs: Floats) -> tuple[float, ...] | None:
        if self._decision is None or self._decision.metric not in MOVED:
            return None
        if id(outputs) not in self._weights:  # kept with the outputs, so that their number stays theirs
            self._weights[id(outputs)] = (outputs, self._decision.weights(outputs))
        return self._weights[id(outputs)][1]

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        if not self.classes:
            return Predictions(outputs)
        weighted = outputs if class_weights is None else outputs * np.array(class_weights)
        return Predictions(np.array(self.classes)[weighted.argmax(axis=1)], outputs, self.classes)

    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        return score(self.metric, self.truth, self.predictions(outputs, class_weights), self.positive)

    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> ScoreInterval:
        made = self.predictions(outputs, class_weights)
        return interval(self.metric, self.truth, made, self.positive, units=self.units, rounds=QUICK)

    def gain(self, outputs: Floats, other: Floats) -> ScoreInterval:
        first, second = (self.predictions(one, self.class_weights(one)) for one in (outputs, other))
        return difference(self.metric, self.truth, first, second, self.positive, units=self.units, is_selection=True)

    def blended(self, outputs: Sequence[Floats], weights: Sequence[float]) -> Floats:
        return np.asarray(RESTORE[self.scale](super().blended([LEARN[self.scale](one) for one in outputs], weights)))

    def stacked(self, outputs: Sequence[Floats]) -> Floats:
        """Stacks by `LogisticRegression`, or `LinearRegression` without negative weights, as it is delivered."""
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.model_selection import KFold, cross_val_predict

        parts = [one[:, 1:] if len(self.classes) == 2 else LEARN[self.scale](one) for one in outputs]
        rows, folds = np.column_stack(parts), KFold(STACK_FOLDS, shuffle=True, random_state=0)
        if not self.classes:
            truth = LEARN[self.scale](self.truth.astype(float))
            made = cross_val_predict(LinearRegression(positive=True), rows, truth, cv=folds)
            return np.asarray(RESTORE[self.scale](made))
        truth = np.array([self.classes.index(str(one)) for one in self.truth])
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # a fold may lack a rare class
            return np.asarray(cross_val_predict(LogisticRegression(), rows, truth, cv=folds, method="predict_proba"))
