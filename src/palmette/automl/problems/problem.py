"""What a problem is: how rows are divided, how candidates are compared, and what a prediction looks like.

A problem is a plug-in (entry points `palmette.problems`), created with the blueprint. `registry` finds it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Score
from palmette.automl.calls import Call
from palmette.automl.candidates import Blueprint, Candidate, Ensembling, Strategy
from palmette.automl.measure import METRICS, Metric, Predictions
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer
from palmette.automl.profile import Profile
from palmette.automl.report_data import ReportData
from palmette.automl.samples import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model

if TYPE_CHECKING:
    import pandas as pd


class Objective(Model):
    """The number by which candidates are compared."""

    problem: str
    """A registered problem."""
    target: str
    """Empty where there is none."""
    metric: str
    reason: str
    """Why this metric, as a clause."""
    positive: str | None = None
    """The class that a metric of one class is about."""

    @property
    def measure(self) -> Metric:
        return METRICS[self.metric]


class Member(NamedTuple):
    """A chosen candidate, as it is fitted in the delivered model."""

    candidate: Candidate
    weight: float
    encoder: Call
    """Typed columns to features."""
    learner: Call


class Problem(Protocol):
    """A problem with its blueprint. Frames have typed columns by name, with the target where it is known."""

    name: ClassVar[str]
    has_target: ClassVar[bool]
    words: ClassVar[frozenset[str]]
    """What a request may call it."""
    fits_all_rows: ClassVar[bool]
    """Whether the search fits each candidate on all rows, too. Outputs are then (n, 2): of that model, and of the
    model of the row's fold."""

    blueprint: Blueprint

    def __init__(self, blueprint: Blueprint) -> None: ...

    @staticmethod
    def objective(task: TaskSpec, profile: Profile) -> Objective:
        """What candidates are compared by: as the request names it, else the usual metric for the target.

        Raises:
            UserError: the metric is none of the problem, the target does not allow for it, or the class does not exist.
        """

    @staticmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        """The blueprint's own fields of this problem: metric, classes, positive, bounds, clusters, labels, folds.

        `rows` are the training rows.

        Raises:
            UserError: the target cannot be learnt so.
        """

    @staticmethod
    def strategies(task: TaskSpec, profile: Profile) -> tuple[Strategy, ...]:
        """Strategies that suit target and metric, the usual one first."""

    @property
    def metric(self) -> Metric: ...

    def baselines(self) -> tuple[Candidate, ...]:
        """Candidates that others are compared with; the first is the dummy."""

    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        """(n,): the fold of each training row, numbered from 0."""

    def encoded_target(self, rows: pd.DataFrame, strategy: Strategy) -> NDArray[Any] | None:
        """(n,): class numbers, or values on the scale that is learnt; None without a target."""

    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        """Of a fitted estimator and encoded rows: probabilities (n, k) of all classes, or values (n,) in the unit of
        the target."""

    def sound(self, outputs: Floats) -> str:
        """Why outputs of the training rows cannot be predictions, as a clause; empty where they can."""

    def scorer(self, splits: DataSplits) -> Scorer:
        """Compares outputs on the training rows."""

    def assembled(
        self, members: Sequence[Member], ensembling: Ensembling, class_weights: tuple[float, ...] | None
    ) -> Call:
        """The estimator that is delivered: takes rows as typed columns, learns the target as files have it."""

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        """Predictions from the table that the delivered package makes.

        Raises:
            KeyError, ValueError: it is not of these rows, or has impossible values.
        """

    def scores(
        self, splits: DataSplits, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        """Scores of predictions of the hold-out, the metric of the run first; undefined ones are left out."""

    def better(self, splits: DataSplits, made: Predictions, baseline: Predictions) -> bool:
        """Whether predictions of the hold-out beat the baseline's by more than noise."""

    def unmeasured(self, splits: DataSplits) -> str:
        """Why the metric has no value on the hold-out, as a clause; empty where it has one."""

    def importances(
        self, splits: DataSplits, ask: Callable[[pd.DataFrame], Predictions]
    ) -> tuple[FeatureImportance, ...]:
        """Permutation importance of each column on the hold-out, the largest first."""

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        """What the report shows; `outputs` are of the training rows, by candidate, `best` names the strongest."""
