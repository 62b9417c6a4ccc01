"""Bugs about time: boundaries, windows, zones, orders, and what was known when."""

import ast
import re

from palmette.features.script_tree import ScriptTree, called, spliced
from palmette_bench.bugs.rewriting import (
    Inject,
    first_place,
    lower_bound,
    on_returned,
    upper_bound,
    with_import,
)


def unbounded(role: str) -> Inject:
    """Without the upper bound on a time."""
    return lambda source: first_place(source, lambda n: "F.lit(True)" if upper_bound(source, n, role) else None)


def closed(role: str) -> Inject:
    """With rows exactly at the cut-off."""

    def inject(source: ScriptTree) -> str | None:
        def change(node: ast.expr) -> str | None:
            found = upper_bound(source, node, role)
            return ast.unparse(ast.Compare(found.left, [ast.LtE()], found.comparators)) if found else None

        return first_place(source, change)

    return inject


def open_start(source: ScriptTree) -> str | None:
    """Without rows exactly at the start of the window."""

    def change(node: ast.expr) -> str | None:
        found = lower_bound(source, node)
        return ast.unparse(ast.Compare(found.left, [ast.Gt()], found.comparators)) if found else None

    return first_place(source, change)


def no_start(source: ScriptTree) -> str | None:
    """Without the start of the window."""
    return first_place(source, lambda node: "F.lit(True)" if lower_bound(source, node) else None)


def rows_for_range(source: ScriptTree) -> str | None:
    """The newest 30 rows of an entity instead of the rows of 30 days."""
    without = no_start(source)
    event = next((item.table for item in source.view.sources if item.is_event), None)
    if without is None or event is None:
        return None
    keys = [key for key in source.view.grain if event.column(key)]
    order = ", ".join(f'F.col("{name}").desc()' for name in dict.fromkeys([event.event_time, *event.keys]))
    window = f"Window.partitionBy(*{keys!r}).orderBy({order})"
    changed = with_import(without, "from pyspark.sql import Window")
    newest = f'.withColumn("place", F.row_number().over({window})).where("place <= 30").drop("place")'
    return on_returned(source, changed, rows=True, call=newest)


def hours_for_days(source: ScriptTree) -> str | None:
    """24 hours for a calendar day, in a zone where some days have 23 or 25."""
    if source.view.zone in ("UTC", "Etc/UTC"):
        return None

    def change(node: ast.expr) -> str | None:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
            return None
        match = re.fullmatch(r"F\.expr\('INTERVAL (\d+) DAYS?'\)", ast.unparse(node.right))
        if match is None:
            return None
        return f"F.timestamp_micros(F.unix_micros({ast.unparse(node.left)}) - {match[1]} * 86_400_000_000)"

    return first_place(source, change)


def longer_window(source: ScriptTree) -> str | None:
    """A window one day or hour longer."""

    def change(node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith("INTERVAL ")
            and "MICRO" not in node.value
        ):
            _, amount, unit = node.value.split()
            return repr(f"INTERVAL {int(amount) + 1} {unit}")
        return None

    return first_place(source, change)


def unpinned_zone(source: ScriptTree) -> str | None:
    """Without the pinned session time zone."""
    for node in source.transform_nodes:
        if isinstance(node, ast.Expr) and ast.unparse(node).find("conf.set('spark.sql.session.timeZone'") > 0:
            return spliced(source.text, node.value, "None")
    return None


def visible_too_late(source: ScriptTree) -> str | None:
    """What looks at other events sees rows that were not known yet: they are filtered out afterwards."""
    if not any(item.late for item in source.view.sources):
        return None
    for node in source.transform_nodes:
        if (
            isinstance(node, ast.Call)
            and called(node) in ("where", "filter")
            and node.args
            and any(upper_bound(source, item, "event") for item in ast.walk(node.args[0]) if isinstance(item, ast.expr))
        ):
            assert isinstance(node.func, ast.Attribute)
            without = spliced(source.text, node, ast.unparse(node.func.value))
            return on_returned(source, without, rows=True, call=f".where({ast.unparse(node.args[0])})")
    return None
