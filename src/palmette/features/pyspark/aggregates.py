"""Writes aggregations of the closed vocabulary as PySpark aggregate Columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palmette.features.pyspark.code import (
    COMPARISON,
    PRODUCT,
    CodeFragment,
    call,
    column,
    conjunction,
    method,
    name_arguments,
    quoted,
)
from palmette.features.pyspark.layout import vector_length
from palmette.features.pyspark.scope import ScriptScope
from palmette.features.pyspark.times import micros
from palmette.features.spec import Aggregate, SparkType, ViewSource


@dataclass(frozen=True)
class Rows:
    """The rows that one feature aggregates, as code fragments."""

    scope: ScriptScope
    source: ViewSource
    dtype: SparkType  # type of the feature
    event: CodeFragment | None  # code of the event time as a timestamp
    condition: CodeFragment | None  # code of the condition on rows, in addition to the group's filter
    define: Callable[[str, CodeFragment], CodeFragment]  # assigns code to a variable, for readability
    position: str | None = None  # column with each row's number in an order of mixed directions, if needed

    def sql(self, text: str | None) -> CodeFragment:
        assert text is not None
        return self.scope.sql(text, self.source.schema)

    def only(self, value: CodeFragment, *further: CodeFragment) -> CodeFragment:
        """The value on the feature's rows, null on other rows."""
        condition = conjunction([item for item in (self.condition, *further) if item is not None])
        return value if condition is None else CodeFragment(f"F.when({condition.text}, {value.text})")

    def present(self, of: str | None) -> list[CodeFragment]:
        """The condition that `of` is not null."""
        return [] if of is None else [method(self.sql(of), "isNotNull")]


