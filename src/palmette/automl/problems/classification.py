"""Classification: models predict class probabilities; a decision that suits the metric turns them into labels."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import Call
from palmette.automl.candidates import Ensembling, Strategy
from palmette.automl.learners.learner import LABELS
from palmette.automl.measure.metrics import MOVED, Floats, Predictions, Task, in_order
from palmette.automl.problems.supervised import Supervised, first_metric, folds_for, require_row_count
from palmette.automl.profile import Profile, TargetProfile
from palmette.automl.samples.tables import keys_of
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError
from palmette.problems import error_of

IMBALANCED = 0.2  # share of the rarer of two classes below which the default metric ranks rows
EVEN = 0.9  # entropy of the classes, relative to equally frequent classes, above which accuracy is the default metric
SUM_TOLERANCE = 1e-4  # largest deviation from 1 of the sum of a row's probabilities
NEGATIVE = frozenset({"0", "no", "false", "n", "f", "negative", "bad", "normal", "none", "absent", "healthy"})
WHOLE = re.compile(r"^(-?\d+)\.0$")
WRAPPERS = "palmette.automl.learners.wrappers"
TAKE_NAMES = frozenset({"sklearn", "lightgbm", "catboost", "palmette"})  # packages whose classifiers accept class names


class Classification(Supervised):
    """A target of two or more classes."""

    name: ClassVar[str] = "classification"
    task: ClassVar[Task] = "classification"
    side_metrics: ClassVar = ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "log_loss")
    suffix: ClassVar = "Classifier"
    stacking: ClassVar = Call("sklearn.linear_model.LogisticRegression")

    @staticmethod
    def objective(task: TaskSpec, profile: Profile) -> str:
        target = profile.target
        assert target is not None
        return first_metric(task) or usual_metric(target)

    @staticmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        target = profile.target
        assert target is not None
        counts = keys_of(rows[target.name]).value_counts()
        if len(counts) < 2:
            raise error_of(UserError, "one-class", target=target, only=counts.index[0], count=len(rows))
        if len(counts) > len(rows) / 2:
            raise error_of(UserError, "too-many-classes", target=target, count=len(counts), rows=len(rows))
        outputs = len(counts) if len(counts) > 2 else 1
        return {
            "metric": Classification.objective(task, profile),
            "classes": in_order(counts.index),
            "positive": positive_class(task, target),
            "folds": folds_for(task, profile, len(rows), int(counts.min()), outputs),
        }

    @staticmethod
    def strategies(task: TaskSpec, profile: Profile) -> tuple[Strategy, ...]:
        """Adds balanced class weights if class frequencies differ and the metric scores labels."""
        target = profile.target
        uneven = target is not None and target.entropy < EVEN
        if uneven and Classification.objective(task, profile) in MOVED:
            return Strategy(), Strategy(balance="weights")
        return (Strategy(),)

    def truth(self, rows: pd.DataFrame) -> NDArray[np.generic]:
        return keys_of(rows[self.blueprint.target]).to_numpy(str)

    def encoded_target(self, rows: pd.DataFrame, strategy: Strategy) -> NDArray[Any]:
        """Returns class numbers; raises ValueError for a class that the blueprint does not list."""
        numbers = pd.Index(self.blueprint.classes).get_indexer(pd.Index(self.truth(rows)))
        if (numbers < 0).any():
            raise ValueError(f"the target is {self.truth(rows)[numbers < 0][0]!r}, none of {self.blueprint.classes}")
        return np.asarray(numbers, dtype=np.int64)

    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        made = np.asarray(estimator.predict_proba(features), dtype=float)
        outputs = np.zeros((len(made), len(self.blueprint.classes)))
        outputs[:, np.asarray(estimator.classes_, dtype=int)] = np.clip(made, 0.0, None)
        total = outputs.sum(axis=1, keepdims=True)
        # Rows of zeros become uniform; NaN stays, so that the candidate is rejected.
        made = np.divide(outputs, total, out=np.full_like(outputs, 1 / outputs.shape[1]), where=total != 0)
        return np.asarray(made)

    def output_error(self, outputs: Floats) -> str:
        classes = len(self.blueprint.classes)
        if outputs.ndim != 2 or outputs.shape[1] != classes:
            return f"has outputs of the shape {outputs.shape}, not of {classes} classes"
        return "" if are_probabilities(outputs) else "has rows whose probabilities are negative or do not sum to 1"

    def voter(self, ensembling: Ensembling) -> Call:
        if ensembling == "voting":
            return Call(f"{WRAPPERS}.MajorityClassifier", {"voting": "hard"})
        return super().voter(ensembling).where(voting="soft")

    def fitted_alone(self, learner: Call) -> Call:
        """Wraps classifiers from other packages, which may only take class numbers."""
        inner = learner
        while nested := inner.arguments.get("estimator") or dict(inner.arguments.get("steps", ())).get("model"):
            inner = nested
        if inner.path.split(".")[0] in TAKE_NAMES:
            return learner
        return Call(LABELS, {"estimator": learner})

    def decided(self, estimator: Call, class_weights: tuple[float, ...] | None) -> Call:
        if class_weights is None:
            return estimator
        typed = [int(one) if self.blueprint.has_whole_classes else one for one in self.blueprint.classes]
        if len(typed) == 2:
            (_, low), (name, high) = sorted(zip(typed, class_weights, strict=True))
            given = {"estimator": estimator, "threshold": round(low / (low + high), 4), "pos_label": name}
            return Call("sklearn.model_selection.FixedThresholdClassifier", given)
        weights = {name: round(one, 4) for name, one in zip(self.blueprint.classes, class_weights, strict=True)}
        return Call(f"{WRAPPERS}.DecidedClassifier", {"estimator": estimator, "class_weights": weights})

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        """Reads the columns `prediction` and `probability_<class>`; pandas may have written classes as 1.0 or True."""
        require_row_count(table, rows)
        classes = self.blueprint.classes
        known = {one.casefold(): one for one in classes} | {one: one for one in classes}

        def named(text: str) -> str:
            plain = WHOLE.sub(r"\1", text)
            return known.get(plain) or known.get(plain.casefold()) or plain

        columns = {named(str(one).removeprefix("probability_")): one for one in table if one != "prediction"}
        made = table[[columns[name] for name in classes]].to_numpy(float)
        if not are_probabilities(made):
            raise ValueError("the probabilities of a row are negative or do not sum to 1")
        labels = table["prediction"].astype(str).map(named)
        if not labels.isin(classes).all():
            raise ValueError("a prediction is not one of the classes")
        return Predictions(labels.to_numpy(str), made, classes)


def are_probabilities(outputs: Floats) -> bool:
    """Returns whether rows (n, k) are finite, not negative and sum to 1; metrics of other rows are meaningless."""
    return bool((outputs >= 0).all() and (abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all())


def usual_metric(target: TargetProfile) -> str:
    if target.class_count == 2:
        return "roc_auc" if not target.classes or target.classes[-1].share < IMBALANCED else "accuracy"
    return "accuracy" if target.entropy > EVEN else "f1_macro"


def positive_class(task: TaskSpec, target: TargetProfile) -> str | None:
    """Returns the class that the request names; else, of two, the one opposite a negative word, or the rarer one.

    Raises UserError where the request names a class that the target does not have.
    """
    values = [WHOLE.sub(r"\1", one.value.strip()) for one in target.classes]  # the most frequent first
    if task.threshold is not None and not task.positive:
        return task.threshold.classes[0]
    if task.positive:
        asked = WHOLE.sub(r"\1", task.positive.strip())
        named = [one for one in values if one == asked] or [one for one in values if one.casefold() == asked.casefold()]
        if named:
            return named[0]
        raise error_of(UserError, "unknown-class", task.positive, values, target=target, task=task, values=values[:12])
    if target.class_count != 2 or len(values) != 2:
        return None
    negative = [value for value in values if value.casefold() in NEGATIVE]
    return values[0] if negative == values[1:] else values[1]
