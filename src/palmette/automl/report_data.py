"""What a problem gives to the report: true values beside predictions, and what only it can measure."""

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
    statistic: str
    """`median` or `most frequent`."""
    values: tuple[str, ...]
    """One for each cluster, as it is shown."""
    separation: float
    """From 0 to 1: how much of the column's variance lies between the clusters."""


@dataclass(frozen=True)
class ClusterResults:
    """The clusters of the training rows."""

    sizes: tuple[int, ...]
    """Rows by cluster."""
    silhouettes: tuple[tuple[int, float], ...] = ()
    """By number of clusters tried."""
    projection: Floats | None = None
    """(n, 2): rows, or some of them, in the plane."""
    labels: NDArray[np.intp] | None = None
    """(n,): the cluster of each row of the projection, from 0."""
    columns: tuple[ColumnByCluster, ...] = ()


@dataclass(frozen=True)
class DrawnForecast:
    """A forecast with what came before and what came then."""

    title: str
    before: Floats
    """(k,): the last values that were known."""
    truth: Floats
    """(horizon,): NaN where it is not known."""
    values: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of the hold-out."""

    drawn: tuple[DrawnForecast, ...]
    count: int
    """Values that were forecast and are known."""
    promised: float = 0.0
    """Share of the values that bands should hold; 0 without bands."""
    inside: float | None = None
    """Share that they hold."""


@dataclass(frozen=True)
class ReportData:
    """What is drawn in the report; it reports whatever is absent as not measured."""

    truth: NDArray[np.generic] | None = None
    """(n,): class names as text, or numbers, of the hold-out; of the training rows where there is no hold-out."""
    predictions: Predictions | None = None
    """Of the same rows; out of fold where there is no hold-out."""
    positive: str | None = None
    """The class that curves are about, of two."""
    importance: str = "How much worse the metric becomes"
    """What the importance of a column measures; `when it is shuffled` follows."""
    limits: tuple[str, ...] = ()
    """What a model of this kind cannot do, in sentences."""
    clustering: ClusterResults | None = None
    forecasts: Forecasts | None = None
    missing: Mapping[Measured, str] = field(default_factory=dict)
    """Why something was not measured, in a sentence."""
