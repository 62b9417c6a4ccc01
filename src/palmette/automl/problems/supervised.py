"""What classification and regression share: folds, scores on the hold-out, and the assembly of members."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Occlusion
from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import Blueprint, Candidate, Ensembling, Folds, Strategy
from palmette.automl.kinds import UNUSABLE, file_kinds, with_contents
from palmette.automl.measure.metrics import Floats, Predictions, undefined
from palmette.automl.measure.scorer import Scale, SupervisedScorer
from palmette.automl.problems.explanations import FILES, Ask, importance, occlusions, telling_rows
from palmette.automl.problems.problem import EnsembleMember, Evaluator, Problem, ReportData
from palmette.automl.profile import Profile
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec

LIGHT, HEAVY = 300_000, 2_000_000
"""Work (rows times columns, times classes if there are three or more) from which there are fewer folds."""
FEW, MANY = 3_000, 30_000  # rows below which there are more folds, and from which there are three
LOG_SCALES: Mapping[str, Scale] = {"rmsle": "log1p", "rmse_log": "log"}
"""Metrics that are root mean squares on a logarithmic scale, on which models learn and are blended."""
TEXT_COLUMNS = 100  # numeric columns that cost as much as one text column
SHORT = 15.0  # budget in seconds below which there are three folds


class Supervised(Problem):
    """Compares candidates by out-of-fold predictions of the target."""

    suffix: ClassVar[str]  # of the ensembles of scikit-learn
    stacking: ClassVar[Call]  # the linear model on the predictions of stacked members

    def baselines(self) -> tuple[Candidate, ...]:
        """Returns a model without features, and a linear model on the scale of the metric."""
        strategy = Strategy(target_transform=LOG_SCALES.get(self.blueprint.metric, "none"))
        return (
            Candidate(name="dummy", learner="dummy", reason="uses no features"),
            Candidate(name="linear", learner="linear", strategy=strategy, reason="the simplest model of all features"),
        )

    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        strata = self.truth(splits.train) if self.blueprint.classes else None
        return folds_of(splits.train, self.blueprint, strata, splits.groups)

    @abstractmethod
    def truth(self, rows: pd.DataFrame) -> NDArray[np.generic]:
        """Returns the target (n,): class names as text, or numbers."""

    def scorer(self, splits: DataSplits) -> SupervisedScorer:
        blueprint = self.blueprint
        return SupervisedScorer(
            self.metric,
            self.truth(splits.train),
            classes=blueprint.classes,
            positive=blueprint.positive,
            units=splits.units,
            scale=LOG_SCALES.get(blueprint.metric, "none"),
        )

    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        """Returns a pipeline of encoder and learner, or an ensemble; members with equal encoders share one."""
        if len(members) == 1:
            (one,) = members
            return _pipeline(one.encoder, self.fitted_alone(self.prepared(one)))
        if ensembling == "stacking":
            named = [(_step(one), _pipeline(one.encoder, self.prepared(one))) for one in members]
            given = {"estimators": named, "final_estimator": self.stacking, "cv": self.blueprint.folds.count}
            return Call(f"sklearn.ensemble.Stacking{self.suffix}", given)
        return self._blend(members, ensembling)

    def prepared(self, member: EnsembleMember) -> Call:
        """Returns the learner, wrapped in the member's strategy."""
        return member.learner

    def fitted_alone(self, learner: Call) -> Call:
        """Wraps the learner to take the target as it is in files."""
        return learner

    def voter(self, ensembling: Ensembling) -> Call:
        """Returns the estimator of a weighted mean, or of a majority vote, without its members."""
        return Call(f"sklearn.ensemble.Voting{self.suffix}")

    def _blend(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        encoders: list[Call] = []
        for one in members:
            if one.encoder not in encoders:
                encoders.append(one.encoder)
        groups = [[one for one in members if one.encoder == encoder] for encoder in encoders]
        parts = []
        for number, group in enumerate(groups, start=1):
            named = [(_step(one), self.prepared(one)) for one in group]
            name = named[0][0] if len(named) == 1 else f"models_{number}"
            model = self._mean(named, [one.weight for one in group], ensembling)
            parts.append((name, pipeline(("features", group[0].encoder), (name, model))))
        return self._mean(parts, [sum(one.weight for one in group) for group in groups], ensembling)

    def _mean(self, named: list[tuple[str, Call]], weights: list[float], ensembling: Ensembling) -> Call:
        """The estimator itself if there is one, else their mean, in which equal weights are left out."""
        if len(named) == 1:
            return named[0][1]
        given = {"weights": [round(one, 4) for one in weights]} if len({*weights}) > 1 else {}
        return self.voter(ensembling).where(estimators=named, **given)

    def evaluator(self, splits: DataSplits) -> Evaluator:
        truth = self.truth(splits.holdout)
        return lambda _, made: (truth, made, splits.holdout_units)

    def unmeasured(self, splits: DataSplits) -> str:
        return undefined(self.metric, self.truth(splits.holdout))

    def importances(self, splits: DataSplits, ask: Ask) -> tuple[FeatureImportance, ...]:
        """Returns the loss in the metric of the run."""
        blueprint, rows = self.blueprint, splits.holdout
        columns = [column.name for column in blueprint.columns]
        if len(columns) == len(blueprint.file_columns):
            return ()  # shuffling whole files does not show what matters inside them
        asked, positive = rows.drop(columns=blueprint.target), blueprint.positive
        return importance(ask, asked, self.truth(rows), self.metric, columns, positive=positive, seed=blueprint.seed)

    def occlusions(self, splits: DataSplits, made: Predictions, ask: Ask) -> tuple[Occlusion, ...]:
        rows, columns = splits.holdout, self.blueprint.file_columns
        if not columns:
            return ()
        name = columns[0].name
        wrong, right = telling_rows(self.truth(rows), made, np.flatnonzero(rows[name].notna()).tolist(), FILES // 2)
        held = with_contents(rows.drop(columns=self.blueprint.target), [one.name for one in columns])
        return occlusions(ask, held, name, file_kinds()[columns[0].kind], [*wrong, *right])

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        truth = None if made is None else self.truth(splits.holdout)
        return ReportData(truth=truth, predictions=made, limits=self.limits())

    def limits(self) -> tuple[str, ...]:
        """Lists what a model of this problem cannot do, one sentence each."""
        return ()


def folds_of(
    rows: pd.DataFrame, blueprint: Blueprint, strata: NDArray[Any] | None, groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Returns the fold in which each row is predicted (n,).

    `strata` (n,) are class names, None if folds need not be stratified; `groups` (n,) are equal for rows that stay
    together, and ignored if all rows are in one group.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    count, seed = blueprint.folds.count, blueprint.seed
    if blueprint.folds.kind == "time":
        order = rows[blueprint.folds.by].rank(method="first", na_option="top").to_numpy() - 1
        return np.asarray(order * count // len(rows), dtype=np.int64)
    if groups is not None and 1 < len(np.unique(groups)) < len(groups):
        count = min(count, len(np.unique(groups)))
        splitter = GroupKFold if strata is None else StratifiedGroupKFold
    else:
        is_even = strata is not None and np.unique(strata, return_counts=True)[1].min() >= count
        splitter, groups = StratifiedKFold if is_even else KFold, None
    folds = np.empty(len(rows), dtype=np.int64)
    for number, (_, valid) in enumerate(splitter(count, shuffle=True, random_state=seed).split(rows, strata, groups)):
        folds[valid] = number
    return folds


def folds_for(task: TaskSpec, profile: Profile, rows: int, rarest: int | None, outputs: int = 1) -> Folds:
    """Returns folds of the same kind as the hold-out; more if rows are few, so that each model trains on nearly all.

    `rarest` is the number of rows of the rarest class.
    """
    used = [one for one in profile.columns if one.kind not in UNUSABLE and one.name not in profile.dropped]
    columns = sum(TEXT_COLUMNS if one.kind == "text" else 1 for one in used)
    count = task.split.folds or usual_folds(rows, rows * columns * outputs, task.budget)
    kind: Literal["stratified", "random"] = "random" if rarest is None else "stratified"
    count = min(count, max(2, rows if rarest is None else rarest))
    if by := profile.holdout.time or profile.split.time:
        return Folds(count=count, kind="time", by=by)
    if profile.split.group:
        return Folds(count=count, kind="grouped", by=profile.split.group)
    return Folds(count=count, kind=kind)


def usual_folds(rows: int, work: int, budget: float) -> int:
    """Returns more folds if rows are few, fewer if each takes long or the budget is short."""
    if rows >= MANY or work >= HEAVY or budget < SHORT:
        return 3
    return 8 if rows < FEW and work < LIGHT and budget >= 2 * SHORT else 5


def first_metric(task: TaskSpec) -> str:
    """Returns the requested metric of the run, else of the first constraint that names one; empty if none does."""
    return task.metric or next((one.metric for one in task.constraints if one.metric), "")


def require_row_count(table: pd.DataFrame, rows: int) -> None:
    """Raises ValueError unless the table has one prediction for each row."""
    if len(table) != rows:
        raise ValueError(f"{len(table)} predictions for {rows} rows")


def _pipeline(encoder: Call, model: Call) -> Call:
    return pipeline(("features", encoder), ("model", model))


def _step(member: EnsembleMember) -> str:
    return member.candidate.name.replace("-", "_").replace("__", "_")
