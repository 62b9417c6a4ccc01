"""Bugs about columns: values, defaults, names, types, order."""

import ast

from palmette.features.script_tree import ScriptTree, called, is_spark_function, spliced
from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.view import View
from palmette_bench.bugs.rewriting import first_place, mentions, on_output, on_returned, times


def no_default(source: ScriptTree) -> str | None:
    """Null instead of the default."""

    def change(node: ast.expr) -> str | None:
        call = with_default(source, node)
        return ast.unparse(call.args[0]) if call else None

    return first_place(source, change)


def wrong_default(source: ScriptTree) -> str | None:
    """Another default."""

    def change(node: ast.expr) -> str | None:
        call = with_default(source, node)
        if call is None:
            return None
        value = next((item for item in ast.walk(call.args[1]) if isinstance(item, ast.Constant)), None)
        if value is None or isinstance(value.value, bool | str):
            return None
        return f"F.coalesce({ast.unparse(call.args[0])}, F.lit({value.value!r} + 1))"

    return first_place(source, change)


def with_default(source: ScriptTree, node: ast.expr) -> ast.Call | None:
    """`coalesce(value, lit(default))`, where the node is one."""
    if not isinstance(node, ast.Call) or called(node) != "coalesce" or not is_spark_function(source, node):
        return None
    is_default = len(node.args) == 2 and called(node.args[1]) == "lit"
    return node if is_default and not mentions(node.args[0], _never_null(source.view)) else None


def _never_null(view: View) -> set[str]:
    """Features whose default is never needed: counts, where a row is there only because its one group has rows."""
    computed = {feature.name: feature.computation for feature in view.features}
    aggregates = {name: each for name, each in computed.items() if isinstance(each, Aggregate)}
    if view.spine is not None or len({(each.source, each.by) for each in aggregates.values()}) > 1:
        return set()
    return {name for name, each in aggregates.items() if each.function in ("count", "count_distinct", "exists")}


def truncated(source: ScriptTree) -> str | None:
    """A sum or mean of whole numbers only, of a column that has others."""
    columns = [column for each in source.view.sources for column in each.schema.items()]
    whole = {name for name, kind in columns if kind.is_integer}

    def change(node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Call)
            and called(node) in ("sum", "avg", "max", "min", "percentile")
            and is_spark_function(source, node)
            and not mentions(node, times(source, "event") | whole)
            and not any(called(item) == "struct" for item in ast.walk(node))
        ):
            column = ast.unparse(node.args[0])
            column = f"F.col({column})" if isinstance(node.args[0], ast.Constant) else column
            rest = "".join(f", {ast.unparse(argument)}" for argument in node.args[1:])
            return f'F.{called(node)}({column}.cast("int"){rest})'
        return None

    return first_place(source, change)


def similar_column(source: ScriptTree) -> str | None:
    """Another column of the same type."""

    def change(node: ast.expr) -> str | None:
        if not isinstance(node, ast.Constant) or id(node) in source.docstrings:
            return None
        for item in source.view.sources:
            used = {place.partition(".")[2] for places in source.view.lineage.values() for place in places}
            fixed = {*item.table.keys, *source.view.grain, item.table.event_time, item.table.available_time}
            names = [
                name
                for name, kind in item.table.column_types.items()
                if kind == item.table.column_types.get(str(node.value)) and name not in fixed
            ]
            if node.value in names and node.value in used and len(names) > 1:
                return repr(names[(names.index(str(node.value)) + 1) % len(names)])
        return None

    return first_place(source, change)


def _contract(source: ScriptTree) -> ast.Call | None:
    """The last select of the entry function."""
    function = source.functions[source.entry]
    selects = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and called(node) == "select" and len(node.args) > 2
    ]
    return max(selects, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0), default=None)


def other_type(source: ScriptTree) -> str | None:
    """A feature of another type."""
    name = source.view.features[0].name
    kind = "int" if str(source.view.features[0].dtype) != "int" else "bigint"
    kind = "string" if not source.view.features[0].dtype.is_numeric else kind
    other = kind if kind != str(source.view.features[0].dtype) else "binary"
    return on_returned(source, source.text, rows=False, call=f'.withColumn("{name}", F.col("{name}").cast("{other}"))')


def other_order(source: ScriptTree) -> str | None:
    """Two columns of the output change places."""
    select = _contract(source)
    if select is None:
        return None
    args = [*select.args[:-2], select.args[-1], select.args[-2]]
    return spliced(source.text, select, ast.unparse(ast.Call(select.func, args, select.keywords)))


def missing_column(source: ScriptTree) -> str | None:
    """A feature is left out."""
    name = next(feature.name for feature in source.view.features if not feature.internal)
    return on_returned(source, source.text, rows=False, call=f'.drop("{name}")')


def swapped_features(source: ScriptTree) -> str | None:
    """Two features of the same type carry each other's values."""
    shown = [feature for feature in source.view.features if not feature.internal]
    for left in shown:
        for right in shown:
            if left.name < right.name and left.dtype == right.dtype:
                columns = [
                    {left.name: right.name, right.name: left.name}.get(name, name) for name in source.view.output
                ]
                pairs = zip(columns, source.view.output, strict=True)
                selected = ", ".join(f"F.col({old!r}).alias({new!r})" for old, new in pairs)
                return on_output(f".select({selected})")(source)
    return None
