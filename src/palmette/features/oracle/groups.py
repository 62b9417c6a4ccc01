"""SQL aggregate functions over the rows of a group, which may be empty.

The last digits of a sum of doubles depend on the order of the rows, which Spark does not fix. If such a sum is
rounded, cast or compared, they can decide the result. The oracle can therefore be rerun with these sums nudged.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from typing import Any, NamedTuple

from sqlglot import exp

from palmette.features.oracle.casts import in_range, to_decimal
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import Build, EvaluationScope, TypedExpression, attempted, order_key, same, to
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import BIGINT, BOOLEAN, DOUBLE, array_of
from palmette.features.spec.values import SparkType

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


class AggregateCall(NamedTuple):
    """A call of an aggregate function."""

    arguments: list[TypedExpression]
    """Row-wise expressions, evaluated for each row of the group."""
    scope: EvaluationScope
    distinct: bool


def total(values: Sequence[Any], kind: SparkType) -> tuple[SparkType, Any]:
    """Spark's sum: bigint for integers, a decimal ten digits wider for decimals, else double."""
    if kind.is_integer:
        return BIGINT, in_range(sum(values), BIGINT) if values else None
    if kind.name == "decimal":
        wide = c.bounded(kind.precision + 10, kind.scale)
        return wide, to_decimal(sum(values, Decimal(0)), wide) if values else None
    return DOUBLE, sum_of(values) if values else None


def mean(values: Sequence[Any], kind: SparkType) -> tuple[SparkType, Any]:
    """Spark's avg: a decimal four digits wider for decimals, else double."""
    if kind.name == "decimal":
        narrow = c.bounded(kind.precision + 4, kind.scale + 4)
        exact = to_decimal(sum(values, Decimal(0)) / len(values), narrow) if values else None
        return narrow, exact
    if not values:
        return DOUBLE, None
    return DOUBLE, float(Fraction(sum(values), len(values))) if kind.is_integer else total(values, kind)[1] / len(
        values
    )


def deviation(values: Sequence[Any], sample: bool = True, square: bool = False) -> float | None:
    """Standard deviation, or variance if `square`; null for no values, and for one value if `sample`."""
    if len(values) < (2 if sample else 1):
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    numbers = [Fraction(value) for value in values]
    middle = sum(numbers) / len(numbers)
    spread = inexact(float(sum((number - middle) ** 2 for number in numbers) / (len(numbers) - sample)))
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
    rows: dict[Any, list[Any]] = {}
    first: dict[Any, Any] = {}
    for row, value in pairs:
        key = _hashable(value)
        rows.setdefault(key, []).append(row)
        first.setdefault(key, value)
    ranks = {key: found for key, members in rows.items() if (found := rank(members)) is not None}
    return [first[key] for key in sorted(ranks, key=lambda key: (order_key(-ranks[key]), order_key(first[key])))]


def mode(values: Sequence[Any]) -> Any:
    """The most frequent value; the smallest one in case of a tie."""
    return next(iter(ranked((value, value) for value in values)), None)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else order_key(value)


def distinct(values: Sequence[Any]) -> list[Any]:
    return list({_hashable(value): value for value in reversed(values)}.values())[::-1]


def _values(call: AggregateCall, rows: Sequence[Any], index: int = 0) -> list[Any]:
    run = call.arguments[index].run
    values = [value for value in (run(row) for row in rows) if value is not None]
    return distinct(values) if call.distinct else values


def _count(call: AggregateCall) -> TypedExpression:
    runs = [item.run for item in call.arguments]

    def run(rows: Any) -> int:
        found = [tuple(each(row) for each in runs) for row in rows]
        known = [values for values in found if all(value is not None for value in values)]
        return len({_hashable(list(values)) for values in known}) if call.distinct else len(known)

    return TypedExpression(BIGINT, run)


def _summary(
    function: Callable[[Sequence[Any], SparkType], tuple[SparkType, Any]], call: AggregateCall
) -> TypedExpression:
    if not call.arguments[0].kind.is_numeric:
        call = call._replace(arguments=[to(call.arguments[0], DOUBLE, call.scope.zone)])
    kind = call.arguments[0].kind
    return TypedExpression(function([], kind)[0], lambda rows: function(_values(call, rows), kind)[1])


def _plain(
    kind: SparkType | None,
    function: Callable[[Sequence[Any]], Any],
    call: AggregateCall,
    argument: SparkType | None = None,
) -> TypedExpression:
    """A function of the non-null values, cast to `argument` if given; `kind` defaults to their type."""
    if argument is not None:
        call = call._replace(arguments=[to(call.arguments[0], argument, call.scope.zone)])
    return TypedExpression(kind or call.arguments[0].kind, lambda rows: function(_values(call, rows)))


