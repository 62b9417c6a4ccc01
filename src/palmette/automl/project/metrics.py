"""The metric of a run as a scikit-learn expression for the delivered package; see `metrics.yaml`."""

import re
from pathlib import Path
from typing import NamedTuple

from palmette.automl.candidates import Blueprint
from palmette.automl.measure import METRICS
from palmette.documents import read_plain


class MetricSource(NamedTuple):
    """The source of a metric."""

    imports: str  # the function of `sklearn.metrics`; empty for none
    expression: str

    def needs(self, name: str) -> bool:
        """Whether the expression uses this variable."""
        return name in self.expression


def metric_source(blueprint: Blueprint, positive: str) -> MetricSource:
    """The metric of the run; `positive` is the source of the positive class."""
    known: dict[str, dict[str, str]] = read_plain(Path(__file__).with_suffix(".yaml"))
    ranked = known["two_classes" if len(blueprint.classes) == 2 else "many_classes"]
    expression = {**known["every"], **ranked}.get(blueprint.metric, "").replace("{positive}", positive)
    function = re.match(r"(\w+)\(", expression)
    return MetricSource(function[1] if function else "", expression)


def direction(name: str) -> str:
    """Which way is better, in words."""
    return "greater is better" if METRICS[name].greater_is_better else "smaller is better"
