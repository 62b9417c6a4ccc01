"""Rules for operations that multiply rows, lose rows or choose them arbitrarily."""

import ast
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from palmette.features.script_tree import Function, ScriptTree, called, calls, method_calls, spark_calls, sql_calls
from palmette.features.signature import parameters_of

_POSITIONAL = frozenset({
    "row_number", "lag", "lead", "ntile", "first", "last", "first_value", "last_value", "nth_value",
})  # fmt: skip
_ARBITRARY = frozenset({"first", "last", "first_value", "last_value", "any_value"})
_COLLECTS = frozenset({"collect_list", "collect_set", "array_agg"})
_INDIFFERENT = frozenset({
    "sort_array", "array_sort", "size", "array_size", "cardinality", "aggregate", "reduce", "array_contains", "exists",
    "forall", "array_max", "array_min", "array_distinct", "explode",
})  # fmt: skip
_SORTS = frozenset({"array_sort", "sort_array"})
_FRAME_METHODS = frozenset({
    "select", "selectExpr", "withColumn", "withColumns", "where", "filter", "join", "groupBy", "agg", "alias",
    "distinct", "dropDuplicates", "drop", "unionByName", "union", "toDF", "crossJoin", "transform", "orderBy",
    "withColumnRenamed", "withColumnsRenamed",
})  # fmt: skip


