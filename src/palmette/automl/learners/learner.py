"""The interface of learners: a model family with the scikit-learn interface, starting points and a search space.

A learner is a plug-in (entry points `palmette.learners`): a subclass of `Learner` that states what differs. Its
estimator is a `Call`. Write a class of your own in a module of this package that imports nothing of palmette but
similar modules: such modules are copied into the delivered package.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from palmette.automl.calls import Call
from palmette.automl.candidates import Cost, Setting
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig, Layout
from palmette.automl.kinds import Kind, Track, missing_requirement

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Range:
    """The values of a setting: from `low` to `high`, or one of `values`."""

    low: float = 0.0
    high: float = 0.0
    default: Setting = None
    note: str = ""
    log: bool = False  # whether to search on a logarithmic scale
    is_whole: bool = False
    values: tuple[Setting, ...] = ()
    searched: bool = True

    @classmethod
    def whole(cls, low: int, high: int, default: Setting = None, note: str = "", log: bool = False) -> Range:
        """Returns the range of a whole number."""
        return cls(low, high, default, note, log, is_whole=True)

    @classmethod
    def choice(cls, *values: Setting, default: Setting = None, note: str = "", searched: bool = True) -> Range:
        """Returns a choice between a few values."""
        return cls(values=values, default=default, note=note, searched=searched)

    def suggest(self, trial: optuna.Trial, name: str) -> Setting:
        """Suggests a value to try."""
        if self.values:
            chosen: Setting = trial.suggest_categorical(name, list(self.values))
            return chosen
        if self.is_whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def objection(self, setting: Setting) -> str:
        """Explains why a value is not accepted; empty if it is. Numbers outside of the searched range are accepted."""
        if self.values:
            right = setting in self.values
        else:
            number = isinstance(setting, int | float) and not isinstance(setting, bool) and setting >= min(0, self.low)
            right = number and (not self.is_whole or setting == int(setting))  # type: ignore[arg-type]  # a number
        return "" if right else f"is {setting!r}, not {self}"

    def __str__(self) -> str:
        kind = "whole number" if self.is_whole else "number"
        values = f"one of {', '.join(map(repr, self.values))}"
        usual = "" if self.default is None else f", default {self.default!r}"
        what = values if self.values else f"{kind} from {self.low:g} to {self.high:g}"
        return f"{what}{usual}{': ' if self.note else ''}{self.note}"


Settings = Mapping[str, Setting]
SUPERVISED = frozenset({"classification", "regression"})
ABSOLUTE = frozenset({"mae", "medae", "mape", "smape"})
"""Metrics of absolute errors: learners minimise the absolute error if they can."""
LABELS = "palmette.automl.learners.wrappers.LabelEncodedClassifier"
"""Wrapper of classifiers that only take class numbers."""
TYPICAL = DataFacts(rows=5_000, columns=15, problem="", outputs=1, classes=0, metric="", folds=5)


class Measured(NamedTuple):
    """Cost of a learner on public tables, from which `Cost` is estimated to within a factor of three."""

    seconds: float = 0.05  # seconds to train on few rows, in one fold
    cell: float = 1e-6  # additional seconds per cell of the training rows
    pair: float = 0.0  # additional seconds per pair of training rows
    kilobytes: float = 200.0
    row: float = 0.0  # additional kilobytes per training row
    milliseconds: float = 1.0
    by_output: bool = False  # whether each of three or more classes has a model of its own


@dataclass(frozen=True)
class TrainingSetup:
    """The data and resources that an estimator is built for."""

    facts: DataFacts
    seed: int = 0
    categorical: tuple[bool, ...] = ()  # layout `tree`: which features are category codes
    more: bool = False  # layout `tree`: whether an unknown number of features from the user's own code follow

    @property
    def places(self) -> list[int]:
        """Positions of the features that are category codes."""
        return [place for place, is_code in enumerate(self.categorical) if is_code]

    @property
    def is_absolute(self) -> bool:
        """Whether to minimise the absolute error of a number."""
        return not self.facts.classes and self.facts.metric in ABSOLUTE

    def path(self, path: str) -> str:
        """Returns the path of a class with its suffix `Classifier` or `Regressor`."""
        return f"{path}{'Classifier' if self.facts.classes else 'Regressor'}"


@dataclass(frozen=True)
class FoldData:
    """An encoded fold: arrays or sparse matrices."""

    train: Any  # (n, d)
    target: Any  # (n,): class numbers, or values on the scale that the model learns; None for clustering
    valid: Any  # (m, d)
    valid_target: Any  # (m,): only for early stopping; of classes that the training rows have
    weights: Any = None  # (n,) or None

    @property
    def options(self) -> dict[str, Any]:
        """The argument for sample weights; empty without weights."""
        return {} if self.weights is None else {"sample_weight": self.weights}

    @property
    def has_classes(self) -> bool:
        return bool(self.target.dtype.kind != "f")


class Learner:
    """A model family."""

    name: ClassVar[str]
    track: ClassVar[Track] = "traditional"
    problems: ClassVar[frozenset[str]] = SUPERVISED  # registered problems that it solves
    layout: ClassVar[Layout] = "tree"  # form in which it takes its features
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    """If not empty, it is only for data with a column of one of these kinds."""
    families: ClassVar[frozenset[str]] = frozenset()
    """Other names that a request may use, e.g. `gradient_boosting`, `tree_ensemble`, `linear_model`."""
    stops_early: ClassVar[bool] = False  # whether it learns in steps until validation rows stop improving
    requires: ClassVar[tuple[str, ...]] = ()  # modules that must be installed beside scikit-learn
    most_rows: ClassVar[float] = math.inf  # training rows above which it takes too long
    most_paired: ClassVar[float] = math.inf  # most rows whose pairs it looks at
    measured: ClassVar[Measured] = Measured()
    rank: ClassVar[float] = 50.0  # rank of its starting point, if it has only one
    reason: ClassVar[str] = ""  # reason for that starting point; the description if empty
    description: ClassVar[str]  # one sentence for plans and prompts

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the pretrained weights that it uses here."""
        return ()

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        """Returns the estimator; `rounds` fixes the number of steps of a learner that stops early."""
        raise NotImplementedError

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        """Returns starting points for data of this size, the strongest first."""
        return (DefaultConfig(self.name, {}, self.reason or self.description, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        """Returns the settings that it accepts, by name."""
        return {}

    @property
    def has_steps(self) -> bool:
        """Whether it learns in steps and can end after any of them."""
        return type(self).fit is not Learner.fit

    def unavailable(self) -> str:
        """Explains why it cannot train here, and the remedy; empty if it can."""
        module = missing_requirement(self.requires)
        return f"{self.name} needs the package {module!r}: install it with `pip install {module}`." if module else ""

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        """Fits the estimator that `estimator` built; one that learns in steps stops at `deadline` (time.monotonic()).

        Returns the number of steps to repeat the fit without validation rows; None for a learner without steps.
        """
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # good enough without full convergence
            estimator.fit(fold.train, fold.target, **fold.options)
        return None

    def space(self, trial: optuna.Trial, facts: DataFacts) -> Settings:
        """Suggests the settings to try next; empty if there is nothing to search."""
        return {name: one.suggest(trial, name) for name, one in self.ranges(facts).items() if one.searched}

    def settings(self) -> Mapping[str, str]:
        """Describes the settings that it accepts for prompts: type, range and default of each."""
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
