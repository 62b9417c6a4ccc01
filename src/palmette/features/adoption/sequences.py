"""Window functions that are steps of a specification: the value before, the gap, the session, the newest row."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from sqlglot import exp

from palmette.features.adoption.trees import NotReadError, Ordering, Tree, duration, number_of, text_of, time_column
from palmette.features.spec.dfr import Table
from palmette.features.spec.sql import function_name
from palmette.features.spec.view import AS_OF

_UNITS = {1e6: "seconds", 6e7: "minutes", 3.6e9: "hours", 8.64e10: "days"}
_MICROSECONDS = {"unix_micros": 1, "unix_millis": 1e3, "unix_seconds": 1e6, "unix_timestamp": 1e6}
"""How many microseconds the results of functions count."""


def over(function: Tree, ordering: Ordering) -> Tree:
    """A window function."""
    ordered = [exp.Ordered(this=exp.column(name), desc=not up, nulls_first=up) for name, up in ordering.order]
    running = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    return exp.Window(
        this=function,
        partition_by=[exp.column(name) for name in ordering.by],
        order=exp.Order(expressions=ordered) if ordered else None,
        spec=running if ordering.is_running else None,
    )


def sequence_step(name: str, tree: Tree, table: Table) -> Mapping[str, Any] | None:
    """The step that computes a column with window functions; None if there is none."""
    tree = tree.unnest()
    if (gap := _gap(tree)) is not None:
        window, microseconds = gap
        unit = _UNITS.get(microseconds)
        return {"gap": {"column": name, "by": _by(window, table), "unit": unit}} if unit else None
    if isinstance(tree, exp.Window) and function_name(tree.this) == "lag":
        of, *rest = tree.this.expressions
        offset = int(number_of(rest[0]) or 1) if rest else 1
        step = {"column": name, "of": text_of(of), "by": _by(tree, table)}
        return {"previous": {**step, "offset": offset} if offset > 1 else step}
    return _session(name, tree, table)


def _gap(tree: Tree) -> tuple[exp.Window, float] | None:
    """The window of a time since the row before, and the microseconds that it counts."""
    if isinstance(tree, exp.Div):
        inner, divisor = _gap(tree.left.unnest()), number_of(tree.right)
        return None if inner is None or divisor is None else (inner[0], inner[1] * divisor)
    if not isinstance(tree, exp.Sub):
        return None
    now, before = tree.left.unnest(), tree.right.unnest()
    factor = _MICROSECONDS.get(function_name(now) or "")
    if factor is None or not isinstance(before, exp.Window) or function_name(before.this) != "lag":
        return None
    if before.this.expressions != [now]:
        return None
    return before, factor


def _session(name: str, tree: Tree, table: Table) -> Mapping[str, Any] | None:
    """The step for 1 plus the running number of long gaps."""
    if not isinstance(tree, exp.Add) or number_of(tree.right) != 1 or not isinstance(tree.left.unnest(), exp.Window):
        return None
    window = cast(exp.Window, tree.left.unnest())
    starts = window.this.expressions[0].unnest() if function_name(window.this) == "count_if" else None
    if not isinstance(starts, exp.GTE | exp.GT):
        return None
    gap, least = _gap(starts.left.unnest()), number_of(starts.right)
    if gap is None or least is None:
        return None
    timeout = duration(timedelta(microseconds=least * gap[1]))
    step = {"column": name, "by": _by(window, table), "timeout": timeout}
    return {"session": {**step, "longer": True} if isinstance(starts, exp.GT) else step}


def _by(window: exp.Window, table: Table) -> list[str]:
    """The keys of a window that is ordered by the event's time."""
    order = window.args.get("order")
    first = order.expressions[0] if order is not None else None
    if first is None or first.args.get("desc") or time_column(first.this) != table.event_time:
        raise NotReadError(f"a window function is not in the order of {table.event_time}")
    return [one.name for one in window.args["partition_by"] if one.name != AS_OF]


def is_newest(tree: Tree, table: Table) -> bool:
    """Whether a condition keeps the newest row of each key."""
    tree = tree.unnest()
    if not isinstance(tree, exp.EQ) or number_of(tree.right) != 1 or not isinstance(tree.left.unnest(), exp.Window):
        return False
    window = tree.left.unnest()
    order = window.args.get("order")
    first = order.expressions[0] if order is not None else None
    times = (table.event_time, table.valid_from)
    is_latest = first is not None and first.args.get("desc") and time_column(first.this) in times
    return function_name(window.this) == "row_number" and bool(is_latest)