def aggregation(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    """The aggregate Column of a feature that shares its group, before the cast and the default."""
    return _FUNCTIONS.get(aggregate.function, _simple)(aggregate, rows)


def _simple(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    """By the function of the same name in PySpark."""
    name = "percentile_approx" if aggregate.approximate else aggregate.function
    further = {"mode": ["True"], "percentile": [repr(aggregate.p)]}.get(aggregate.function, [])
    return call(f"F.{name}", rows.only(rows.sql(aggregate.of)).argument, *further)


def _count(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    if aggregate.of is not None:
        return call("F.count", rows.only(rows.sql(aggregate.of)).argument)
    return call("F.count", quoted("*")) if rows.condition is None else call("F.count_if", rows.condition.argument)


def directions(aggregate: Aggregate) -> list[tuple[str, bool]]:
    """The order's columns, each with whether it ascends; columns that the rows are grouped by are omitted."""
    parts = [(item.split()[0], not item.lower().endswith(" desc")) for item in aggregate.order or ()]
    return [part for part in parts if part[0] not in (aggregate.by or ())] or parts[:1]


def is_mixed(aggregate: Aggregate) -> bool:
    return len({ascending for _, ascending in directions(aggregate)}) > 1


def order_of(aggregate: Aggregate, rows: Rows) -> tuple[str, bool]:
    """Code of the struct of columns that orders the rows, and whether it ascends."""
    parts = directions(aggregate)
    if is_mixed(aggregate):
        assert rows.position is not None
        parts = [(name, True) for name in (rows.position, *rows.source.table.keys)]
    return name_arguments(name for name, _ in parts), all(ascending for _, ascending in parts)


def _edge(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    order, ascending = order_of(aggregate, rows)
    value = rows.sql(aggregate.of)
    value = value if value.column else rows.only(value)
    by = rows.only(call("F.struct", order), *rows.present(aggregate.of))
    return call("F.max_by" if ascending == (aggregate.function == "last") else "F.min_by", value.argument, by.argument)


def _ordered(aggregate: Aggregate, rows: Rows, newest_first: bool) -> str:
    """Code of the array of values in order; empty if there are no rows."""
    order, ascending = order_of(aggregate, rows)
    of = rows.sql(aggregate.of)
    struct = call("F.struct", order, method(of, "alias", quoted("value")).text)
    listed = call("F.collect_list", rows.only(struct, *rows.present(aggregate.of)).argument)
    name = rows.define(f"{of.column or 'value'}_with_order", listed).text
    direction = ", asc=False" if newest_first == ascending else ""
    return f'F.sort_array({name}{direction})["value"]'


def _collect(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    text = _ordered(aggregate, rows, newest_first=aggregate.distinct)
    if aggregate.distinct:
        text = f"F.reverse(F.array_distinct({text}))"
    return CodeFragment(f"F.nullif({text}, F.array())")


def _last_k(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    text = _ordered(aggregate, rows, newest_first=True)
    text = f"F.array_distinct({text})" if aggregate.distinct else text
    return CodeFragment(f"F.nullif(F.slice({text}, 1, {aggregate.k or 1}), F.array())")


def _days_since_last(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    assert rows.event is not None
    newest = call("F.max", rows.only(rows.event, *rows.present(aggregate.of)).argument)
    elapsed = f"F.unix_micros({rows.scope.cutoff.argument}) - F.unix_micros({newest.text})"
    days = CodeFragment(f"({elapsed}) / MICROS_PER_DAY", PRODUCT)
    return call("F.floor", days.text) if rows.dtype.is_integer else days


def weight_of(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    """Code of a row's weight in a weighted mean."""
    if aggregate.weight is not None:
        return rows.sql(aggregate.weight)
    assert aggregate.half_life is not None and rows.event is not None
    age = f"F.unix_micros({rows.scope.cutoff.argument}) - F.unix_micros({rows.event.argument})"
    halvings = f"({age}) / ({micros(aggregate.half_life)})"
    return rows.define("decay", CodeFragment(f"F.pow(F.lit(0.5), {halvings})"))


def weighted(aggregate: Aggregate, rows: Rows) -> list[CodeFragment]:
    """Conditions under which a row with a vector counts."""
    if aggregate.weight is None:
        return []
    weight = rows.sql(aggregate.weight).as_column
    return [CodeFragment(f"{weight.within(2)} != 0", 1)]


def _vector(aggregate: Aggregate, rows: Rows) -> CodeFragment:
    """One aggregate per position, for vectors of registered length."""
    name = aggregate.of or ""
    vector = rows.only(column(name), *weighted(aggregate, rows))
    vector = vector if vector.column else rows.define(f"counted_{name}", vector)
    item = f"F.get({vector.argument}, i)"
    if aggregate.function == "vector_weighted_mean":
        weight = weight_of(aggregate, rows)
        heavy = rows.only(weight, *weighted(aggregate, rows), *rows.present(name))
        total = rows.define(f"weight_of_{name}", call("F.sum", heavy.argument)).text
        element = f"F.try_divide(F.sum({item} * {weight.as_column.within(PRODUCT + 1)}), {total})"
    else:
        element = f"F.{'avg' if aggregate.function == 'vector_mean' else 'sum'}({item})"
    length = rows.scope.constant(f"{name.upper()}_LENGTH", str(vector_length(rows.scope.view, rows.source, name)))
    array = f"F.array(*[{element} for i in range({length})])"
    return CodeFragment(f"F.when(F.count({vector.argument}) > 0, {array})")


_FUNCTIONS: Mapping[str, Callable[[Aggregate, Rows], CodeFragment]] = {
    "count": _count,
    "exists": lambda aggregate, rows: CodeFragment(f"{_count(aggregate, rows).text} > 0", COMPARISON),
    "share": lambda aggregate, rows: call(
        "F.avg", rows.only(method(rows.sql(aggregate.of), "cast", quoted("double"))).argument
    ),
    "first": _edge,
    "last": _edge,
    "collect": _collect,
    "last_k": _last_k,
    "days_since_last": _days_since_last,
    "vector_mean": _vector,
    "vector_sum": _vector,
    "vector_weighted_mean": _vector,
}
