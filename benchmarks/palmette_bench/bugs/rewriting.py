"""Finding places in a script by what the code means, and changing them."""

import ast
from collections.abc import Callable

from palmette.features.script_tree import ScriptTree, called, is_spark_function, spliced

Inject = Callable[[ScriptTree], str | None]
"""Gives the changed script, or None where there is no place for the change."""


def first_place(source: ScriptTree, change: Callable[[ast.expr], str | None]) -> str | None:
    """The script with the first place changed for which `change` gives new text."""
    for node in source.transform_nodes:
        if isinstance(node, ast.expr) and (after := change(node)) is not None:
            return spliced(source.text, node, f"({after})")
    return None


def times(source: ScriptTree, role: str) -> set[str]:
    tables = [table for table in source.view.tables.values() if table.kind in ("event", "snapshot")]
    names = {table.event_time if role == "event" else table.available_time for table in tables}
    return {name for name in names if name}


def mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(item, ast.Constant) and item.value in names for item in ast.walk(node))


def upper_bound(source: ScriptTree, node: ast.expr, role: str) -> ast.Compare | None:
    """`time < cut-off`."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt) and mentions(node.left, times(source, role)):
        return node
    return None


def lower_bound(source: ScriptTree, node: ast.expr) -> ast.Compare | None:
    """`time >= start of the window`."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.GtE) and "INTERVAL" in ast.unparse(node):
        return node if mentions(node.left, times(source, "event")) else None
    return None


def with_import(text: str, line: str) -> str:
    """The script with one more import after the docstring and the future imports."""
    tree = ast.parse(text)
    first = next(
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    )
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: first.lineno - 1], f"{line}\n", *lines[first.lineno - 1 :]])


def on_returned(source: ScriptTree, text: str, *, rows: bool, call: str) -> str | None:
    """With a call on what a function returns: the one that bounds the rows of a source in time, or the entry.

    `text` may be the script with another change already made.
    """
    names = (
        {
            getattr(source.function_of(node), "name", "")
            for node in source.transform_nodes
            if isinstance(node, ast.expr) and upper_bound(source, node, "event")
        }
        if rows
        else {source.entry}
    )
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef) and function.name in names:
            value = next((node.value for node in reversed(function.body) if isinstance(node, ast.Return)), None)
            if value is not None:
                return spliced(text, value, f"({ast.unparse(value)}){call}")
    return None


def on_output(call: str) -> Inject:
    """With a further call on the output."""
    return lambda source: on_returned(source, source.text, rows=False, call=call)


def function_for(*pairs: tuple[str, str]) -> Inject:
    """With one Spark function for another."""

    def inject(source: ScriptTree) -> str | None:
        def change(node: ast.expr) -> str | None:
            if (
                not isinstance(node, ast.Call)
                or not is_spark_function(source, node)
                or not isinstance(node.func, ast.Attribute)
            ):
                return None
            other = dict(pairs).get(called(node))
            return other and ast.unparse(
                ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
            )

        return first_place(source, change)

    return inject


def dropped(*methods: str, mentioning: Callable[[ScriptTree], set[str]] | None = None) -> Inject:
    """Without the first call of one of these methods."""

    def inject(source: ScriptTree) -> str | None:
        def change(node: ast.expr) -> str | None:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                own = ast.Tuple(node.args, ast.Load())
                if mentioning is None or mentions(own, mentioning(source)):
                    return ast.unparse(node.func.value)
            return None

        return first_place(source, change)

    return inject