def cross_join(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Cross joins, which no feature needs."""
    for node, _ in method_calls(source.nodes, {"crossJoin"}):
        yield node, "crossJoin() pairs every row with every row"
    for node in _frame_joins(source):
        if _is_cross(node):
            yield node, "join(how='cross') pairs every row with every row"


def join_without_keys(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Joins without keys."""
    for node in _frame_joins(source):
        if len(node.args) == 1 and not any(word.arg == "on" for word in node.keywords) and not _is_cross(node):
            yield node, "join() without keys pairs every row with every row"


def _frame_joins(source: ScriptTree) -> Iterator[ast.Call]:
    return (node for node, method in method_calls(source.nodes, {"join"}) if _is_frame(source, method.value))


def _is_cross(join: ast.Call) -> bool:
    how = next((word.value for word in join.keywords if word.arg == "how"), next(iter(join.args[2:]), None))
    return isinstance(how, ast.Constant) and how.value == "cross"


def _is_frame(source: ScriptTree, node: ast.expr) -> bool:
    """Whether the value is certainly a data frame."""
    if any(name in _FRAME_METHODS for name in source.methods(node)):
        return True
    bottom = source.value_of(node)
    for _, method in method_calls(source.chain(node)):
        bottom = source.value_of(method.value)
    function = source.function_of(node)
    given = parameters_of(function) if isinstance(function, Function) else ()
    types = {one.name: one.annotation for one in given}
    return isinstance(bottom, ast.Name) and types.get(bottom.id, "").endswith("DataFrame")


def unordered_first(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """`first` and `last` without an order."""
    for node in spark_calls(source, _ARBITRARY):
        if _window_of(source, node) is None:
            yield node, f"{called(node)}() takes any row; use min_by/max_by or a window with a unique order"


def unordered_collect(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Collected lists whose order depends on the order of rows."""
    for node in spark_calls(source, _COLLECTS):
        if _window_of(source, node) is None and not _order_does_not_matter(source, node):
            yield node, f"{called(node)}() has no fixed order; sort the array"


def _window_of(source: ScriptTree, node: ast.Call) -> ast.expr | None:
    """The window of `F.x(...).over(window)`."""
    match list(islice(source.ancestors(node), 2)):
        case [ast.Attribute(attr="over"), ast.Call(args=[window, *_])]:
            return window
        case _:
            return None


def _order_does_not_matter(source: ScriptTree, node: ast.Call) -> bool:
    if any(calls(source.ancestors(node), _INDIFFERENT)):
        return True
    function = list(ast.walk(source.function_of(node)))
    inside = set(map(id, function))
    return any(id(text) in inside for text, _ in sql_calls(source, _SORTS)) or any(calls(function, _SORTS))


class _Order(NamedTuple):
    within: frozenset[str]
    by: frozenset[str]


def tied_order(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Orders that can have ties, which Spark breaks at random; they should end with the keys."""
    unique = _unique_sets(source)  # an order without ties has all columns of one, and orders by some of them
    for node in spark_calls(source, _POSITIONAL | {"max_by", "min_by"}):
        order = None
        if called(node) in _POSITIONAL:
            window = _window_of(source, node)
            order = _order_of(source, window) if window is not None else None
        elif len(node.args) == 2:
            order = _Order(frozenset(source.view.grain), _plain_columns(source, _ranked(source, node.args[1])))
            value = _plain_columns(source, node.args[0])
            if value and value <= order.by:
                continue  # rows that tie have equal values
        if order and order.by and not any(keys - order.within and keys <= order.within | order.by for keys in unique):
            columns = ", ".join(sorted(order.by))
            yield node, f"{called(node)}() by {columns} can have ties; end the order with the table's keys"


def _unique_sets(source: ScriptTree) -> list[frozenset[str]]:
    """Column sets that identify a row: keys of the tables, and sets that the script groups by."""
    sets = []
    for table in source.view.tables.values():
        time = (table.event_time or table.valid_from) if table.kind in ("snapshot", "scd2") else None
        sets.append(frozenset({*table.keys, time} if time else table.keys))
    for node in calls(source.nodes, {"groupBy", "groupby", "dropDuplicates"}):
        names = frozenset(name for argument in node.args for name in source.literals(argument))
        sets += [names] if names else []
    return sets


def _order_of(source: ScriptTree, window: ast.expr) -> _Order | None:
    """The order of a window; None if it has none or cannot be determined."""
    found: dict[str, frozenset[str]] = {}
    for call in source.chain(window):
        if called(call) in ("partitionBy", "orderBy"):
            parts = [_plain_columns(source, argument) for argument in call.args]
            if not all(parts):
                return None
            found[called(call)] = frozenset().union(*parts)
    return _Order(found.get("partitionBy", frozenset()), found["orderBy"]) if "orderBy" in found else None


def _plain_columns(source: ScriptTree, node: ast.expr) -> frozenset[str]:
    """Column names in an expression; empty if part of it is unknown."""
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


def _ranked(source: ScriptTree, node: ast.expr) -> ast.expr:
    """The ordering part of `when(condition, order)`; the condition does not affect the order."""
    value = source.value_of(node)
    return value.args[1] if isinstance(value, ast.Call) and called(value) == "when" and len(value.args) == 2 else node


def _is_callee(source: ScriptTree, name: ast.Name) -> bool:
    parent = source.parents.get(id(name))
    return (isinstance(parent, ast.Call) and parent.func is name) or isinstance(parent, ast.Attribute)


def hidden_fan_out(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Removal of duplicates after a join, which hides that the join multiplied rows."""
    for node, method in method_calls(source.nodes, {"dropDuplicates", "drop_duplicates", "distinct"}):
        before = (name for name in source.methods(method.value) if name in ("select", "agg", "selectExpr", "join"))
        if next(before, "") == "join":
            what = f"{method.attr}() after a join hides that the join multiplies rows"
            yield node, f"{what}; make the joined side unique instead"


def select_star(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """A select of all columns, which leaves the output contract open."""
    for node, _ in method_calls(source.nodes, {"select", "selectExpr"}):
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == "*":
            yield node, 'select("*") leaves the schema open; name the columns'


def open_pivot(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Pivots without values, whose schema changes with the data."""
    for node, _ in method_calls(source.nodes, {"pivot"}):
        if len(node.args) == 1 and not node.keywords:
            yield node, "pivot() without values runs a job and has another schema when the data changes"
