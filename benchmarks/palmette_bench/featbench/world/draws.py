"""What columns are drawn from: identifiers with heavy tails, instants with seasons, late arrivals, unreadable texts."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers = np.ndarray[Any, np.dtype[Any]]
CUTOFF = dt.datetime(2025, 4, 1, tzinfo=dt.UTC)
"""The cut-off of the tasks; ten days of rows come after it."""
DAYS, AFTER, INTERACTION_DAYS = 190, 10, 70
"""Days of history, of which the last `AFTER` are after the cut-off; interactions are kept for fewer."""
EDGES = (0, 7, 30, 60, 90)
"""Days before the cut-off at whose first instant some events lie."""
SECOND, DAY = 1_000_000, 86_400_000_000
INSTANT = int(CUTOFF.timestamp()) * SECOND
"""The cut-off, in microseconds since the epoch."""
NAMES = ("FRESHMART", "CAFE SOL", "SKYWAYS", "NORTH AND SON", "VOLTA", "HEARTH")
CITIES = ("LYON", "PORTO", "GHENT", "TURIN", "")


class Sizes(NamedTuple):
    """How many of each there are."""

    users: int
    offers: int
    merchants: int
    interactions: int

    @classmethod
    def of(cls, rows: int) -> Sizes:
        return cls(max(40, rows // 25), max(20, min(5_000, rows // 60)), max(15, min(20_000, rows // 100)), rows)


class Chunk(NamedTuple):
    """What a chunk of rows is drawn from."""

    random: np.random.Generator
    sizes: Sizes
    first: int
    """Number of the chunk's first row."""
    rows: int


def ids(part: Chunk, highest: int) -> Numbers:
    """Identifiers 1 to `highest`, a few of them far more often than the others."""
    rank = (highest * part.random.random(part.rows) ** 2.5).astype(np.int64)
    return rank * 1_000_003 % highest + 1


def numbers(part: Chunk) -> Numbers:
    return np.arange(part.first + 1, part.first + part.rows + 1)


def instants(part: Chunk) -> Numbers:
    """Microseconds since the epoch, in whole seconds."""
    days = [CUTOFF + dt.timedelta(days=n) for n in range(AFTER - DAYS, AFTER)]
    weights = np.array([weight(day) for day in days])
    day = part.random.choice(DAYS, part.rows, p=weights / weights.sum()) - (DAYS - AFTER)
    at = INSTANT + day * DAY + clock(part)
    edge = part.random.random(part.rows) < 0.03
    return np.where(edge, INSTANT - part.random.choice(EDGES, part.rows) * DAY, at)


def weight(day: dt.datetime) -> float:
    return (1.6 if day.weekday() >= 5 else 1.0) * (1.8 if day.month == 12 and 10 <= day.day <= 24 else 1.0)


def clock(part: Chunk) -> Numbers:
    """Time of the day: evenings are busier; one in a hundred is exactly midnight."""
    hour = np.clip(part.random.normal(17, 4.5, part.rows), 0, 23.999)
    seconds = (hour * 3600).astype(np.int64) * (part.random.random(part.rows) > 0.01)
    return seconds * SECOND


def arrivals(part: Chunk, at: Numbers) -> Numbers:
    """When the rows can be read: seconds later mostly, up to six days for one in fifteen, some just at the cut-off."""
    late = part.random.random(part.rows) < 1 / 15
    delay = np.where(late, part.random.integers(3600, 6 * 86400, part.rows), part.random.integers(1, 90, part.rows))
    held = (at < INSTANT) & (at >= INSTANT - 3 * DAY) & (part.random.random(part.rows) < 0.1)
    return np.where(held, INSTANT, at + delay * SECOND)


def times(micros: Numbers) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


def dates(days: Numbers) -> pa.Array:
    """Dates, given as days from the cut-off."""
    return pa.array(days + INSTANT // DAY, pa.int32()).cast(pa.date32())


def picked(part: Chunk, values: tuple[str, ...], missing: float = 0.0) -> pa.Array:
    """Values, the first ones oftenest, some missing."""
    weights = 1 / np.arange(1, len(values) + 1)
    return text(values, part.random.choice(len(values), part.rows, p=weights / weights.sum()), part, missing)


def text(values: tuple[str, ...] | pa.Array, index: Numbers, part: Chunk, missing: float = 0.0) -> pa.Array:
    gone = part.random.random(part.rows) < missing
    return pa.array(values, pa.string()).take(pa.array(index, mask=gone))


def money(part: Chunk, mean: float, missing: float = 0.02) -> pa.Array:
    """Amounts with a heavy tail, zero now and then."""
    cents = (part.random.lognormal(np.log(mean), 0.9, part.rows) * 100).astype(np.int64)
    cents *= part.random.random(part.rows) > 0.01
    amounts = pa.array(cents / 100, mask=part.random.random(part.rows) < missing)
    return amounts.cast(pa.decimal128(12, 2), safe=False)


def unreadable(values: pa.Array, part: Chunk, share: float = 0.03) -> pa.Array:
    """Values as text, some of them `n/a`."""
    return pc.if_else(pa.array(part.random.random(part.rows) < share), "n/a", values.cast(pa.string()))


def keys(index: Numbers) -> pa.Array:
    """Merchant keys: m1, m2, ..."""
    return pc.binary_join_element_wise("m", pa.array(index).cast(pa.string()), "")


def descriptors(part: Chunk, merchants: Numbers) -> pa.Array:
    """Merchant texts `NAME*CITY*KEY`; one in fifty has the name only."""
    names = text(NAMES, merchants % len(NAMES), part)
    full = pc.binary_join_element_wise(names, picked(part, CITIES), keys(merchants), "*")
    return pc.if_else(pa.array(part.random.random(part.rows) < 0.02), names, full)
