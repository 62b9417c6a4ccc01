"""The interface of problems: how to divide rows, how to compare candidates, and what a prediction is.

A problem is a plug-in (entry points `palmette.problems`), created with the blueprint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Occlusion, Score
from palmette.automl.calls import Call
from palmette.automl.candidates import Blueprint, Candidate, Ensembling, Strategy
from palmette.automl.kinds import Kind
from palmette.automl.measure.intervals import Units, difference, interval
from palmette.automl.measure.metrics import METRICS, Floats, Metric, Predictions, Task, score, undefined
from palmette.automl.measure.scorer import Scorer
from palmette.automl.plots import Figure
from palmette.automl.profile import Profile
from palmette.automl.splitting.data_splits import DataSplits, SplitRequest
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine.registry import load

if TYPE_CHECKING:
    from palmette.automl.problems.explanations import Ask

FIRST_ROWS = 100  # training rows to send to the delivered package if there is no hold-out
Measured = Literal["predictions", "importances", "clustering"]


class ColumnByCluster(NamedTuple):
    """A column's values in each cluster."""

    name: str
    statistic: str  # `median`, `most frequent` or `typical words`
    values: tuple[str, ...]  # one for each cluster, as text
    separation: float  # share of the column's variance between clusters, 0 to 1


@dataclass(frozen=True)
class ReportData:
    """Results for the report; what is missing is reported as not measured."""

    truth: NDArray[np.generic] | None = None
    """(n,): class names or numbers of the hold-out, or of the training rows if there is none."""
    predictions: Predictions | None = None
    """Predictions for the same rows, out of fold if there is no hold-out."""
    importance: str = "How much worse the metric becomes"
    """What importance measures; `when a column ... is shuffled` follows."""
    limits: tuple[str, ...] = ()  # limits of such models, in sentences
    figures: tuple[Figure, ...] = ()
    summary: str = ""  # what the figures show, as a sentence
    sizes: tuple[int, ...] = ()  # number of training rows by cluster
    columns: tuple[ColumnByCluster, ...] = ()  # by the same clusters
    missing: Mapping[Measured, str] = field(default_factory=dict)
    """Reasons for missing measurements, in sentences."""


class EnsembleMember(NamedTuple):
    """A chosen candidate, as the delivered model fits it."""

    candidate: Candidate
    weight: float
    encoder: Call  # transformer from typed columns to features
    learner: Call


class EndpointRequest(NamedTuple):
    """Rows that the endpoint answers in one response."""

    rows: pd.DataFrame
    answer: Any  # expected response as JSON


Evaluator = Callable[[Metric, Predictions], tuple[NDArray[np.generic], Predictions, Units | None]]
"""Returns the truth (n,), predictions of it in the unit of the metric, and the units that intervals resample."""


