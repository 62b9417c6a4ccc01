"""Each metric as a scikit-learn expression for the delivered package.

Expressions use `target` and `predicted`, (n,); `probabilities`, (n, k) in the order of `model.classes_`; for clusters
`features`, (n, d).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from palmette.automl.candidates import Blueprint
from palmette.automl.measure import METRICS


class MetricSource(NamedTuple):
    """The source of a metric."""

    imports: str  # the function of `sklearn.metrics`; empty for none
    expression: str

    def needs(self, name: str) -> bool:
        """Whether the expression uses this variable."""
        return name in self.expression


_ONE = "{name}(target == {positive}, predicted == {positive}, zero_division=0)"
_RANKED = "{name}(target == {positive}, probabilities[:, list(model.classes_).index({positive})])"
_CLASSES = {
    "accuracy": ("accuracy_score", "{name}(target, predicted)"),
    "balanced_accuracy": ("balanced_accuracy_score", "{name}(target, predicted)"),
    "f1_macro": ("f1_score", '{name}(target, predicted, average="macro", zero_division=0)'),
    "f1_weighted": ("f1_score", '{name}(target, predicted, average="weighted", zero_division=0)'),
    "mcc": ("matthews_corrcoef", "{name}(target, predicted)"),
    "kappa": ("cohen_kappa_score", "{name}(target, predicted)"),
    "quadratic_kappa": (
        "cohen_kappa_score",
        '{name}(target, predicted, labels=list(model.classes_), weights="quadratic")',
    ),
    "f1": ("f1_score", _ONE),
    "precision": ("precision_score", _ONE),
    "recall": ("recall_score", _ONE),
    "log_loss": ("log_loss", "{name}(target, probabilities, labels=model.classes_)"),
}
_MANY = {
    "roc_auc": ("roc_auc_score", '{name}(target, probabilities, multi_class="ovr", labels=model.classes_)'),
    "average_precision": (
        "average_precision_score",
        "{name}(np.asarray(target)[:, None] == np.asarray(model.classes_), probabilities)",
    ),
}
_TWO = {"roc_auc": ("roc_auc_score", _RANKED), "average_precision": ("average_precision_score", _RANKED)}
_NUMBERS = {
    "rmse": ("root_mean_squared_error", "{name}(target, predicted)"),
    "mse": ("mean_squared_error", "{name}(target, predicted)"),
    "mae": ("mean_absolute_error", "{name}(target, predicted)"),
    "medae": ("median_absolute_error", "{name}(target, predicted)"),
    "mape": ("", "np.mean(np.abs(target - predicted) / np.maximum(np.abs(target), 1e-12))"),
    "smape": (
        "",
        "np.mean(2 * np.abs(target - predicted) / np.maximum(np.abs(target) + np.abs(predicted), 1e-12))",
    ),
    "rmsle": ("root_mean_squared_error", "{name}(np.log1p(target), np.log1p(np.clip(predicted, 0, None)))"),
    "rmse_log": (
        "root_mean_squared_error",
        "{name}(np.log(target), np.log(np.clip(predicted, target.min() * 0.1, None)))",
    ),
    "r2": ("r2_score", "{name}(target, predicted)"),
}
_CLUSTERS = {
    "rand": ("rand_score", "{name}(target, predicted)"),
    "adjusted_rand": ("adjusted_rand_score", "{name}(target, predicted)"),
    "nmi": ("normalized_mutual_info_score", "{name}(target, predicted)"),
    "silhouette": ("silhouette_score", "{name}(features, predicted)"),
    "davies_bouldin": ("davies_bouldin_score", "{name}(features, predicted)"),
    "calinski_harabasz": ("calinski_harabasz_score", "{name}(features, predicted)"),
}


def metric_source(blueprint: Blueprint, positive: str) -> MetricSource:
    """The metric of the run; `positive` is the source of the positive class."""
    known: Mapping[str, tuple[str, str]] = {
        **_CLASSES,
        **_NUMBERS,
        **_CLUSTERS,
        **(_TWO if len(blueprint.classes) == 2 else _MANY),
    }
    name, expression = known.get(blueprint.metric, ("", ""))
    return MetricSource(name, expression.replace("{name}", name).replace("{positive}", positive))


def direction(name: str) -> str:
    """Which way is better, in words."""
    return "greater is better" if METRICS[name].greater_is_better else "smaller is better"
