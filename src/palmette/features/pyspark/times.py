"""Conditions on times, visibility, windows and partition columns."""

import math
import re
from datetime import timedelta
from typing import NamedTuple

from palmette.features.pyspark.code import COMPARISON, OR, SUM, CodeFragment, call, column, method, quoted
from palmette.features.pyspark.scope import ScriptScope
from palmette.features.spec import Duration, RegisteredColumn, Schema, SparkType, Table, View, Window
from palmette.features.spec.phrases import length
from palmette.features.spec.values import longest

_EPOCH = {"s": "F.timestamp_seconds", "ms": "F.timestamp_millis", "us": "F.timestamp_micros"}
_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")


def is_utc(zone: str) -> bool:
    return zone in _UTC


def timestamp(name: str, schema: Schema, table: Table, zone: str) -> CodeFragment:
    """The column as a timestamp; dates and local times are in the session's zone, which is the view's.

    Times without a zone in UTC are converted as text, which does not depend on the session. In other zones, Spark
    compares cast timestamp_ntz values as local times, which misplaces those that the clock skipped; the conversion
    through microseconds prevents that.
    """
    kind = schema.get(name, SparkType("timestamp"))
    if kind.name == "timestamp":
        return column(name)
    registered = table.column(name)
    if kind.is_integer and registered is not None:
        return call(_EPOCH[registered.unit or "s"], quoted(name))
    if kind.name == "timestamp_ntz" and is_utc(zone):
        return call("F.to_timestamp", call("F.concat", quoted(name), 'F.lit("Z")').argument)
    moment = method(column(name), "cast", quoted("timestamp"))
    if kind.name == "timestamp_ntz":
        return call("F.timestamp_micros", call("F.unix_micros", moment.argument).argument)
    return moment


def event_column(table: Table) -> str | None:
    """The column with the event's time, or the start of a state's validity."""
    return table.event_time or table.valid_from


def is_dated(table: Table) -> bool:
    """Whether the table's content depends on when it is looked up."""
    return table.kind != "dimension"


def visible(table: Table, schema: Schema, cutoff: CodeFragment, zone: str) -> list[CodeFragment]:
    """Conditions under which a row (for an scd2 table: a state) is visible at `cutoff`."""
    known = [timestamp(name, schema, table, zone) for name in (event_column(table), table.available_time) if name]
    conditions = [CodeFragment(f"{time.within(OR)} < {cutoff.within(OR)}", COMPARISON) for time in known]
    if table.valid_to is not None:
        until = timestamp(table.valid_to, schema, table, zone)
        conditions.insert(1, CodeFragment(f"{until.text}.isNull() | ({until.text} >= {cutoff.text})", OR))
    return conditions


def micros(length: Duration) -> str:
    """A duration in microseconds, as code: `90 * MICROS_PER_MINUTE`."""
    seconds = length.timedelta // timedelta(seconds=1)
    size, unit = next((size, unit) for size, unit in _SECONDS if seconds % size == 0)
    return f"{seconds // size} * MICROS_PER_{unit}"


_SECONDS = ((86400, "DAY"), (3600, "HOUR"), (60, "MINUTE"), (1, "SECOND"))


