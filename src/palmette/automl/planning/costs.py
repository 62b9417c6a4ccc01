"""What a candidate will cost before it is trained: seconds, megabytes, milliseconds, scaled from measurements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from palmette.documents import Model, read_document

DEAREST = "tabm"
"""The algorithm whose costs are taken for one that was never measured."""


class Measured(Model):
    """What a model of one fold costs."""

    seconds: float
    """To train on few rows."""
    seconds_per_cell: float = 0.0
    """More for every cell (rows times features) of the training rows."""
    seconds_per_pair: float = 0.0
    """More for every pair of training rows."""
    kilobytes: float
    """Of its file on few rows."""
    kilobytes_per_row: float = 0.0
    """More for every training row."""
    milliseconds: float
    """To answer for one row that is prepared."""
    grows_with_classes: bool = False
    """Whether there is one model for each of three or more classes."""


class Costs(Model):
    """The table of measurements."""

    how: str
    """Where and how they were measured."""
    milliseconds: float
    """To prepare one row, whatever answers."""
    algorithms: Mapping[str, Measured]


class Size(NamedTuple):
    """What the cost of a candidate depends on."""

    rows: int
    """To learn from."""
    features: int
    outputs: int
    """Classes where there are three or more, else 1."""
    folds: int


class Cost(NamedTuple):
    """Of a candidate in all folds."""

    seconds: float
    megabytes: float
    milliseconds: float


@cache
def costs() -> Costs:
    """The table; read once."""
    return read_document(Path(__file__).with_name("costs.yaml"), Costs)


def cost(algorithm: str, size: Size) -> Cost:
    """What an algorithm costs on data of this size; the most that was measured, where it never was."""
    one = costs().algorithms.get(algorithm) or costs().algorithms[DEAREST]
    times = size.folds * (size.outputs if one.grows_with_classes else 1)
    growing = one.seconds_per_cell * size.rows * size.features + one.seconds_per_pair * size.rows**2
    return Cost(
        seconds=_figure(times * (one.seconds + growing)),
        megabytes=_figure(times * (one.kilobytes + one.kilobytes_per_row * size.rows) / 1000),
        milliseconds=_figure(costs().milliseconds + size.folds * one.milliseconds),
    )


def _figure(value: float) -> float:
    """Two significant digits: an estimate is not better known."""
    return float(f"{value:.2g}")
