"""Summaries of values: sums, moments, ranks and orders.

The last digits of a sum of doubles depend on the order of the rows, which Spark does not fix. If such a sum is
rounded, cast or compared, they can decide the result. The oracle can therefore be rerun with these sums nudged.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from palmette.features.oracle.casts import in_range, to_decimal
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import Run, nulls_first, order_key, same
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import BIGINT
from palmette.features.spec.values import EXACT, SparkType

NUDGES = (1e-12, -1e-12)
"""Relative size; far above the effect of row order on a sum, far below the tolerance of comparisons."""
_NUDGE: ContextVar[float] = ContextVar("nudge", default=0.0)
_EXACT = 1 << 53


@contextmanager
def nudged(by: float) -> Iterator[None]:
    """Within this context, sums that depend on the order of the rows are larger by this fraction."""
    token = _NUDGE.set(by)
    try:
        yield
    finally:
        _NUDGE.reset(token)


def sum_of(values: Sequence[float]) -> float:
    """The exact sum, rounded once, and nudged if it depends on the order of the rows."""
    if not all(map(math.isfinite, values)):
        return sum(values)
    found = math.fsum(values)
    return found if not _NUDGE.get() or _is_exact(values) else inexact(found)


def inexact(value: float) -> float:
    """Applies the nudge to a value whose last digits depend on the order of the rows."""
    return value * (1 + _NUDGE.get())


def _is_exact(values: Sequence[float]) -> bool:
    """Whether the sum is the same for every order of adding, because no partial sum is ever rounded."""
    fractions = [abs(Fraction(value)) for value in values]
    return sum(fractions) * max((item.denominator for item in fractions), default=1) <= _EXACT


def total(values: Sequence[Any], kind: SparkType) -> Any:
    """Spark's sum of values of a numeric type; null for no values."""
    if not values:
        return None
    if kind.is_integer:
        return in_range(sum(values), BIGINT)
    wide = c.sum_type(kind)
    return to_decimal(_added(values), wide) if wide and kind.name == "decimal" else sum_of(values)


def _added(decimals: Sequence[Decimal]) -> Decimal:
    return reduce(EXACT.add, decimals, Decimal(0))


def mean(values: Sequence[Any], kind: SparkType) -> Any:
    """Spark's avg of values of a numeric type; null for no values."""
    if not values:
        return None
    if kind.is_integer:
        return float(Fraction(sum(values), len(values)))
    if kind.name == "decimal":
        return to_decimal(EXACT.divide(_added(values), len(values)), c.average_type(kind))
    return sum_of(values) / len(values)


def deviation(values: Sequence[Any], sample: bool = True, square: bool = False) -> float | None:
    """Standard deviation, or variance if `square`; null for no values, and for one value if `sample`."""
    if len(values) < (2 if sample else 1):
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    variance = statistics.variance if sample else statistics.pvariance
    spread = inexact(float(variance([Fraction(value) for value in values])))
    return spread if square else math.sqrt(spread)


def percentile(values: Sequence[Any], p: float) -> float | None:
    """Interpolates linearly between the two nearest values."""
    if not values:
        return None
    ordered = sorted(map(float, values), key=order_key)
    place = p * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return ordered[low]
    return (high - place) * ordered[low] + (place - low) * ordered[high]


def nth(values: Sequence[Any], p: float) -> Any:
    """The smallest value such that at least the share `p` of the values is at or below it; null for no values."""
    ordered = sorted(values, key=order_key)
    return ordered[max(math.ceil(p * len(ordered)) - 1, 0)] if ordered else None


def ranked(pairs: Iterable[tuple[Any, Any]], rank: Callable[[list[Any]], Any] = len) -> list[Any]:
    """Distinct values of pairs of a row and a value, by the rank of their rows.

    The highest rank comes first, ties are sorted by value, and values without a rank are left out.
    """
    groups: dict[Any, tuple[Any, list[Any]]] = {}
    for row, value in pairs:
        groups.setdefault(order_key(value), (value, []))[1].append(row)
    ranks = {key: found for key, (_, rows) in groups.items() if (found := rank(rows)) is not None}
    return [groups[key][0] for key in sorted(sorted(ranks), key=lambda key: order_key(ranks[key]), reverse=True)]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once, at its last position."""
    return list({order_key(value): value for value in reversed(values)}.values())[::-1]


def in_order(pairs: list[tuple[Any, Any]], keys: Sequence[tuple[Run, bool]], what: str) -> list[Any]:
    """The values of pairs of a row and a value, sorted by keys (a function of the row, and whether it descends).

    Raises:
        NotCovered: different values tie.
    """
    for key, descending in reversed(keys):
        pairs.sort(key=lambda pair: nulls_first(key(pair[0])), reverse=descending)
    for (one, value), (other, following) in pairwise(pairs):
        if not same(value, following) and all(same(key(one), key(other)) for key, _ in keys):
            raise NotCovered(f"a tie in the order of {what}")
    return [value for _, value in pairs]


def asymmetry(values: Sequence[float], power: int) -> float | None:
    """Skewness (`power` 3) or excess kurtosis (4) of the population; null if all values are equal."""
    if not all(map(math.isfinite, values)):
        return math.nan
    middle = Fraction(sum(map(Fraction, values)), max(len(values), 1))
    square, moment = (sum((Fraction(value) - middle) ** n for value in values) for n in (2, power))
    if not square:
        return None
    found = float(moment) * len(values) ** (power / 2 - 1) / float(square) ** (power / 2)
    return inexact(found - 3 if power == 4 else found)


def line(pairs: list[tuple[float, float]], wanted: str) -> float | None:
    """Slope, intercept or r2 of the line through pairs of y and x; null if all x are equal."""
    ys, xs = zip(*pairs, strict=True) if pairs else ((), ())
    spread, together = deviation(xs, sample=False, square=True), covariance(pairs, False)
    if not spread or together is None:
        return None
    slope = together / spread
    if wanted == "intercept":
        return math.fsum(ys) / len(ys) - slope * math.fsum(xs) / len(xs)
    if wanted == "slope":
        return slope
    found = correlation(pairs)
    return 1.0 if found is None else found**2


def covariance(pairs: list[tuple[float, float]], sample: bool) -> float | None:
    if len(pairs) < (2 if sample else 1):
        return None
    a, b = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return inexact(math.fsum((x - a) * (y - b) for x, y in pairs) / (len(pairs) - sample))


def correlation(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < 2:
        return None
    together = covariance(pairs, False)
    one, other = (deviation(column, sample=False) for column in zip(*pairs, strict=True))
    return None if not one or not other or together is None else together / (one * other)
