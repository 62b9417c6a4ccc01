"""How a project scores its own candidates while it searches: a guide for the search, never a verdict.

Each metric is an expression that stands in the project's `score.py`. Of classification it sees `truth` (n,), class
numbers, and `outputs` (n, k), probabilities, with `said` (n,), the class of the largest; of regression `truth` and
`said`, both in the unit of the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Guide = Literal["labels", "weighted", "threshold", "ranking", "probabilities", "values"]
"""By what the search is guided. labels: by the metric of the most probable class; weighted: the same after classes are
weighted by how rare they are; threshold: of the positive class at its best threshold; ranking: by the probability of
one class against the rest; probabilities and values: by the metric itself."""


class Formula(NamedTuple):
    """A metric as source text."""

    guide: Guide
    imports: str
    """Of scikit-learn's metrics."""
    expression: str
    """Of a ranking the function alone: of many classes it is called for each."""


CLASSIFICATION: Mapping[str, Formula] = {
    "accuracy": Formula("labels", "accuracy_score", "accuracy_score(truth, said)"),
    "balanced_accuracy": Formula("weighted", "balanced_accuracy_score", "balanced_accuracy_score(truth, said)"),
    "f1": Formula(
        "threshold",
        "f1_score, precision_recall_curve",
        "f1_score(truth == POSITIVE, said == POSITIVE, zero_division=0)",
    ),
    "f1_macro": Formula("weighted", "f1_score", 'f1_score(truth, said, average="macro", zero_division=0)'),
    "f1_weighted": Formula("labels", "f1_score", 'f1_score(truth, said, average="weighted", zero_division=0)'),
    "precision": Formula(
        "labels", "precision_score", "precision_score(truth == POSITIVE, said == POSITIVE, zero_division=0)"
    ),
    "recall": Formula("labels", "recall_score", "recall_score(truth == POSITIVE, said == POSITIVE, zero_division=0)"),
    "mcc": Formula("weighted", "matthews_corrcoef", "matthews_corrcoef(truth, said)"),
    "kappa": Formula("weighted", "cohen_kappa_score", "cohen_kappa_score(truth, said)"),
    "quadratic_kappa": Formula(
        "weighted", "cohen_kappa_score", 'cohen_kappa_score(truth, said, weights="quadratic")'
    ),
    "roc_auc": Formula("ranking", "roc_auc_score", "roc_auc_score"),
    "average_precision": Formula("ranking", "average_precision_score", "average_precision_score"),
    "log_loss": Formula("probabilities", "log_loss", "log_loss(truth, outputs, labels=range(len(CLASSES)))"),
}
REGRESSION: Mapping[str, Formula] = {
    "rmse": Formula("values", "root_mean_squared_error", "root_mean_squared_error(truth, said)"),
    "mse": Formula("values", "mean_squared_error", "mean_squared_error(truth, said)"),
    "mae": Formula("values", "mean_absolute_error", "mean_absolute_error(truth, said)"),
    "medae": Formula("values", "median_absolute_error", "median_absolute_error(truth, said)"),
    "mape": Formula("values", "", "np.mean(np.abs(truth - said) / np.maximum(np.abs(truth), 1e-12))"),
    "smape": Formula(
        "values", "", "np.mean(2 * np.abs(truth - said) / np.maximum(np.abs(truth) + np.abs(said), 1e-12))"
    ),
    "rmsle": Formula(
        "values",
        "root_mean_squared_error",
        "root_mean_squared_error(np.log1p(truth), np.log1p(np.clip(said, 0, None)))",
    ),
    "rmse_log": Formula(
        "values",
        "root_mean_squared_error",
        "root_mean_squared_error(np.log(truth), np.log(np.clip(said, truth.min() * 0.1, None)))",
    ),
    "r2": Formula("values", "r2_score", "r2_score(truth, said)"),
}
ABSOLUTE = frozenset({"mae", "medae", "mape", "smape"})
"""Metrics of absolute errors: the models that can learn those."""
