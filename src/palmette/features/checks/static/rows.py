"""Rules on operations that multiply, lose or arbitrarily choose rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from palmette.features.checks.static.finding import Finding
from palmette.features.source import Source, called, calls_in_sql, is_spark_function, sql_texts

_POSITIONAL = frozenset(
    {"row_number", "lag", "lead", "ntile", "first", "last", "first_value", "last_value", "nth_value"}
)
_COLLECTS = frozenset({"collect_list", "collect_set", "array_agg"})
_INDIFFERENT = frozenset(
    {
        "sort_array",
        "array_sort",
        "size",
        "array_size",
        "cardinality",
        "aggregate",
        "reduce",
        "array_contains",
        "exists",
        "forall",
        "array_max",
        "array_min",
        "array_distinct",
        "explode",
    }
)
_SORTS = frozenset({"array_sort", "sort_array"})
_FRAME_METHODS = frozenset(
    {
        "select",
        "selectExpr",
        "withColumn",
        "withColumns",
        "where",
        "filter",
        "join",
        "groupBy",
        "agg",
        "alias",
        "distinct",
        "dropDuplicates",
        "drop",
        "unionByName",
        "union",
        "toDF",
        "crossJoin",
        "transform",
        "orderBy",
        "withColumnRenamed",
        "withColumnsRenamed",
    }
)


def cross_joins(source: Source) -> Iterator[Finding]:
    """Every pair of rows is never what a feature needs."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "crossJoin":
            yield Finding("cross-join", node, "crossJoin() pairs every row with every row")
        elif node.func.attr == "join" and _is_frame(source, node.func.value):
            how = next(
                (k.value for k in node.keywords if k.arg == "how"),
                node.args[2] if len(node.args) > 2 else None,
            )
            if isinstance(how, ast.Constant) and how.value == "cross":
                yield Finding("cross-join", node, "join(how='cross') pairs every row with every row")
            elif len(node.args) == 1 and not any(k.arg == "on" for k in node.keywords):
                yield Finding("join-without-keys", node, "join() without keys pairs every row with every row")


def _is_frame(source: Source, node: ast.expr) -> bool:
    """Whether the value is a data frame for sure."""
    if any(name in _FRAME_METHODS for name in source.methods(node)):
        return True
    bottom = source.value_of(node)
    for call in source.chain(node):
        assert isinstance(call.func, ast.Attribute)
        bottom = source.value_of(call.func.value)
    function = source.function_of(node)
    if isinstance(bottom, ast.Name) and isinstance(function, ast.FunctionDef):
        arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        return any(
            a.arg == bottom.id and a.annotation is not None and ast.unparse(a.annotation).endswith("DataFrame")
            for a in arguments
        )
    return False


