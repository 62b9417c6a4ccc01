"""Sums of doubles: their last digits depend on the order of the rows, which is Spark's to choose.

Where such a sum is rounded, cast or compared afterwards, its last digit can decide. So the oracle can be asked again
with all sums nudged that the order can be felt in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

NUDGES = (1e-12, -1e-12)
"""Relative; far above what an order can do to a sum, far below the tolerance of a comparison."""
_NUDGE: ContextVar[float] = ContextVar("nudge", default=0.0)
_EXACT = 1 << 53


@contextmanager
def nudged(by: float) -> Iterator[None]:
    """Sums that depend on the order of the rows come out larger by this fraction of theirs."""
    token = _NUDGE.set(by)
    try:
        yield
    finally:
        _NUDGE.reset(token)


def sum_of(values: Sequence[float]) -> float:
    """The sum, rounded once."""
    if not all(map(math.isfinite, values)):
        return sum(values)
    found = math.fsum(values)
    return found if not _NUDGE.get() or _is_exact(values) else inexact(found)


def inexact(value: float) -> float:
    """A value whose last digits depend on the order of the rows."""
    return value * (1 + _NUDGE.get())


def _is_exact(values: Sequence[float]) -> bool:
    """Whether every order of adding gives the same: no partial sum is ever rounded."""
    fractions = [abs(Fraction(value)) for value in values]
    return sum(fractions) * max((item.denominator for item in fractions), default=1) <= _EXACT
