"""What a problem provides for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure import Predictions
from palmette.automl.measure.metrics import Floats

Measured = Literal["predictions", "importances", "clustering"]


class ColumnByCluster(NamedTuple):
    """A column's values in each cluster."""

    name: str
    statistic: str  # `median`, `most frequent` or `typical words`
    values: tuple[str, ...]  # one for each cluster, as text
    separation: float  # share of the column's variance between clusters, 0 to 1


@dataclass(frozen=True)
class ClusterResults:
    """The clusters of the training rows."""

    sizes: tuple[int, ...]  # number of rows by cluster
    silhouettes: tuple[tuple[int, float], ...] = ()  # silhouette by number of clusters
    projection: Floats | None = None  # (n, 2): some rows in the plane
    labels: NDArray[np.intp] | None = None  # (n,): the cluster of each row of the projection
    columns: tuple[ColumnByCluster, ...] = ()


@dataclass(frozen=True)
class DrawnForecast:
    """A forecast with the values before it and the true values."""

    title: str
    before: Floats  # (k,): the last known values
    truth: Floats  # (horizon,): NaN where unknown
    values: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of the hold-out."""

    drawn: tuple[DrawnForecast, ...]
    count: int  # forecast values with a known truth
    promised: float = 0.0  # nominal coverage of the bands; 0 without bands
    inside: float | None = None  # measured coverage


@dataclass(frozen=True)
class ReportData:
    """Results for the report; what is missing is reported as not measured."""

    truth: NDArray[np.generic] | None = None
    """(n,): class names or numbers of the hold-out, or of the training rows if there is none."""
    predictions: Predictions | None = None
    """Predictions for the same rows, out of fold if there is no hold-out."""
    positive: str | None = None  # the positive class of two
    importance: str = "How much worse the metric becomes"
    """What importance measures; `when a column ... is shuffled` follows."""
    limits: tuple[str, ...] = ()  # limits of such models, in sentences
    clustering: ClusterResults | None = None
    forecasts: Forecasts | None = None
    missing: Mapping[Measured, str] = field(default_factory=dict)
    """Reasons for missing measurements, in sentences."""
