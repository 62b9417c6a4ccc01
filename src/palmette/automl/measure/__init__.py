"""What the harness measures of predictions: scores, their intervals, and what they are worth beside a dummy."""

from palmette.automl.measure.intervals import Interval, Units, blocks, difference, interval
from palmette.automl.measure.metrics import METRICS, Metric, Predictions, metric_of, score, skill, undefined

__all__ = [
    "METRICS",
    "Interval",
    "Metric",
    "Predictions",
    "Units",
    "blocks",
    "difference",
    "interval",
    "metric_of",
    "score",
    "skill",
    "undefined",
]