def arbitrary_values(source: Source) -> Iterator[Finding]:
    """`first` and `last` without an order, and lists in whatever order the rows come."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not is_spark_function(source, node):
            continue
        name = called(node)
        if name in ("first", "last", "first_value", "last_value", "any_value") and _window_of(source, node) is None:
            yield Finding(
                "unordered-first",
                node,
                f"{name}() takes any row; use min_by/max_by or a window with a unique order",
            )
        elif name in _COLLECTS and _window_of(source, node) is None and not _order_does_not_matter(source, node):
            yield Finding("unordered-collect", node, f"{name}() has no fixed order; sort the array")


def _window_of(source: Source, node: ast.Call) -> ast.expr | None:
    """The window of `F.x(...).over(window)`."""
    attribute = source.parents.get(id(node))
    call = (
        source.parents.get(id(attribute)) if isinstance(attribute, ast.Attribute) and attribute.attr == "over" else None
    )
    return call.args[0] if isinstance(call, ast.Call) and call.args else None


def _order_does_not_matter(source: Source, node: ast.Call) -> bool:
    if any(isinstance(item, ast.Call) and called(item) in _INDIFFERENT for item in source.ancestors(node)):
        return True
    function = list(ast.walk(source.function_of(node)))
    inside = {id(item) for item in function}
    in_sql = {name for text, sql in sql_texts(source) if id(text) in inside for name in calls_in_sql(sql)}
    return bool(_SORTS & in_sql) or any(called(item) in _SORTS for item in function)


class _Order(NamedTuple):
    """What rows are set apart by, and what they are ordered by within that."""

    within: frozenset[str]
    by: frozenset[str]


def tied_orders(source: Source) -> Iterator[Finding]:
    """Ties in an order are broken by chance: end it with the keys."""
    unique = _unique_sets(source)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not is_spark_function(source, node):
            continue
        order = None
        if called(node) in _POSITIONAL and (window := _window_of(source, node)) is not None:
            order = _order_of(source, window)
        elif called(node) in ("max_by", "min_by") and len(node.args) == 2:
            order = _Order(frozenset(source.view.grain), _plain_columns(source, _ranked(source, node.args[1])))
            value = _plain_columns(source, node.args[0])
            if value and value <= order.by:
                continue  # rows that tie have equal values
        if order and order.by and not any(_decides(order, keys) for keys in unique):
            columns = ", ".join(sorted(order.by))
            message = f"{called(node)}() by {columns} can have ties; end the order with the table's keys"
            yield Finding("tied-order", node, message)


def _decides(order: _Order, keys: frozenset[str]) -> bool:
    """Whether the order is unique where `keys` identify a row: by more than what sets rows apart."""
    return keys <= order.within | order.by and not keys <= order.within


def _unique_sets(source: Source) -> list[frozenset[str]]:
    """Column sets that identify a row: keys of the tables, and whatever the script itself groups by."""
    sets = []
    for table in source.view.tables.values():
        time = (table.event_time or table.valid_from) if table.kind in ("snapshot", "scd2") else None
        sets.append(frozenset({*table.keys, time} if time else table.keys))
    for node in ast.walk(source.tree):
        if called(node) in ("groupBy", "groupby", "dropDuplicates") and isinstance(node, ast.Call):
            names = frozenset(name for argument in node.args for name in source.literals(argument))
            sets += [names] if names else []
    return sets


def _order_of(source: Source, window: ast.expr) -> _Order | None:
    """How the window orders rows; None when that cannot be read or it has no order."""
    found: dict[str, frozenset[str]] = {}
    for call in source.chain(window):
        if called(call) in ("partitionBy", "orderBy"):
            parts = [_plain_columns(source, argument) for argument in call.args]
            if not all(parts):
                return None
            found[called(call)] = frozenset().union(*parts)
    return _Order(found.get("partitionBy", frozenset()), found["orderBy"]) if "orderBy" in found else None


def _plain_columns(source: Source, node: ast.expr) -> frozenset[str]:
    """Column names in an expression; empty when part of it is unknown."""
    node = node.value if isinstance(node, ast.Starred) else node
    value = source.value_of(node)
    unknown = isinstance(value, ast.Name) or any(
        isinstance(item, ast.Name)
        and item.id not in ("F", "W", "Window", "functions")
        and source.value_of(item) is item
        and not _is_callee(source, item)
        for item in ast.walk(value)
    )
    return frozenset() if unknown else frozenset(name.split(".")[-1] for name in source.literals(value))


def _ranked(source: Source, node: ast.expr) -> ast.expr:
    """The order in `when(condition, order)`: the condition ranks nothing."""
    value = source.value_of(node)
    return value.args[1] if isinstance(value, ast.Call) and called(value) == "when" and len(value.args) == 2 else node


def _is_callee(source: Source, name: ast.Name) -> bool:
    parent = source.parents.get(id(name))
    return (isinstance(parent, ast.Call) and parent.func is name) or isinstance(parent, ast.Attribute)


def hidden_fan_out(source: Source) -> Iterator[Finding]:
    """Removing duplicates after a join hides that the join multiplied rows."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or called(node) not in (
            "dropDuplicates",
            "drop_duplicates",
            "distinct",
        ):
            continue
        if not isinstance(node.func, ast.Attribute):
            continue
        for method in source.methods(node.func.value):
            if method in ("select", "agg", "selectExpr"):
                break
            if method == "join":
                yield Finding(
                    "hidden-fan-out",
                    node,
                    f"{called(node)}() after a join hides that the join multiplies rows; "
                    "make the joined side unique instead",
                )
                break


def open_selects(source: Source) -> Iterator[Finding]:
    """The last select is the contract; a pivot without values has another schema tomorrow."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if (
            node.func.attr in ("select", "selectExpr")
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value == "*"
        ):
            yield Finding("select-star", node, 'select("*") leaves the schema open; name the columns')
        elif node.func.attr == "pivot" and len(node.args) == 1 and not node.keywords:
            yield Finding(
                "open-pivot",
                node,
                "pivot() without values runs a job and has another schema when the data changes",
            )


RULES = (cross_joins, arbitrary_values, tied_orders, hidden_fan_out, open_selects)
