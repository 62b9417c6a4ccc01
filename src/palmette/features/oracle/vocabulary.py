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
from palmette.features.oracle.typed import PartialSchema, Run, to
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
    """An aggregation with its expressions compiled, and the rows that it is applied to."""

    aggregate: Aggregate
    of: Run
    weight: Run | None
    rank: Run
    rows: Sequence[Row]
    cutoff: datetime
    event: Callable[[Row], datetime | None]

    @property
    def pairs(self) -> list[tuple[Row, Any]]:
        """Rows with their values of `of`, without nulls."""
        return [(row, value) for row in self.rows if (value := self.of(row)) is not None]


def compile_aggregate(
    aggregate: Aggregate, schema: PartialSchema, zone: ZoneInfo
) -> tuple[SparkType, Callable[[Sequence[Row], datetime, Callable[[Row], datetime | None]], Any]]:
    """The result type of an aggregation, and a function of rows, the cut-off and a row's event time."""
    of = compile_row(aggregate.of or "true", schema, zone)
    if aggregate.function in _OF_NUMBERS and not of.kind.is_numeric:
        raise NotCovered(f"{aggregate.function} of {of.kind}")
    if aggregate.function in _SQL:
        approximate = "_approx" * aggregate.approximate
        sql = _SQL[aggregate.function].format(of=f"{aggregate.of or '*'}\n", p=aggregate.p, approximate=approximate)
        compiled = compile_group(sql, schema, zone)
        return compiled.kind, lambda rows, *_: compiled.run(rows)
    weight = to(compile_row(aggregate.weight, schema, zone), c.DOUBLE, zone).run if aggregate.weight else None
    schema.require(entry.split()[0] for entry in aggregate.order or ())
    rank = compile_group(aggregate.rank_by, schema, zone).run if aggregate.rank_by is not None else len
    function = _FUNCTIONS[aggregate.function]
    kind = result_type(aggregate, of.kind) or c.NULL
    terms = (aggregate, of.run, weight, rank)
    return kind, lambda rows, cutoff, event: function(AggregatedRows(*terms, rows, cutoff, event))


def _ordered(group: AggregatedRows) -> list[Any]:
    """The non-null values in the aggregation's order; raises NotCovered for ties between different values."""
    orders = map(str.split, group.aggregate.order or ())
    keys = [(itemgetter(name), direction == ["desc"]) for name, *direction in orders]
    return in_order(group.pairs, keys, group.aggregate.function)


def _latest_first(group: AggregatedRows) -> list[Any]:
    values = _ordered(group)
    return (distinct(values) if group.aggregate.distinct else values)[::-1]


def _days_since_last(group: AggregatedRows) -> float | None:
    timestamps = [at for row, _ in group.pairs if (at := group.event(row)) is not None]
    return (group.cutoff - max(timestamps)) // MICROSECOND / DAY if timestamps else None


def _weights(group: AggregatedRows) -> list[tuple[float, list[Any]]]:
    """Vectors with their weights, without rows whose weight is null or zero."""
    half_life = group.aggregate.half_life
    found = []
    for row, vector in group.pairs:
        if group.weight is not None:
            weight = group.weight(row)
        elif half_life is not None:
            at = group.event(row)
            weight = None if at is None else 0.5 ** ((group.cutoff - at) / half_life.timedelta)
        else:
            weight = 1.0
        if weight is not None and (weight != 0 or half_life is not None):
            found.append((weight, vector))
    return found


def _vector(
    combine: Callable[[list[tuple[float, float]], float], float | None], group: AggregatedRows
) -> list[float | None] | None:
    """Combines the vectors by position; each position uses the vectors that are long enough."""
    found = _weights(group)
    if not found:
        return None
    everything = math.fsum(weight for weight, _ in found)
    length = max(len(vector) for _, vector in found)
    columns = [
        [(weight, vector[i]) for weight, vector in found if i < len(vector) and vector[i] is not None]
        for i in range(length)
    ]
    return [combine(column, everything) if column else None for column in columns]


_FUNCTIONS: dict[str, Callable[[AggregatedRows], Any]] = {
    "first": lambda group: next(iter(_ordered(group)), None),
    "last": lambda group: next(reversed(_ordered(group)), None),
    "last_k": lambda group: _latest_first(group)[: group.aggregate.k or 1] or None,
    "top_k": lambda group: ranked(group.pairs, group.rank)[: group.aggregate.k or 1] or None,
    "mode": lambda group: next(iter(ranked(group.pairs, group.rank)), None),
    "collect": lambda group: _latest_first(group)[::-1] or None,
    "days_since_last": _days_since_last,
    "vector_mean": partial(_vector, lambda column, _: math.fsum(value for _, value in column) / len(column)),
    "vector_sum": partial(_vector, lambda column, _: math.fsum(value for _, value in column)),
    "vector_weighted_mean": partial(
        _vector, lambda column, total: math.fsum(weight * value for weight, value in column) / total if total else None
    ),
}
