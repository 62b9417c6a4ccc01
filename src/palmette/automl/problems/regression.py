"""Regression: models predict numbers in the target's unit, whatever scale they learn on."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import Call, Name
from palmette.automl.candidates import Ensembling, Strategy
from palmette.automl.composition import learner_named
from palmette.automl.formatting import number
from palmette.automl.measure.metrics import Floats, Predictions, Task
from palmette.automl.measure.scorer import LEARN, RESTORE
from palmette.automl.problems.problem import EnsembleMember
from palmette.automl.problems.supervised import LOG_SCALES, Supervised, first_metric, folds_for, require_row_count
from palmette.automl.profile import Profile
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError
from palmette.problems import error_of

ORDERS = 2.0  # powers of ten that a target must span for the default metric to measure ratios
SKEWED = 1.5  # skew of a target from which its logarithm is tried
MARGIN = 0.1
"""Margin around the target's range for predictions, as a share of the range on the scale that the model learns."""


class Regression(Supervised):
    """Predicts a numeric target."""

    name: ClassVar[str] = "regression"
    task: ClassVar[Task] = "regression"
    side_metrics: ClassVar = ("rmse", "mae", "r2")
    suffix: ClassVar = "Regressor"
    stacking: ClassVar = Call("sklearn.linear_model.LinearRegression", {"positive": True})

    @staticmethod
    def objective(task: TaskSpec, profile: Profile) -> str:
        target = profile.target
        assert target is not None
        least = target.numbers.least if target.numbers is not None else 1.0
        usual = "rmsle" if target.orders >= ORDERS and least >= 0 else "rmse"
        metric = first_metric(task) or usual
        if (metric == "rmsle" and least < 0) or (metric == "rmse_log" and least <= 0):
            raise error_of(UserError, "metric-unsuited", metric=metric, target=target, least=least)
        return metric

    @staticmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        metric, target = Regression.objective(task, profile), rows[profile.split.target]
        if not pd.api.types.is_numeric_dtype(target.dtype):
            raise error_of(UserError, "target-not-numeric", target=target, example=str(target.iloc[0]))
        bounds = bounds_of(target.to_numpy(float), LOG_SCALES.get(metric, "none"))
        return {"metric": metric, "bounds": bounds, "folds": folds_for(task, profile, len(rows), None)}

    @staticmethod
    def strategies(task: TaskSpec, profile: Profile) -> tuple[Strategy, ...]:
        """Returns the metric's scale; else the plain target, and its logarithm if that evens out a skewed target."""
        if scale := LOG_SCALES.get(Regression.objective(task, profile)):
            return (Strategy(target_transform=scale),)
        target = profile.target
        if target is None or target.numbers is None or target.numbers.least < 0 or target.numbers.skew < SKEWED:
            return (Strategy(),)
        even = abs(target.log_skew) < target.numbers.skew / 2
        return (Strategy(), Strategy(target_transform="log1p")) if even else (Strategy(),)

    def truth(self, rows: pd.DataFrame) -> NDArray[np.generic]:
        return rows[self.blueprint.target].to_numpy(float)

    def encoded_target(self, rows: pd.DataFrame, strategy: Strategy) -> NDArray[Any]:
        return np.asarray(LEARN[strategy.target_transform](rows[self.blueprint.target].to_numpy(float)))

    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        learnt = np.asarray(estimator.predict(features), dtype=float).ravel()
        bounds = self.blueprint.bounds
        if bounds is None:
            return np.asarray(RESTORE[strategy.target_transform](learnt))
        with np.errstate(divide="ignore"):
            low, high = LEARN[strategy.target_transform](np.array(bounds))
        return np.asarray(RESTORE[strategy.target_transform](np.clip(learnt, low, high)))

    def output_error(self, outputs: Floats) -> str:
        if outputs.ndim != 1:
            return f"has outputs of the shape {outputs.shape}, not one for each row"
        return "" if np.isfinite(outputs).all() else "has predictions that are not finite"

    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        """Transforms the target around the whole model if all members learn, and are blended, on the same logarithm."""
        transforms = {one.candidate.strategy.target_transform for one in members}
        transform, *others = transforms
        if others or transform == "none" or (len(members) > 1 and transform != LOG_SCALES.get(self.metric.name)):
            return super().assembled(members, ensembling)
        plain = [one._replace(candidate=one.candidate.model_copy(update={"strategy": Strategy()})) for one in members]
        return _transformed(super().assembled(plain, ensembling), transform)

    def prepared(self, member: EnsembleMember) -> Call:
        """Clips predictions, but for those of trees, and of networks on features within narrow bounds."""
        learner, transform = member.learner, member.candidate.strategy.target_transform
        known = learner_named(member.candidate.learner)
        if known.layout != "tree" and known.track != "neural":
            learner = Call("palmette.automl.learners.wrappers.ClippedRegressor", {"regressor": learner})
        return learner if transform == "none" else _transformed(learner, transform)

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        require_row_count(table, rows)
        values = table["prediction"].to_numpy(float)
        if not np.isfinite(values).all():
            raise ValueError("a prediction is not a finite number")
        return Predictions(values)

    def limits(self) -> tuple[str, ...]:
        kept = " and ".join(map(number, self.blueprint.bounds or ()))
        return (f"Predictions stay between {kept}: the model never predicts beyond.",) if kept else ()


def bounds_of(target: Floats, transform: str) -> tuple[float, float]:
    """Returns the target's range plus a margin on the scale that the model learns; as positive as all values are."""
    low, high = float(LEARN[transform](target.min())), float(LEARN[transform](target.max()))
    margin = MARGIN * (high - low)
    lowest, highest = float(RESTORE[transform](low - margin)), float(RESTORE[transform](high + margin))
    if (least := float(target.min())) >= 0:
        lowest = max(lowest, least * (least / float(target.max())) ** MARGIN if least else 0.0)
    return lowest, highest


def _transformed(regressor: Call, transform: str) -> Call:
    """Wraps a regressor to learn on another scale."""
    func, inverse = (Name(f"numpy.{by[transform].__name__}") for by in (LEARN, RESTORE))
    arguments = {"regressor": regressor, "func": func, "inverse_func": inverse}
    return Call("sklearn.compose.TransformedTargetRegressor", arguments)