def _extreme(pick: Any, values: Sequence[Any]) -> Any:
    return pick(values, key=order_key) if values else None


def _by(pick: Any, call: AggregateCall) -> TypedExpression:
    """max_by and min_by; a tie between different values is unsupported because Spark may return either."""
    if len(call.arguments) > 2:
        raise NotCovered("max_by or min_by of several values")
    value, rank = (item.run for item in call.arguments)

    def run(rows: Any) -> Any:
        ranked = [(order_key(place), value(row)) for row in rows if (place := rank(row)) is not None]
        if not ranked:
            return None
        best = pick(place for place, _ in ranked)
        winners = [found for place, found in ranked if place == best]
        if any(not _alike(found, winners[0]) for found in winners):
            raise NotCovered("a tie, which leaves max_by or min_by undetermined")
        return winners[0]

    return TypedExpression(call.arguments[0].kind, run)


def _alike(one: Any, other: Any) -> bool:
    return (one is None and other is None) if one is None or other is None else same(one, other)


def _undetermined(call: AggregateCall) -> TypedExpression:
    """first, last, any_value; supported only if all rows have the same value."""
    run_value = call.arguments[0].run
    skip = len(call.arguments) > 1 and bool(call.arguments[1].value())

    def run(rows: Any) -> Any:
        values = [value for value in map(run_value, rows) if value is not None or not skip]
        if any(not _alike(value, values[0]) for value in values):
            raise NotCovered("first, last or any_value, which depend on the order of the rows")
        return values[0] if values else None

    return TypedExpression(call.arguments[0].kind, run)


def _collected(call: AggregateCall, as_set: bool) -> TypedExpression:
    """An array in an order that Spark does not fix; returned sorted."""

    def run(rows: Any) -> list[Any]:
        values = _values(call, rows)
        return sorted(distinct(values) if as_set else values, key=order_key)

    return TypedExpression(array_of(call.arguments[0].kind), run)


def _quantile(approximate: bool, call: AggregateCall) -> TypedExpression:
    if len(call.arguments) > 2 and not approximate:
        raise NotCovered("percentile with frequencies")
    item, share = call.arguments[:2]
    find, kind = (nth, item.kind) if approximate else (percentile, DOUBLE)
    if share.kind.name == "array":
        shares = [float(p) for p in share.run({})]
        return TypedExpression(
            array_of(kind),
            lambda rows: [find(values, p) for p in shares] if (values := _values(call, rows)) else None,
        )
    p = float(share.value())
    return TypedExpression(kind, lambda rows: find(_values(call, rows), p))


def _asymmetry(values: Sequence[float], power: int) -> float | None:
    """Skewness (`power` 3) or excess kurtosis (4) of the population; null if all values are equal."""
    if not all(map(math.isfinite, values)):
        return math.nan
    middle = Fraction(sum(map(Fraction, values)), max(len(values), 1))
    square, moment = (sum((Fraction(value) - middle) ** n for value in values) for n in (2, power))
    if not square:
        return None
    found = float(moment) * len(values) ** (power / 2 - 1) / float(square) ** (power / 2)
    return inexact(found - 3 if power == 4 else found)


def _line(pairs: list[tuple[float, float]], wanted: str) -> float | None:
    """Slope, intercept or r2 of the line through pairs of y and x; null if all x are equal."""
    ys, xs = zip(*pairs, strict=True) if pairs else ((), ())
    spread, together = deviation(xs, sample=False, square=True), _covariance(pairs, False)
    if not spread or together is None:
        return None
    slope = together / spread
    if wanted == "intercept":
        return math.fsum(ys) / len(ys) - slope * math.fsum(xs) / len(xs)
    if wanted == "slope":
        return slope
    correlation = _correlation(pairs)
    return 1.0 if correlation is None else correlation**2


def _bits(combine: Callable[[int, int], int], call: AggregateCall) -> TypedExpression:
    return _plain(None, lambda values: reduce(combine, values) if values else None, call)


_truth = partial(_plain, argument=BOOLEAN)
_numbers = partial(_plain, DOUBLE, argument=DOUBLE)


def _pairs(function: Callable[[list[tuple[float, float]]], Any], call: AggregateCall) -> TypedExpression:
    one, other = (to(item, DOUBLE, call.scope.zone).run for item in call.arguments)

    def run(rows: Any) -> Any:
        found = [(one(row), other(row)) for row in rows]
        return function([(a, b) for a, b in found if a is not None and b is not None])

    return TypedExpression(DOUBLE, run)


def _covariance(pairs: list[tuple[float, float]], sample: bool) -> float | None:
    if len(pairs) < (2 if sample else 1):
        return None
    a, b = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return inexact(math.fsum((x - a) * (y - b) for x, y in pairs) / (len(pairs) - sample))