def window_start(window: Window, cutoff: CodeFragment, zone: str) -> CodeFragment:
    """Code of the window's start; days are calendar days of the session's zone, the rest is elapsed time."""
    if is_utc(zone) and cutoff.text == "F.lit(as_of)":
        hours, rest = divmod(window.seconds, 3600)
        parts = {"days": window.days, "hours": hours, "minutes": rest // 60, "seconds": rest % 60}
        given = ", ".join(f"{unit}={amount}" for unit, amount in parts.items() if amount)
        return CodeFragment(f"F.lit(as_of - timedelta({given}))")
    if window.days:
        unit = "DAYS" if window.days > 1 else "DAY"
        cutoff = CodeFragment(f'{cutoff.within(SUM)} - F.expr("INTERVAL {window.days} {unit}")', SUM)
    if window.seconds:
        elapsed = micros(Duration(0, window.seconds))
        return CodeFragment(f"F.timestamp_micros(F.unix_micros({cutoff.argument}) - {elapsed})")
    return cutoff


def in_window(scope: ScriptScope, window: Window, event: CodeFragment) -> CodeFragment:
    """The condition that a visible row is in the window; by the repository's own function if it has one."""
    start = window_start(window, scope.cutoff, scope.view.zone)
    plain = CodeFragment(f"{event.within(OR)} >= {start.within(OR)}", COMPARISON)
    return team_window(scope, window, event) or plain


def team_window(scope: ScriptScope, window: Window, event: CodeFragment) -> CodeFragment | None:
    """A call of the repository's own condition for [as_of - days, as_of), which counts days as 24 hours."""
    if scope.per_row or event.column is None or window.seconds or not is_utc(scope.view.zone):
        return None
    call = scope.utility_call("in_window", time=event.argument, as_of="as_of", days=str(window.days))
    return None if call is None else CodeFragment(call)


def window_name(window: Window) -> str:
    """Name of the condition that a row is in the window: `last_30_days`."""
    return f"last_{length(window).replace(' ', '_')}"


def containing(windows: list[Window], zone: str) -> Window | None:
    """The widest window if it is certain to contain all others; None for all history.

    With daylight saving, either of two similar windows may be longer if they have different numbers of days.
    """
    widest = longest(windows)
    if widest is None or widest == Window.ALL:
        return None
    rivals = [
        other.timedelta
        for other in windows
        if other.days != widest.days and (other.seconds or widest.seconds)  # clock changes decide which is longer
    ]
    margin = timedelta(0) if is_utc(zone) else timedelta(hours=3)
    return widest if all(rival + margin <= widest.timedelta for rival in rivals) else None


class Pruning(NamedTuple):
    """Calls that keep the partitions that can contain visible rows, and the statements they use."""

    statements: list[str]
    calls: list[str]


def pruning(scope: ScriptScope, table: Table, window: Window | None, changed: frozenset[str] = frozenset()) -> Pruning:
    """Restricts `table` to the days that can contain rows of `window` (None: all history) before the cut-off.

    Days of the event time are bounded on both sides, days of availability only from above because rows may arrive late.
    Empty if no partition column contains a day, or if a step changes the time that the day belongs to.
    """
    for partition in table.partitions:
        registered = table.column(partition.column)
        if partition.of is None or registered is None or registered.type.parsed.name not in ("date", "string"):
            continue
        time = table.column((table.event_time if partition.of == "event_time" else table.available_time) or "")
        if time is None or {time.name, partition.column} & changed:
            continue
        lower = window if partition.of == "event_time" and window not in (None, Window.ALL) else None
        return _bounds(scope, registered, time, lower)
    return Pruning([], [])


def _bounds(scope: ScriptScope, day: RegisteredColumn, time: RegisteredColumn, window: Window | None) -> Pruning:
    floating = not is_utc(scope.view.zone) and time.type.parsed.name in ("date", "timestamp_ntz")
    text = day.type.parsed.name == "string"
    column = f"F.col({quoted(day.name)})"
    slack = 0 if is_utc(scope.view.zone) else 1
    days = 0 if window is None else window.days + math.ceil(window.seconds / 86400) + slack
    if scope.per_row:  # by the earliest and the latest cut-off, as scalar subqueries; Spark still reads only those days
        moment = quoted("as_of") if is_utc(scope.view.zone) else 'F.to_utc_timestamp("as_of", ZONE)'
        latest, cast = f"F.max(F.to_date({moment}))", '.cast("string")' if text else ""
        latest = f"F.date_add({latest}, 1)" if floating else latest
        last = f"spine.select({latest}{cast}).scalar()"
        first = f"spine.select(F.date_sub(F.min(F.to_date({moment})), {days + floating}){cast}).scalar()"
        suffix = ""
    else:
        last = "as_of.astimezone(timezone.utc).date()" + " + timedelta(days=1)" * floating
        first, suffix = f"last_day - timedelta(days={days + 2 * floating})", ".isoformat()" * text
    if window is None:
        return Pruning([f"last_day = {last}"], [f"where({column} <= last_day{suffix})"])
    statements = [f"last_day = {last}", f"first_day = {first}"]
    return Pruning(statements, [f"where({column}.between(first_day{suffix}, last_day{suffix}))"])


_ZONED = re.compile(
    r"F\.(?:\w*(?:date|day|hour|minute|second|month|year|week|quarter|trunc|expr|json|csv)\w*|to_time\w*|from_\w+"
    r"|to_utc\w*)\(|cast\(\"(?:date|timestamp)"
)
"""Calls whose result may depend on the session's time zone."""


_OPERATORS = re.compile(r"""F\.expr\("(?![^"]*\binterval\b)[\w\s.+*/%<>=-]*"\)""", re.IGNORECASE)
"""Expressions without calls, texts and intervals."""


def depends_on_zone(view: View, code: str) -> bool:
    """Whether the result of the code may depend on the session's time zone; true in case of doubt."""
    code = re.sub(r"""F\.\w+\("?as_of"?\)\.cast\("timestamp"\)""", "", code)  # already a timestamp
    code = re.sub(r'F\.to_timestamp\(F\.concat\("[^"]+", F\.lit\("Z"\)\)\)', "", code)  # names its zone
    code = _OPERATORS.sub("", code)
    code = re.sub(r'F\.expr\("try_cast\(\S+ as (?!date|timestamp)[^"]*"\)', "", code)
    kinds = {
        f"{table.name}.{column.name}": str(column.type) for table in view.tables.values() for column in table.columns
    }
    times = [f"{table.name}.{name}" for table in view.tables.values() for name in table.times]
    text = {feature.name for feature in view.features if str(feature.dtype) == "string"}
    used = {column for columns in view.lineage.values() for column in columns}
    local_kinds = {"string", "date", "timestamp_ntz"}
    exact = [name for name, columns in view.lineage.items() if not local_kinds & {kinds.get(one) for one in columns}]
    code = re.sub(rf'F\.col\("(?:{"|".join(exact)})"\)\.cast\("timestamp"\)', "", code)
    local = {name.partition(".")[2] for name in used if kinds.get(name) == "timestamp_ntz"}
    inputs = {column for name, columns in view.lineage.items() if name in text for column in columns}
    return (
        not is_utc(view.zone)
        or _ZONED.search(code) is not None
        or any(kinds.get(place) not in ("timestamp", "timestamp_ntz") for place in times)
        or any(kinds.get(name) == "date" for name in used)
        or any(quoted(name) in code for name in local)
        or "timestamp" in {kinds.get(column) for column in inputs - set(times)}
    )
