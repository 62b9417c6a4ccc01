"""What a problem is: how rows are divided, how candidates are compared, and what a prediction looks like.

A problem is a plug-in (entry points `palmette.problems`), created with the blueprint. `registry` finds it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Occlusion, Score
from palmette.automl.calls import Call
from palmette.automl.candidates import Blueprint, Candidate, Ensembling, Strategy
from palmette.automl.kinds import Kind
from palmette.automl.measure import METRICS, Metric, Predictions
from palmette.automl.measure.metrics import Floats, Task
from palmette.automl.measure.scorer import Scorer
from palmette.automl.profile import Profile
from palmette.automl.report_data import ReportData
from palmette.automl.splitting import DataSplits, SplitRequest
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model

if TYPE_CHECKING:
    import pandas as pd


FIRST_ROWS = 100
"""Of training, that the delivered package is asked about where no rows are held out."""


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


class EndpointRequest(NamedTuple):
    """Rows that the endpoint answers together."""

    rows: pd.DataFrame
    answer: Any
    """As JSON."""


class PlainSamples:
    """What problems share whose samples are typed columns alone."""

    needs: ClassVar[frozenset[Kind]] = frozenset()
    sees_all_rows: ClassVar[bool] = False

    def inputs(self, frame: pd.DataFrame, context: pd.DataFrame | None) -> Any:
        return frame

    def encoder(self, columns: Call, candidate: Candidate) -> Call:
        return columns

    def occlusions(
        self, splits: DataSplits, made: Predictions, ask: Callable[[pd.DataFrame], Predictions]
    ) -> tuple[Occlusion, ...]:
        return ()


class RowByRow(PlainSamples):
    """What problems share whose rows are predicted one by one."""

    draws_rows: ClassVar[bool] = True
    templates: ClassVar[Path | None] = None
    together: ClassVar[str] = ""
    columns_of_outputs = 2

    blueprint: Blueprint

    @staticmethod
    def kinds(task: TaskSpec) -> Mapping[str, Kind]:  # noqa: ARG004 - as in every problem
        return {}

    @staticmethod
    def held_out(rows: pd.DataFrame, request: SplitRequest) -> None:  # noqa: ARG004 - the same
        return None

    def fold_rows(
        self, rows: pd.DataFrame, folds: NDArray[np.int64], fold: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """A model learns from all other folds."""
        return folds != fold, folds == fold

    def package_facts(self) -> Mapping[str, Any]:
        return {}

    def examples(self) -> None:
        return None

    def asked(self, splits: DataSplits) -> list[pd.DataFrame]:
        """All rows at once."""
        return [splits.holdout]

    def answer_size(self, rows: int) -> tuple[int, int]:
        """A row each; a column for each class, and some more."""
        return rows, len(self.blueprint.classes) + 8

    def requests(self, splits: DataSplits, made: Predictions) -> tuple[EndpointRequest, ...]:
        return ()


class Problem(Protocol):
    """A problem with its blueprint. Frames have typed columns by name, with the target where it is known."""

    name: ClassVar[str]
    has_target: ClassVar[bool]
    words: ClassVar[frozenset[str]]
    """What a request may call it."""
    task: ClassVar[Task]
    """Its metrics are those of this task, and learners of the task can learn it."""
    needs: ClassVar[frozenset[Kind]]
    """Kinds of columns that its samples have, and those of other problems do not have."""
    sees_all_rows: ClassVar[bool]
    """Whether every fit sees all rows, those to predict included; targets stay hidden as ever."""
    fits_all_rows: ClassVar[bool]
    """Whether the search fits each candidate on all rows, too. Outputs are then (n, 2): of that model, and of the
    model of the row's fold."""

    draws_rows: ClassVar[bool]
    """Whether any part of the rows is a smaller data set of the same kind, to sample or retrain on."""
    blends: ClassVar[bool]
    """Whether several candidates may be delivered together."""
    templates: ClassVar[Path | None]
    """Folder of its templates of the delivered package, which go before those of all packages."""
    together: ClassVar[str]
    """Field of a request to the endpoint with rows that are answered together; empty where it takes a row each."""

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

    @staticmethod
    def kinds(task: TaskSpec) -> Mapping[str, Kind]:
        """Columns that are used as a kind, whatever they were read as."""

    @staticmethod
    def held_out(rows: pd.DataFrame, request: SplitRequest) -> tuple[NDArray[np.bool_], tuple[str, ...]] | None:
        """(n,): the hold-out with the reasons in sentences; None where the usual split decides.

        Raises:
            UserError: there are too few rows for one.
        """

    @property
    def metric(self) -> Metric: ...

    @property
    def columns_of_outputs(self) -> int:
        """The most numbers that an output has for a row, beside those of classes."""

    def baselines(self) -> tuple[Candidate, ...]:
        """Candidates that others are compared with; the first is the dummy."""

    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        """(n,): the fold of each training row, numbered from 0; below 0 where it is never predicted."""

    def fold_rows(
        self, rows: pd.DataFrame, folds: NDArray[np.int64], fold: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) each: the rows that a fold's model learns from, and those that `outputs` is given for it."""

    def encoded_target(self, rows: pd.DataFrame, strategy: Strategy) -> NDArray[Any] | None:
        """(n,): class numbers, or values on the scale that is learnt; None without a target."""

    def inputs(self, frame: pd.DataFrame, context: pd.DataFrame | None) -> Any:
        """Typed columns (n, d) as encoders take them, with the rows beside; indexed by boolean masks (n,)."""

    def encoder(self, columns: Call, candidate: Candidate) -> Call:
        """The encoder of a candidate, by the transformer of its columns."""

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

    def package_facts(self) -> Mapping[str, Any]:
        """Facts that its templates of the package know beside those of all packages."""

    def examples(self) -> pd.DataFrame | None:
        """Typed rows of made-up values for tests and documentation of the package; None for any."""

    def asked(self, splits: DataSplits) -> list[pd.DataFrame]:
        """What the delivered package is asked about the hold-out: the first by `predict.py`, others by its endpoint."""

    def answer_size(self, rows: int) -> tuple[int, int]:
        """The most rows and columns of an answer to so many rows."""

    def requests(self, splits: DataSplits, made: Predictions) -> tuple[EndpointRequest, ...]:
        """Requests to the endpoint, with `made` of the hold-out as answers; none where it takes a row each."""

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

    def occlusions(
        self, splits: DataSplits, made: Predictions, ask: Callable[[pd.DataFrame], Predictions]
    ) -> tuple[Occlusion, ...]:
        """What parts of some held-out files add to their answers `made`."""

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        """What the report shows; `outputs` are of the training rows, by candidate, `best` names the strongest."""
