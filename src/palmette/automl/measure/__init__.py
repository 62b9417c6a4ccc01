"""What the harness measures of predictions: scores, their intervals, and error reduction over a dummy."""

from palmette.automl.measure.intervals import ScoreInterval, Units, blocks, difference, interval
from palmette.automl.measure.metrics import METRICS, Metric, Predictions, error_reduction, metric_of, score, undefined

__all__ = [
    "METRICS", "Metric", "Predictions", "ScoreInterval", "Units", "blocks", "difference", "error_reduction",
    "interval", "metric_of", "score", "undefined",
]  # fmt: skip
