"""Instants, visibility and windows as conditions on columns."""

from __future__ import annotations

from datetime import timedelta

from palmette.features.pyspark.code import COMPARISON, OR, SUM, Code, call, column, method, quoted
from palmette.features.spec.dfr import Table
from palmette.features.spec.values import SparkType, Window
from palmette.features.spec.view import Schema

_EPOCH = {"s": "F.timestamp_seconds", "ms": "F.timestamp_millis", "us": "F.timestamp_micros"}
_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")


def is_utc(zone: str) -> bool:
    return zone in _UTC


def instant(name: str, schema: Schema, table: Table, zone: str) -> Code:
    """The column as a timestamp; dates and wall clock readings are of the session's zone, which is the view's.

    Spark compares readings as readings, although they are cast: one that the clock skipped would come before instants
    that it comes after. Through microseconds they are compared as what they stand for.
    """
    kind = schema.get(name, SparkType("timestamp"))
    if kind.name == "timestamp":
        return column(name)
    registered = table.column(name)
    if kind.is_integer and registered is not None:
        return call(_EPOCH[registered.unit or "s"], quoted(name))
    moment = method(column(name), "cast", quoted("timestamp"))
    if kind.name == "timestamp_ntz" and not is_utc(zone):
        return call("F.timestamp_micros", call("F.unix_micros", moment.argument).argument)
    return moment


def event_column(table: Table) -> str | None:
    """The column that says when a row happened, or since when its state is valid."""
    return table.event_time or table.valid_from


def is_dated(table: Table) -> bool:
    """Whether what the table says depends on the instant one asks for."""
    return table.kind != "dimension" or table.available_time is not None


def before(left: Code, right: Code) -> Code:
    return Code(f"{left.within(OR)} < {right.within(OR)}", COMPARISON)


def visible(table: Table, schema: Schema, cutoff: Code, zone: str) -> list[Code]:
    """Conditions under which a row (of an scd2 table: a state) counts at `cutoff`."""
    conditions = []
    if table.kind == "scd2":
        assert table.valid_from is not None
        conditions.append(before(instant(table.valid_from, schema, table, zone), cutoff))
        if table.valid_to is not None:
            until = instant(table.valid_to, schema, table, zone)
            conditions.append(Code(f"{until.text}.isNull() | ({until.text} >= {cutoff.text})", OR))
    elif table.event_time is not None:
        conditions.append(before(instant(table.event_time, schema, table, zone), cutoff))
    if table.available_time is not None:
        conditions.append(before(instant(table.available_time, schema, table, zone), cutoff))
    return conditions


def window_start(window: Window, cutoff: Code, zone: str) -> Code:
    """The first instant of the window; days are calendar days of the session's zone, hours are hours."""
    if window.unit == "h" and window.amount >= 24 and not is_utc(zone):
        hours = f"{window.amount} * MICROS_PER_HOUR"
        return Code(f"F.timestamp_micros(F.unix_micros({cutoff.argument}) - {hours})")
    unit = {"d": "DAY", "h": "HOUR"}[window.unit] + ("S" if window.amount > 1 else "")
    return Code(f'{cutoff.within(SUM)} - F.expr("INTERVAL {window.amount} {unit}")', SUM)


def in_window(window: Window, event: Code, cutoff: Code, zone: str) -> Code:
    return Code(f"{event.within(OR)} >= {window_start(window, cutoff, zone).within(OR)}", COMPARISON)


def window_name(window: Window) -> str:
    """Name of the condition that a row lies in the window: `last_30_days`."""
    unit = {"d": "day", "h": "hour"}[window.unit]
    return f"last_{unit}" if window.amount == 1 else f"last_{window.amount}_{unit}s"


def widest(windows: list[Window]) -> Window:
    """The longest window, a day taken as 24 hours."""
    return max(windows, key=lambda window: timedelta.max if window.timedelta is None else window.timedelta)


def containing(windows: list[Window], zone: str) -> Window | None:
    """The widest window, when it surely contains all others; None for all history.

    Where clocks change, a window in days and one in hours of nearly the same length may each be the longer one.
    """
    longest = widest(windows)
    if longest.timedelta is None:
        return None
    rivals = [other.timedelta for other in windows if other.unit != longest.unit and other.timedelta is not None]
    margin = timedelta(0) if is_utc(zone) else timedelta(hours=3)
    return longest if all(rival + margin <= longest.timedelta for rival in rivals) else None
