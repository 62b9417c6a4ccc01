"""How a project scores its own candidates while it searches: a guide for the search, never a verdict.

Each metric is the expression that stands in the project's `score.py`; greater is always better there. Of
classification it sees `truth` (n,), class numbers, and `outputs` (n, k), probabilities; of regression both on the
scale of the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Guide = Literal["labels", "weighted", "threshold", "ranking", "probabilities", "values"]
"""labels: of the most probable class; weighted: the same after classes are weighted by how rare they are; threshold: of
the positive class at its best threshold; ranking: by the probability of one class against the rest."""


class Formula(NamedTuple):
    """A metric as source text."""

    words: str
    guide: Guide
    imports: str
    """Of scikit-learn's metrics."""
    expression: str


CLASSIFICATION: Mapping[str, Formula] = {
    "accuracy": Formula("accuracy", "labels", "accuracy_score", "accuracy_score(truth, said)"),
    "balanced_accuracy": Formula(
        "balanced accuracy", "weighted", "balanced_accuracy_score", "balanced_accuracy_score(truth, said)"
    ),
    "f1": Formula("F1", "threshold", "precision_recall_curve", ""),
    "f1_macro": Formula(
        "macro-averaged F1", "weighted", "f1_score", 'f1_score(truth, said, average="macro", zero_division=0)'
    ),
    "f1_weighted": Formula(
        "F1 weighted by class", "labels", "f1_score", 'f1_score(truth, said, average="weighted", zero_division=0)'
    ),
    "precision": Formula(
        "precision",
        "labels",
        "precision_score",
        "precision_score(truth == POSITIVE, said == POSITIVE, zero_division=0)",
    ),
    "recall": Formula(
        "recall", "labels", "recall_score", "recall_score(truth == POSITIVE, said == POSITIVE, zero_division=0)"
    ),
    "mcc": Formula("Matthews correlation", "weighted", "matthews_corrcoef", "matthews_corrcoef(truth, said)"),
    "kappa": Formula("Cohen's kappa", "weighted", "cohen_kappa_score", "cohen_kappa_score(truth, said)"),
    "quadratic_kappa": Formula(
        "quadratically weighted kappa",
        "weighted",
        "cohen_kappa_score",
        'cohen_kappa_score(truth, said, weights="quadratic")',
    ),
    "roc_auc": Formula("area under the ROC curve", "ranking", "roc_auc_score", "roc_auc_score"),
    "average_precision": Formula("average precision", "ranking", "average_precision_score", "average_precision_score"),
    "log_loss": Formula(
        "log loss", "probabilities", "log_loss", "-log_loss(truth, outputs, labels=range(len(CLASSES)))"
    ),
}
REGRESSION: Mapping[str, Formula] = {
    "rmse": Formula("RMSE", "values", "root_mean_squared_error", "-root_mean_squared_error(truth, said)"),
    "mse": Formula("mean squared error", "values", "mean_squared_error", "-mean_squared_error(truth, said)"),
    "mae": Formula("mean absolute error", "values", "mean_absolute_error", "-mean_absolute_error(truth, said)"),
    "medae": Formula("median absolute error", "values", "median_absolute_error", "-median_absolute_error(truth, said)"),
    "mape": Formula(
        "mean absolute percentage error",
        "values",
        "",
        "-np.mean(np.abs(truth - said) / np.maximum(np.abs(truth), 1e-12))",
    ),
    "smape": Formula(
        "symmetric mean absolute percentage error",
        "values",
        "",
        "-np.mean(2 * np.abs(truth - said) / np.maximum(np.abs(truth) + np.abs(said), 1e-12))",
    ),
    "rmsle": Formula(
        "RMSE of log(1 + y)",
        "values",
        "root_mean_squared_error",
        "-root_mean_squared_error(np.log1p(truth), np.log1p(np.clip(said, 0, None)))",
    ),
    "rmse_log": Formula(
        "RMSE of log y",
        "values",
        "root_mean_squared_error",
        "-root_mean_squared_error(np.log(truth), np.log(np.clip(said, truth.min() * 0.1, None)))",
    ),
    "r2": Formula("R²", "values", "r2_score", "r2_score(truth, said)"),
}
ABSOLUTE = frozenset({"mae", "medae", "mape", "smape"})
"""Metrics of absolute errors: the models that can learn those."""
