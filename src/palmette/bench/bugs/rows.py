"""Bugs about rows: multiplied, lost, chosen wrongly, read from the wrong table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from palmette.bench.bugs.places import first_place, on_output
from palmette.features.checks.plan import prunable
from palmette.features.mutation.mutants import spliced
from palmette.features.source import Source, called


def joins(source: Source, kind: str) -> Iterator[ast.Call]:
    for node in source.transform_nodes:
        if isinstance(node, ast.Call) and called(node) == "join" and f"'{kind}'" in ast.unparse(node):
            yield node


def inner_join(source: Source) -> str | None:
    """A left join becomes an inner one: entities without rows are lost."""
    found = next(joins(source, "left"), None)
    return spliced(source.text, found, ast.unparse(found).replace("'left'", "'inner'")) if found else None


def fan_out(source: Source) -> str | None:
    """The right side of a join has its rows twice."""
    found = next(joins(source, "left"), None)
    if found is None or not found.args:
        return None
    right = ast.unparse(found.args[0])
    return spliced(source.text, found.args[0], f"({right}).union({right})")


def missed_join(source: Source) -> str | None:
    """The keys of the right side never match; a default hides it."""
    found = next(joins(source, "left"), None)
    key = next(iter(source.view.grain), None)
    if found is None or key is None or not found.args:
        return None
    other = f'F.col("{key}") + 1_000_000' if source.view.grain[key].is_numeric else f'F.concat("{key}", F.lit("~"))'
    right = ast.unparse(found.args[0])
    return spliced(source.text, found.args[0], f'({right}).withColumn("{key}", {other})')


def repeated_spine(source: Source) -> str | None:
    """Rows of the spine that repeat are merged; None where its keys forbid that any do."""
    spine = source.view.spine
    table = source.view.tables[spine.table] if spine else None
    if table is None or (table.keys_enforced and set(table.keys) <= set(source.view.grain)):
        return None
    return on_output(f".dropDuplicates({list(source.view.grain)!r})")(source)


def partition_columns(source: Source) -> set[str]:
    """Partition columns of the tables of which only a bounded stretch is needed."""
    return {partition.column for table in prunable(source.view) for partition in table.partitions}


def dropped_condition(source: Source) -> str | None:
    """Without a condition on a value."""

    def change(node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Gt | ast.GtE)
            and isinstance(node.comparators[0], ast.Constant | ast.Call)
            and "F.lit" not in ast.unparse(node.left)
            and "INTERVAL" not in ast.unparse(node)
            and "recency" not in ast.unparse(node)
        ):
            return "F.lit(True)"
        return None

    return first_place(source, change)


def wrong_table(source: Source) -> str | None:
    """Another table, or one that does not exist."""

    def change(node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and (name := str(node.slice.value)) in source.view.tables
            and "sparkSession" not in ast.unparse(source.parents[id(node)])
        ):
            others = sorted(set(source.view.tables) - {name})
            return f"{ast.unparse(node.value)}[{(others[0] if others else f'{name}_v2')!r}]"
        return None

    return first_place(source, change)


def forbidden_column(source: Source) -> str | None:
    """Rows chosen by a forbidden column."""
    for entry in source.view.forbidden:
        table, _, column = entry.rpartition(".")
        for name, known in source.view.tables.items():
            if (not table or table == name) and known.column(column):

                def change(node: ast.expr, name: str = name, column: str = column) -> str | None:
                    if (
                        isinstance(node, ast.Subscript)
                        and isinstance(node.slice, ast.Constant)
                        and node.slice.value == name
                    ):
                        return f'{ast.unparse(node)}.where(F.col("{column}").isNotNull())'
                    return None

                if (text := first_place(source, change)) is not None:
                    return text
    return None


def loop_of_columns(source: Source) -> str | None:
    """withColumn in a loop."""
    names = [feature.name for feature in source.view.features if not feature.internal]
    function = source.functions[source.entry]
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    loop = (
        f"result = {ast.unparse(last.value)}\n    for name in {names!r}:\n"
        "        result = result.withColumn(name, F.col(name))\n    return result"
    )
    lines = source.text.splitlines(keepends=True)
    return "".join(lines[: last.lineno - 1]) + f"    {loop}\n" + "".join(lines[last.end_lineno or last.lineno :])
