"""Bugs about rows: multiplied, lost, chosen wrongly, read from the wrong table."""

import ast

from palmette.features.checks.plan import prunable
from palmette.features.script_tree import ScriptTree, called, spliced
from palmette_bench.bugs.rewriting import first_place, on_output


def left_join(source: ScriptTree) -> ast.Call | None:
    calls = (node for node in source.transform_nodes if isinstance(node, ast.Call) and called(node) == "join")
    return next((node for node in calls if "'left'" in ast.unparse(node)), None)


def inner_join(source: ScriptTree) -> str | None:
    """A left join becomes an inner one: entities without rows are lost."""
    found = left_join(source)
    return spliced(source.text, found, ast.unparse(found).replace("'left'", "'inner'")) if found else None


def fan_out(source: ScriptTree) -> str | None:
    """The right side of a join has its rows twice."""
    found = left_join(source)
    if found is None or not found.args:
        return None
    right = ast.unparse(found.args[0])
    return spliced(source.text, found.args[0], f"({right}).union({right})")


def missed_join(source: ScriptTree) -> str | None:
    """The keys of the right side never match; a default hides it."""
    found = left_join(source)
    key = next(iter(source.view.grain), None)
    if found is None or key is None or not found.args:
        return None
    other = f'F.col("{key}") + 1_000_000' if source.view.grain[key].is_numeric else f'F.concat("{key}", F.lit("~"))'
    right = ast.unparse(found.args[0])
    return spliced(source.text, found.args[0], f'({right}).withColumn("{key}", {other})')


def repeated_spine(source: ScriptTree) -> str | None:
    """Rows of the spine that repeat are merged; None where its keys forbid that any do."""
    spine = source.view.spine
    table = source.view.tables[spine.table] if spine else None
    if table is None or (table.keys_enforced and set(table.keys) <= set(source.view.grain)):
        return None
    return on_output(f".dropDuplicates({list(source.view.grain)!r})")(source)


def partition_columns(source: ScriptTree) -> set[str]:
    """Partition columns of the tables of which only a bounded stretch is needed."""
    return {partition.column for table in prunable(source.view) for partition in table.partitions}


def dropped_condition(source: ScriptTree) -> str | None:
    """Without a condition on a value; that a group has rows is none."""

    def change(node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Gt | ast.GtE)
            and isinstance(node.comparators[0], ast.Constant | ast.Call)
            and not any(call in ast.unparse(node.left) for call in ("F.lit", "F.count"))
            and "INTERVAL" not in ast.unparse(node)
            and "recency" not in ast.unparse(node)
        ):
            return "F.lit(True)"
        return None

    return first_place(source, change)