@dataclass(frozen=True)
class Problem(ABC):
    """A problem with its blueprint. Frames have typed columns by name, with the target if it is known."""

    name: ClassVar[str]
    task: ClassVar[Task]  # task whose metrics and learners it uses
    has_target: ClassVar[bool] = True
    needs: ClassVar[frozenset[Kind]] = frozenset()  # kinds of columns that its samples need and no other problem uses
    sees_all_rows: ClassVar[bool] = False
    """Whether every fit sees all rows, including those to predict; their targets stay hidden."""
    fits_all_rows: ClassVar[bool] = False
    """Whether the search also fits each candidate on all rows. Outputs are then (n, 2): from that model, and from the
    model of the row's fold.
    """
    draws_rows: ClassVar[bool] = True
    """Whether any subset of the rows is a smaller data set of the same kind, to sample from or retrain on."""
    blends: ClassVar[bool] = True  # whether several candidates may be delivered together
    templates: ClassVar[Path | None] = None
    """Folder of its own package templates, which take precedence over the common ones."""
    together: ClassVar[str] = ""
    """Request field for rows that the endpoint answers together; empty if each row is answered by itself."""
    no_onnx: ClassVar[str] = ""  # why no model can be converted to ONNX, as a clause
    side_metrics: ClassVar[tuple[str, ...]] = ()  # metrics that are reported beside the metric of the run

    blueprint: Blueprint

    @staticmethod
    @abstractmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        """Returns the blueprint's fields for this problem: metric, classes, positive, bounds, clusters, labels, folds.

        `rows` are the training rows. The metric is the requested one, else the default for the target. Raises UserError
        where the metric does not suit the target, or this problem cannot learn it.
        """

    @staticmethod
    def strategies(task: TaskSpec, profile: Profile) -> tuple[Strategy, ...]:  # noqa: ARG004 - for subclasses
        """Returns the strategies that suit target and metric, the default first."""
        return (Strategy(),)

    @staticmethod
    def kinds(task: TaskSpec) -> Mapping[str, Kind]:  # noqa: ARG004 - for subclasses
        """Returns kinds of columns that override the inferred ones."""
        return {}

    @staticmethod
    def held_out(
        rows: pd.DataFrame,  # noqa: ARG004 - for subclasses
        request: SplitRequest,  # noqa: ARG004 - for subclasses
    ) -> tuple[NDArray[np.bool_], tuple[str, ...]] | None:
        """Returns the hold-out (n,) with its reasons, one sentence each; None to use the usual split.

        Raises UserError where there are too few rows for a hold-out.
        """
        return None

    @property
    def metric(self) -> Metric:
        return METRICS[self.blueprint.metric]

    @property
    def guide(self) -> Metric:
        """The metric that guides the search."""
        return self.metric

    @abstractmethod
    def baselines(self) -> tuple[Candidate, ...]:
        """Returns the candidates that others are compared with; the first is the dummy."""

    @abstractmethod
    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        """Returns the fold of each training row (n,), from 0; negative for rows that are never predicted."""

    def fold_rows(
        self, rows: pd.DataFrame, folds: NDArray[np.int64], fold: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns masks (n,) of a fold's training rows and of the rows that `outputs` gets."""
        return folds != fold, folds == fold

    def encoded_target(self, rows: pd.DataFrame, strategy: Strategy) -> NDArray[Any] | None:
        """Returns class numbers (n,), or values on the scale that the model learns; None without a target."""
        return None

    def inputs(self, frame: pd.DataFrame, context: pd.DataFrame | None) -> Any:
        """Returns typed columns (n, d) in the form that encoders take, with the context; masks (n,) index them."""
        return frame

    def encoder(self, columns: Call, candidate: Candidate) -> Call:
        """Returns the encoder of a candidate, given the transformer of its columns."""
        return columns

    @abstractmethod
    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        """Returns a fitted estimator's outputs for encoded rows: probabilities (n, k) of all classes, or values (n,) in
        the target's unit.
        """

    @abstractmethod
    def output_error(self, outputs: Floats) -> str:
        """Explains, as a clause, why outputs of the training rows cannot be predictions; empty if they can."""

    @abstractmethod
    def scorer(self, splits: DataSplits) -> Scorer:
        """Returns the scorer that compares outputs on the training rows."""

    @abstractmethod
    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        """Returns the delivered estimator: takes rows as typed columns and the target as in files."""

    def decided(self, estimator: Call, class_weights: tuple[float, ...] | None) -> Call:
        """Adds the decision to the delivered estimator."""
        return estimator

    def package_facts(self) -> Mapping[str, Any]:
        """Returns the template variables of the package that only this problem has."""
        return {}

    def examples(self) -> pd.DataFrame | None:
        """Returns made-up typed rows for tests and documentation of the package; None to use the usual ones."""
        return None

    def holdout_inputs(self, splits: DataSplits) -> list[pd.DataFrame]:
        """Returns the hold-out as inputs of the package: the first for `predict.py`, others for the endpoint."""
        return [splits.holdout]

    def answer_size(self, rows: int) -> tuple[int, int]:
        """Returns the most rows and columns of an answer to `rows` rows; outputs have no more columns."""
        return rows, len(self.blueprint.classes) + 8

    def requests(self, splits: DataSplits, made: Predictions) -> tuple[EndpointRequest, ...]:
        """Returns requests to the endpoint with `made` as answers; none if the endpoint takes single rows."""
        return ()

    @abstractmethod
    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        """Reads predictions from the table that the delivered package writes.

        Raises KeyError or ValueError where the table is not of these rows, or has impossible values.
        """

    def evaluator(self, splits: DataSplits) -> Evaluator:
        """Returns how predictions of the hold-out are compared with its truth."""
        raise NotImplementedError

    def scores(
        self, splits: DataSplits, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        """Scores predictions of the hold-out, the metric of the run first; undefined scores are left out."""
        evaluate, found, positive = self.evaluator(splits), list[Score](), self.blueprint.positive
        for name in dict.fromkeys((self.blueprint.metric, *also, *self.side_metrics)):
            truth, mine, units = evaluate(metric := METRICS[name], made)
            if not undefined(metric, truth):
                bounds = interval(metric, truth, mine, positive, units=units)
                value = score(metric, truth, mine, positive)
                usual = None if baseline is None else score(metric, truth, evaluate(metric, baseline)[1], positive)
                found.append(Score(metric=name, value=value, low=bounds.low, high=bounds.high, baseline=usual))
        return found

    def better(self, splits: DataSplits, made: Predictions, baseline: Predictions) -> bool:
        """Returns whether predictions of the hold-out beat the baseline by more than noise."""
        evaluate = self.evaluator(splits)
        (truth, mine, units), (_, other, _) = (evaluate(self.metric, one) for one in (made, baseline))
        if undefined(self.metric, truth):
            return False
        return difference(self.metric, truth, mine, other, self.blueprint.positive, units=units).low > 0

    @abstractmethod
    def unmeasured(self, splits: DataSplits) -> str:
        """Explains, as a clause, why the metric is undefined on the hold-out; empty if it is defined."""

    def importances(self, splits: DataSplits, ask: Ask) -> tuple[FeatureImportance, ...]:
        """Returns the permutation importance of each column on the hold-out, the largest first."""
        return ()

    def occlusions(self, splits: DataSplits, made: Predictions, ask: Ask) -> tuple[Occlusion, ...]:
        """Returns how much each part of some held-out files adds to their predictions `made`."""
        return ()

    @abstractmethod
    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        """Returns what the report shows. `outputs` are of the training rows by candidate; `best` names the best one."""


def problem_named(name: str) -> type[Problem]:
    """Returns the class of a problem; raises UserError where there is no problem of this name."""
    problem: type[Problem] = load("problem", name)
    return problem


def problem_of(blueprint: Blueprint) -> Problem:
    return problem_named(blueprint.problem)(blueprint)
