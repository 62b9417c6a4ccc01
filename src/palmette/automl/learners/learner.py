"""What a learner is: a model family with the scikit-learn interface, its starting points and its search space.

A learner is a plug-in (entry points `palmette.learners`): a subclass of `Learner` that states what differs. Its
estimator is a `Call`; a class of its own stands in a module of this package that imports nothing of palmette but other
such modules, and is copied into the delivered package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from palmette.automl.calls import Call
from palmette.automl.candidates import Setting, Strategy
from palmette.automl.encoders.encoder import DataFacts, Layout
from palmette.automl.kinds import Kind, Track
from palmette.automl.learners.ranges import Range

if TYPE_CHECKING:
    import optuna

Settings = Mapping[str, Setting]
SUPERVISED = frozenset({"classification", "regression"})
ABSOLUTE = frozenset({"mae", "medae", "mape", "smape"})
"""Metrics of absolute errors: learners minimise the absolute error where they can."""
LABELS = "palmette.automl.learners.labels.LabelEncodedClassifier"
"""Around a classifier that takes class numbers only."""
TYPICAL = DataFacts(rows=5_000, columns=15, problem="", outputs=1, classes=0, metric="", folds=5)


class DefaultConfig(NamedTuple):
    """A starting point of a learner's portfolio."""

    name: str
    """Begins with the learner's name."""
    settings: Settings
    reason: str
    rank: float = 50.0
    """Place among the starting points of all learners: the strongest first, then those most unlike the ones before."""
    strategy: Strategy = Strategy()
    encoders: Mapping[Kind, str] = {}


class Cost(NamedTuple):
    """Of a candidate, before it is trained."""

    seconds: float
    """To train in all folds on one thread, encoders aside."""
    megabytes: float
    """Of the fitted model."""
    milliseconds: float
    """To predict one row."""


class Measured(NamedTuple):
    """What a learner costs, for `Cost` on other data; measured on public tables, right within a factor of three."""

    seconds: float = 0.05
    """To train on few rows, in one fold."""
    cell: float = 1e-6
    """More seconds for every cell of the training rows."""
    pair: float = 0.0
    """More seconds for every pair of training rows."""
    kilobytes: float = 200.0
    row: float = 0.0
    """More kilobytes for every training row."""
    milliseconds: float = 1.0
    by_output: bool = False
    """Whether there is a model of its own for each of three or more classes."""


@dataclass(frozen=True)
class Setup:
    """What an estimator is built for."""

    facts: DataFacts
    seed: int = 0
    threads: int = 1
    categorical: tuple[bool, ...] = ()
    """Layout `tree`: which features are category codes."""
    more: bool = False
    """Layout `tree`: whether features of own code follow, whose number is unknown."""

    @property
    def places(self) -> list[int]:
        """Positions of the features that are category codes."""
        return [place for place, is_code in enumerate(self.categorical) if is_code]

    @property
    def is_absolute(self) -> bool:
        """Whether the absolute error of a number is to be minimised."""
        return not self.facts.classes and self.facts.metric in ABSOLUTE

    def path(self, path: str) -> str:
        """The path of a class with its ending `Classifier` or `Regressor`."""
        return f"{path}{'Classifier' if self.facts.classes else 'Regressor'}"


@dataclass(frozen=True)
class FoldData:
    """One fold, encoded: arrays or sparse matrices."""

    train: Any
    """(n, d)."""
    target: Any
    """(n,): class numbers, or values on the scale that is learnt; None for clustering."""
    valid: Any
    """(m, d)."""
    valid_target: Any
    """(m,): for early stopping only."""
    weights: Any = None
    """(n,) or None."""

    @property
    def options(self) -> dict[str, Any]:
        """The argument for sample weights, where there are any."""
        return {} if self.weights is None else {"sample_weight": self.weights}

    @property
    def has_classes(self) -> bool:
        return bool(self.target.dtype.kind != "f")

    @property
    def stopping(self) -> tuple[Any, Any]:
        """Validation rows and their target, without those of a class that the training rows lack."""
        import numpy as np

        known = np.isin(self.valid_target, np.unique(self.target)) if self.has_classes else slice(None)
        return self.valid[known], self.valid_target[known]


class Learner:
    """A model family."""

    name: ClassVar[str]
    track: ClassVar[Track] = "traditional"
    problems: ClassVar[frozenset[str]] = SUPERVISED
    """Registered problems that it can solve."""
    layout: ClassVar[Layout] = "tree"
    """How it takes its features."""
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    """It is for data with a column of one of these kinds only; empty for any data."""
    families: ClassVar[frozenset[str]] = frozenset()
    """What a request may call it beside its name, e.g. `gradient_boosting`, `tree_ensemble`, `linear_model`."""
    stops_early: ClassVar[bool] = False
    """Whether it learns in steps until validation rows get no better."""
    readable: ClassVar[bool] = False
    """Whether a person can read the fitted model."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules that must be installed beside scikit-learn."""
    most_rows: ClassVar[float] = math.inf
    """More training rows than this take too long."""
    most_paired: ClassVar[float] = math.inf
    """Rows whose pairs are looked at, at most."""
    measured: ClassVar[Measured] = Measured()
    rank: ClassVar[float] = 50.0
    """Of its starting point, where it has one only."""
    reason: ClassVar[str] = ""
    """Of that; the description where it is empty."""
    description: ClassVar[str]
    """One sentence for plans and prompts."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the trained weights that it uses here."""
        return ()

    def estimator(self, settings: Settings, setup: Setup, rounds: int | None = None) -> Call:
        """The estimator; `rounds` fixes the number of steps of a learner that stops early."""
        raise NotImplementedError

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        """Starting points for data of this size, the strongest first."""
        return (DefaultConfig(self.name, {}, self.reason or self.description, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        """The settings that it accepts, by name."""
        return {}

    def unavailable(self) -> str:
        """Why it cannot train here although its modules are installed, and the remedy; empty where it can."""
        return ""

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        """Fits the estimator that `estimator` built, before `deadline` (time.monotonic()) where it learns in steps.

        Returns the number of steps to repeat the fit without validation rows; None for a learner without steps.
        """
        estimator.fit(fold.train, fold.target, **fold.options)
        return None

    def space(self, trial: optuna.Trial, facts: DataFacts) -> Settings:
        """Settings to try next; empty where there is nothing to search."""
        return {name: one.suggest(trial, name) for name, one in self.ranges(facts).items() if one.searched}

    def settings(self) -> Mapping[str, str]:
        """The settings that it accepts, each with type, range and default in words: prompts show them."""
        return {name: str(one) for name, one in self.ranges(TYPICAL).items()}

    def cost(self, facts: DataFacts) -> Cost:
        known, times = self.measured, facts.outputs if self.measured.by_output else 1
        pairs = min(facts.rows, self.most_paired) ** 2 if known.pair else 0.0
        columns = facts.columns if self.layout == "sparse" else facts.features
        growing = known.cell * facts.rows * columns + known.pair * pairs
        return Cost(
            seconds=facts.folds * times * (known.seconds + growing),
            megabytes=times * (known.kilobytes + known.row * facts.rows) / 1000,
            milliseconds=known.milliseconds,
        )