def _correlation(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < 2:
        return None
    together = _covariance(pairs, False)
    one, other = (deviation(column, sample=False) for column in zip(*pairs, strict=True))
    return None if not one or not other or together is None else together / (one * other)


AGGREGATES: dict[str, Callable[[AggregateCall], TypedExpression]] = {
    "count": _count,
    "count_if": partial(_truth, BIGINT, lambda values: sum(values)),
    "approx_count_distinct": lambda call: _count(call._replace(arguments=call.arguments[:1], distinct=True)),
    "sum": partial(_summary, total),
    "avg": partial(_summary, mean),
    "mean": partial(_summary, mean),
    "min": partial(_plain, None, partial(_extreme, min)),
    "max": partial(_plain, None, partial(_extreme, max)),
    "stddev": partial(_numbers, deviation),
    "stddev_samp": partial(_numbers, deviation),
    "std": partial(_numbers, deviation),
    "stddev_pop": partial(_numbers, partial(deviation, sample=False)),
    "variance": partial(_numbers, partial(deviation, square=True)),
    "var_samp": partial(_numbers, partial(deviation, square=True)),
    "var_pop": partial(_numbers, partial(deviation, sample=False, square=True)),
    "percentile": partial(_quantile, False),
    "percentile_approx": partial(_quantile, True),
    "approx_percentile": partial(_quantile, True),
    "median": partial(_numbers, partial(percentile, p=0.5)),
    "bool_or": partial(_truth, BOOLEAN, lambda values: any(values) if values else None),
    "bool_and": partial(_truth, BOOLEAN, lambda values: all(values) if values else None),
    "max_by": partial(_by, max),
    "min_by": partial(_by, min),
    "first": _undetermined,
    "first_value": _undetermined,
    "last": _undetermined,
    "last_value": _undetermined,
    "any_value": _undetermined,
    "collect_list": partial(_collected, as_set=False),
    "array_agg": partial(_collected, as_set=False),
    "collect_set": partial(_collected, as_set=True),
    "covar_samp": partial(_pairs, partial(_covariance, sample=True)),
    "covar_pop": partial(_pairs, partial(_covariance, sample=False)),
    "corr": partial(_pairs, _correlation),
    "skewness": partial(_numbers, partial(_asymmetry, power=3)),
    "kurtosis": partial(_numbers, partial(_asymmetry, power=4)),
    **{f"regr_{name}": partial(_pairs, partial(_line, wanted=name)) for name in ("slope", "intercept", "r2")},
    **{f"bit_{name}": partial(_bits, getattr(operator, f"{name}_")) for name in ("and", "or")},
    "bit_xor": partial(_bits, operator.xor),
    "try_sum": lambda call: attempted(_summary(total, call)),
    "try_avg": lambda call: attempted(_summary(mean, call)),
}
AGGREGATES |= {"some": AGGREGATES["bool_or"], "any": AGGREGATES["bool_or"], "every": AGGREGATES["bool_and"]}


def aggregate(name: str, nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    """Compiles a call of an aggregate function; its `run` takes the rows of the group."""
    rows = replace(scope, groups=False)
    unique = bool(nodes) and isinstance(nodes[0], exp.Distinct)
    inner = [*nodes[0].expressions, *nodes[1:]] if unique else list(nodes)
    if any(isinstance(node, exp.Star) for node in inner):
        inner = []
    if not inner and name != "count":
        raise NotCovered(f"{name} without an argument")
    return AGGREGATES[name](AggregateCall([build(node, rows) for node in inner], rows, unique))


def modified(node: Any, scope: EvaluationScope, build: Build) -> TypedExpression:
    """FILTER (WHERE ...), IGNORE NULLS and WITHIN GROUP around an aggregate function."""
    if isinstance(node, exp.Filter):
        inner, rows = build(node.this, scope), replace(scope, groups=False)
        test = to(build(node.expression.this, rows), BOOLEAN, scope.zone).run
        return TypedExpression(inner.kind, lambda group: inner.run([row for row in group if test(row) is True]))
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.Anonymous):
        return aggregate(str(node.this.this).lower(), [*node.this.expressions, exp.true()], scope, build)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, scope, build)
    raise NotCovered(f"{node.sql(dialect='spark')}")


def _within_group(node: Any, scope: EvaluationScope, build: Build) -> TypedExpression:
    name = str(node.this.this).lower()
    ordered = node.expression.expressions
    if name != "percentile_cont" or len(ordered) != 1:
        raise NotCovered(f"{node.sql(dialect='spark')}")
    p = float(build(node.this.expressions[0], scope).value())
    return aggregate(
        "percentile", [ordered[0].this, exp.Literal.number(1 - p if ordered[0].args.get("desc") else p)], scope, build
    )
