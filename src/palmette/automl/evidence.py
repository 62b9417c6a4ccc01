"""What was measured of a delivered model, and of the run that made it: what a report is written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure import Predictions
from palmette.automl.measure.metrics import Floats
from palmette.engine import Spend

Measured = Literal["predictions", "importances", "curve", "timeline", "bill", "grouping"]


class Span(NamedTuple):
    """A time in which something was done, in seconds in which the run was worked on."""

    start: float
    """Since the beginning."""
    seconds: float


class Stage(NamedTuple):
    """An actor's part of the run."""

    name: str
    artefact: str
    """What it makes; empty where it never succeeded."""
    spans: tuple[Span, ...]
    """One for each time that it was called."""
    attempts: int
    failed: int
    """Of the attempts."""

    @property
    def seconds(self) -> float:
        return sum(span.seconds for span in self.spans)


class Timeline(NamedTuple):
    """The whole run."""

    seconds: float
    """In which it was worked on: waiting for people, and lying still, aside."""
    stages: tuple[Stage, ...]
    """In the order in which they began."""
    asking: float
    """Seconds in which a language model was waited for."""


class Charge(NamedTuple):
    """What an actor's calls of a language model came to."""

    actor: str
    """Empty: what was asked before the first actor."""
    role: str
    spend: Spend
    seconds: float
    """Waited, of calls in parallel the sum."""


class Trait(NamedTuple):
    """What a column is like in each group."""

    name: str
    kind: str
    """`median` or `commonest`."""
    groups: tuple[str, ...]
    apart: float
    """From 0 to 1: how much of the column's differences is between the groups."""


class Latency(NamedTuple):
    """Of a request for one row over HTTP."""

    p50: float
    """Milliseconds, median."""
    p95: float


@dataclass(frozen=True)
class Grouping:
    """Of a clustering."""

    sizes: tuple[int, ...]
    """Rows by group."""
    silhouettes: tuple[tuple[int, float], ...] = ()
    """By number of groups tried."""
    projection: Floats | None = None
    """(n, 2): rows, or some of them, in the plane."""
    groups: NDArray[np.intp] | None = None
    """(n,): the group of each row of the projection, from 0."""
    traits: tuple[Trait, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What was measured of the delivered model. Whatever is missing the report calls not measured."""

    truth: NDArray[np.generic] | None = None
    """(n,): class names as text, or numbers, of the hold-out; of the training rows where there is no hold-out."""
    predictions: Predictions | None = None
    """Of the same rows; out of fold where there is no hold-out."""
    positive: str | None = None
    """The class that curves are about, of two."""
    learnt: NDArray[np.generic] | None = None
    """(m,): class names or numbers of the training rows."""
    worth: str = "How much worse the metric becomes"
    """What the worth of a column measures, before `when it is shuffled`."""
    limits: tuple[str, ...] = ()
    """What a model of this making cannot do, in sentences."""
    timeline: Timeline | None = None
    bill: tuple[Charge, ...] | None = None
    """Nothing in it: no language model was asked."""
    latency: Latency | None = None
    """None where only the assessment's median is known, or nothing."""
    grouping: Grouping | None = None
    missing: Mapping[Measured, str] = field(default_factory=dict)
    """Why something was not measured, in a sentence."""
