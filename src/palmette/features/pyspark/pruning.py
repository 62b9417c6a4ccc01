"""Conditions on partition columns, so that Spark opens only the files of the days that can matter."""

from __future__ import annotations

import math
from typing import NamedTuple

from palmette.features.pyspark.code import quoted
from palmette.features.pyspark.scope import Scope
from palmette.features.pyspark.times import is_utc
from palmette.features.spec.dfr import Partition, Table
from palmette.features.spec.values import Window


class Pruning(NamedTuple):
    """A condition on the partition column that no visible row fails, and what it is written with."""

    statements: list[str]
    condition: str


def pruning(scope: Scope, table: Table, window: Window | None, changed: frozenset[str] = frozenset()) -> Pruning | None:
    """The days of `table` that can hold rows of `window` (None: all history) before the cut-off.

    A day of event time is bounded on both sides, a day of availability from above only: rows may arrive late.
    None where no partition column holds a day, or where a step changes the time it is the day of.
    """
    for partition in table.partitions:
        registered = table.column(partition.column)
        if partition.of is None or registered is None or registered.type.parsed.name not in ("date", "string"):
            continue
        time = table.event_time if partition.of == "event_time" else table.available_time
        if time is None or {time, partition.column} & changed:
            continue
        lower = window if partition.of == "event_time" and window is not None and window.unit != "all" else None
        return _bounds(scope, table, partition, lower)
    return None


def _bounds(scope: Scope, table: Table, partition: Partition, window: Window | None) -> Pruning:
    registered = table.column(partition.column)
    time = (
        table.column(table.event_time or "")
        if partition.of == "event_time"
        else table.column(table.available_time or "")
    )
    assert registered is not None and time is not None
    floating = not is_utc(scope.view.zone) and time.type.parsed.name in ("date", "timestamp_ntz")
    text = registered.type.parsed.name == "string"
    column = f"F.col({quoted(partition.column)})"
    slack = 0 if is_utc(scope.view.zone) else 1
    days = 0 if window is None else (window.amount if window.unit == "d" else math.ceil(window.amount / 24)) + slack
    if scope.per_row:
        return _per_row(scope, column, text, days if window else None, int(floating))
    statements = ["last_day = as_of.astimezone(timezone.utc).date()" + (" + timedelta(days=1)" if floating else "")]
    suffix = ".isoformat()" if text else ""
    if window is None:
        return Pruning(statements, f"{column} <= last_day{suffix}")
    statements.append(f"first_day = last_day - timedelta(days={days + 2 * int(floating)})")
    return Pruning(statements, f"{column}.between(first_day{suffix}, last_day{suffix})")


def _per_row(scope: Scope, column: str, text: bool, days: int | None, slack: int) -> Pruning:
    """Bounds by the earliest and the latest cut-off, as scalar subqueries: Spark still opens only those days."""
    moment = quoted("as_of") if is_utc(scope.view.zone) else 'F.to_utc_timestamp("as_of", ZONE)'
    cast = '.cast("string")' if text else ""
    latest = f"F.max(F.to_date({moment}))"
    latest = f"F.date_add({latest}, {slack})" if slack else latest
    statements = [f"last_day = spine.select({latest}{cast}).scalar()"]
    if days is None:
        return Pruning(statements, f"{column} <= last_day")
    earliest = f"F.date_sub(F.min(F.to_date({moment})), {days + slack})"
    return Pruning(
        [*statements, f"first_day = spine.select({earliest}{cast}).scalar()"],
        f"({column} >= first_day) & ({column} <= last_day)",
    )
