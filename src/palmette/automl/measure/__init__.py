"""What the harness measures of predictions: scores, their intervals, and error reduction over a dummy."""

from palmette.automl.measure.intervals import ScoreInterval, Units, blocks, difference, interval
from palmette.automl.measure.metrics import (
    METRICS,
    MOVED,
    Floats,
    Metric,
    Predictions,
    Task,
    classes_of,
    error_reduction,
    in_order,
    score,
    undefined,
)
from palmette.automl.measure.scorer import LEARN, RESTORE, Scale, Scorer, SupervisedScorer

__all__ = [
    "LEARN", "METRICS", "MOVED", "RESTORE", "Floats", "Metric", "Predictions", "Scale", "ScoreInterval", "Scorer",
    "SupervisedScorer", "Task", "Units", "blocks", "classes_of", "difference", "error_reduction", "in_order",
    "interval", "score", "undefined",
]  # fmt: skip
