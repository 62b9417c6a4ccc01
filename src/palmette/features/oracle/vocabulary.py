"""The closed set of aggregation functions, by definition, over the rows of one entity in one window."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle.clock import MICROSECOND
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.expression import compile_group, compile_row
from palmette.features.oracle.states import Row
from palmette.features.oracle.summaries import distinct, in_order, ranked
from palmette.features.oracle.typed import PartialSchema, TypedExpression, to
from palmette.features.spec import Aggregate, SparkType
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import result_type

DAY = 86_400_000_000
_SQL = {
    "count": "count({of})",
    "count_distinct": "count(DISTINCT {of})",
    "approx_count_distinct": "count(DISTINCT {of})",
    "exists": "count({of}) > 0",
    **{name: f"{name}({{of}})" for name in ("sum", "avg", "min", "max", "stddev")},
    "share": "avg(CAST(CAST(({of}) AS boolean) AS double))",
    "percentile": "percentile{approximate}({of}, {p})",
}
"""Functions that are SQL aggregates."""
_OF_NUMBERS = ("sum", "avg", "stddev")  # those of them that SQL would apply to text and times, too


@dataclass(frozen=True)
class AggregatedRows:
    """The rows to aggregate, with the cut-off and their event times."""

    rows: Sequence[Row]
    cutoff: datetime
    event: Callable[[Row], datetime | None]


@dataclass(frozen=True)
class CompiledAggregate:
    """An aggregation with its expressions compiled."""

    aggregate: Aggregate
    of: TypedExpression | None
    weight: TypedExpression | None
    rank: Callable[[list[Row]], Any]

    def pairs(self, group: AggregatedRows) -> list[tuple[Row, Any]]:
        """Rows with their values of `of`, without nulls."""
        if self.of is None:
            return [(row, True) for row in group.rows]
        return [(row, value) for row in group.rows if (value := self.of.run(row)) is not None]


def compile_aggregate(
    aggregate: Aggregate, schema: PartialSchema, zone: ZoneInfo
) -> tuple[SparkType, Callable[[AggregatedRows], Any]]:
    """The result type of an aggregation, and a function that computes it."""
    of = compile_row(aggregate.of, schema, zone) if aggregate.of is not None else None
    if aggregate.function in _OF_NUMBERS and of is not None and not of.kind.is_numeric:
        raise NotCovered(f"{aggregate.function} of {of.kind}")
    if aggregate.function in _SQL:
        approximate = "_approx" * aggregate.approximate
        sql = _SQL[aggregate.function].format(of=f"{aggregate.of or '*'}\n", p=aggregate.p, approximate=approximate)
        compiled = compile_group(sql, schema, zone)
        return compiled.kind, lambda group: compiled.run(group.rows)
    weight = compile_row(aggregate.weight, schema, zone) if aggregate.weight is not None else None
    schema.require(entry.split()[0] for entry in aggregate.order or ())
    rank = compile_group(aggregate.rank_by, schema, zone).run if aggregate.rank_by is not None else len
    terms = CompiledAggregate(aggregate, of, to(weight, c.DOUBLE, zone) if weight is not None else None, rank)
    kind = result_type(aggregate, of.kind if of is not None else c.NULL)
    if kind is None:
        raise NotCovered(f"{aggregate.function} of {of.kind if of is not None else None}")
    return kind, partial(_FUNCTIONS[aggregate.function], terms)


def _ordered(terms: CompiledAggregate, group: AggregatedRows) -> list[Any]:
    """The non-null values in the aggregation's order; raises NotCovered for ties between different values."""
    orders = [entry.split() for entry in terms.aggregate.order or ()]
    if not orders:
        raise NotCovered(f"{terms.aggregate.function} without an order")
    keys = [(itemgetter(name), direction == ["desc"]) for name, *direction in orders]
    return in_order(terms.pairs(group), keys, terms.aggregate.function)


def _latest_first(terms: CompiledAggregate, group: AggregatedRows) -> list[Any]:
    values = _ordered(terms, group)
    return (distinct(values) if terms.aggregate.distinct else values)[::-1]


def _days_since_last(terms: CompiledAggregate, group: AggregatedRows) -> float | None:
    timestamps = [at for row, _ in terms.pairs(group) if (at := group.event(row)) is not None]
    return (group.cutoff - max(timestamps)) // MICROSECOND / DAY if timestamps else None


def _weights(terms: CompiledAggregate, group: AggregatedRows) -> list[tuple[float, list[Any]]]:
    """Vectors with their weights, without rows whose weight is null or zero."""
    half_life = terms.aggregate.half_life
    found = []
    for row, vector in terms.pairs(group):
        if terms.weight is not None:
            weight = terms.weight.run(row)
        elif half_life is not None:
            at = group.event(row)
            weight = None if at is None else 0.5 ** ((group.cutoff - at) / half_life.timedelta)
        else:
            weight = 1.0
        if weight is not None and (weight != 0 or half_life is not None):
            found.append((weight, vector))
    return found


def _vector(
    combine: Callable[[list[tuple[float, float]], float], float | None], terms: CompiledAggregate, group: AggregatedRows
) -> list[float | None] | None:
    """Combines the vectors by position; each position uses the vectors that are long enough."""
    found = _weights(terms, group)
    if not found:
        return None
    everything = math.fsum(weight for weight, _ in found)
    length = max(len(vector) for _, vector in found)
    columns = [
        [(weight, vector[i]) for weight, vector in found if i < len(vector) and vector[i] is not None]
        for i in range(length)
    ]
    return [combine(column, everything) if column else None for column in columns]


_FUNCTIONS: dict[str, Callable[[CompiledAggregate, AggregatedRows], Any]] = {
    "first": lambda terms, group: next(iter(_ordered(terms, group)), None),
    "last": lambda terms, group: next(reversed(_ordered(terms, group)), None),
    "last_k": lambda terms, group: _latest_first(terms, group)[: terms.aggregate.k or 1] or None,
    "top_k": lambda terms, group: ranked(terms.pairs(group), terms.rank)[: terms.aggregate.k or 1] or None,
    "mode": lambda terms, group: next(iter(ranked(terms.pairs(group), terms.rank)), None),
    "collect": lambda terms, group: _latest_first(terms, group)[::-1] or None,
    "days_since_last": _days_since_last,
    "vector_mean": partial(_vector, lambda column, _: math.fsum(value for _, value in column) / len(column)),
    "vector_sum": partial(_vector, lambda column, _: math.fsum(value for _, value in column)),
    "vector_weighted_mean": partial(
        _vector, lambda column, total: math.fsum(weight * value for weight, value in column) / total if total else None
    ),
}
