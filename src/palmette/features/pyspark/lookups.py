"""Lookup features: columns of dimension, snapshot and scd2 tables, one transform per table and keys."""

from __future__ import annotations

from palmette.features.pyspark.code import chain, conjunction, function, name_arguments, quoted
from palmette.features.pyspark.groups import Written
from palmette.features.pyspark.pruning import pruning
from palmette.features.pyspark.scope import Scope, identifier
from palmette.features.pyspark.states import current_name, join_keys, recency, registered_schema, selected
from palmette.features.pyspark.times import is_dated, visible
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Lookup
from palmette.features.spec.view import ViewFeature


def write_lookup(scope: Scope, table: Table, on: dict[str, str], features: list[ViewFeature]) -> Written:
    """Adds the transform that gives the looked-up columns by grain keys (and cut-off, where each row has its own)."""
    timeless = not is_dated(table)
    row_keys = () if timeless else scope.row_keys
    columns = {
        feature.name: feature.computation.column for feature in features if isinstance(feature.computation, Lookup)
    }
    rows = identifier(table.name)
    if not row_keys and (current := current_name(table)) in scope.names.taken:
        body = [f"return {current}({rows}, as_of).select({', '.join([*selected(on), *selected(columns)])})"]
    else:
        body = _body(scope, table, on, columns, row_keys)
    name = scope.names.fresh(f"{table.name}_of_{scope.keys_name(tuple(on))}")
    takes_as_of = any("as_of" in line for line in body) and not scope.per_row
    parameters = [
        f"{rows}: DataFrame",
        *(["spine: DataFrame"] if row_keys else []),
        *(["as_of: datetime"] if takes_as_of else []),
    ]
    when = "" if timeless else " as known at the cut-off"
    doc = f"Columns of {table.name.replace('_', ' ')}{when}, by {', '.join(on)}."
    scope.functions.append(function(name, parameters, "DataFrame", doc, body))
    return Written(name, (*on, *row_keys), takes_as_of)


def _body(
    scope: Scope, table: Table, on: dict[str, str], columns: dict[str, str], row_keys: tuple[str, ...]
) -> list[str]:
    """From the table's rows to one row a key with the looked-up columns; `columns` reads feature to column."""
    timeless, rows = not is_dated(table), identifier(table.name)
    statements: list[str] = []
    calls: list[str] = []
    if not timeless and (days := pruning(scope, table, None)):
        statements, calls = [*days.statements], [f"where({days.condition})"]
    if row_keys:
        renamed = [f"withColumnRenamed({quoted(there)}, {quoted(key)})" for key, there in on.items() if key != there]
        events = "".join(f".{item}" for item in [*calls, *renamed])
        calls = [
            f'select({name_arguments(on)}, "as_of")',
            "distinct()",
            f'join({rows}{events}, on={join_keys(list(on))}, how="inner")',
        ]
    known = [] if timeless else visible(table, registered_schema(table), scope.cutoff, scope.view.zone)
    condition = conjunction(known)
    calls += [] if condition is None else [f"where({condition.text})"]
    source = {key: key if row_keys else there for key, there in on.items()}
    if table.kind == "snapshot" or not table.keys_enforced:
        calls += _newest(table, source, row_keys, columns)
    else:
        picked = [*selected(source), *(quoted(key) for key in row_keys), *selected(columns)]
        calls.append(f"select({', '.join(picked)})")
    return [*statements, f"return {chain('spine' if row_keys else rows, calls)}"]


def _newest(table: Table, on: dict[str, str], row_keys: tuple[str, ...], columns: dict[str, str]) -> list[str]:
    """The newest state of each key; ties go to the largest values of the remaining columns."""
    order = recency(table)
    by = quoted(order[0]) if len(order) == 1 else f"F.struct({name_arguments(order)})"
    values = ", ".join(f"F.max_by({quoted(column)}, {by}).alias({quoted(name)})" for name, column in columns.items())
    grouping = ", ".join([*selected(on), *(quoted(key) for key in row_keys)])
    return [f"groupBy({grouping})", f"agg({values})"]
