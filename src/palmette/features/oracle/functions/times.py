"""Date and timestamp functions, in the view's zone."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle import clock
from palmette.features.oracle.arithmetic import months_later, shifted
from palmette.features.oracle.casts import zone_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.patterns import format_clock, parse_clock, parse_day
from palmette.features.oracle.typed import (
    FUNCTIONS,
    EvaluationScope,
    TypedExpression,
    attempted,
    builder,
    constant,
    function,
    lift,
    to,
)
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import BIGINT, DATE, INT, STRING, TIMESTAMP
from palmette.features.spec.values import SparkType

WITH_UNIT = ("dateadd", "date_add", "date_diff", "datediff", "timestampdiff", "timestampadd")
"""Functions that, with three arguments, take a unit as a bare word first."""
SECOND = timedelta(seconds=1)
_WEEKDAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROSECONDS = {
    "microsecond": 1, "millisecond": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6,
    "day": 86400 * 10**6, "week": 7 * 86400 * 10**6,
}  # fmt: skip
_DAY_PARTS: dict[str, Callable[[date], int]] = {
    "year years yr yrs y": lambda day: day.year,
    "quarter qtr": lambda day: (day.month + 2) // 3,
    "month months mon mons": lambda day: day.month,
    "week weeks w weekofyear": lambda day: day.isocalendar().week,
    "day days d dayofmonth": lambda day: day.day,
    "dayofweek dow": lambda day: day.isoweekday() % 7 + 1,
    "dayofweek_iso dow_iso": date.isoweekday,
    "dayofyear doy": lambda day: day.timetuple().tm_yday,
    "yearofweek": lambda day: day.isocalendar().year,
    "weekday": date.weekday,
}
DAY_PARTS = {name: part for names, part in _DAY_PARTS.items() for name in names.split()}


def local_time(item: TypedExpression, scope: EvaluationScope) -> TypedExpression:
    """Converts an argument of any time type to local time."""
    if item.kind.name == "timestamp_ntz":
        return item
    return to(to(item, TIMESTAMP, scope.zone), c.NTZ, scope.zone)


@builder("date_part", "datepart")
def date_part(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    part = str(arguments[0].value()).lower()
    if part in DAY_PARTS:
        return lift(INT, [to(arguments[1], DATE, scope.zone)], DAY_PARTS[part])
    if part in ("hour", "hours", "minute", "minutes"):
        return lift(INT, [local_time(arguments[1], scope)], lambda reading: getattr(reading, part.rstrip("s")))
    if part in ("second", "seconds"):
        kind, item = SparkType("decimal", 8, 6), local_time(arguments[1], scope)
        return lift(kind, [item], lambda at: Decimal(at.second * 1_000_000 + at.microsecond).scaleb(-6))
    raise NotCovered(f"the date part {part!r}")


@builder("date_add", "dateadd", "timestampadd")
def date_add(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) == 2:
        return lift(DATE, [to(arguments[0], DATE, scope.zone), to(arguments[1], INT, scope.zone)], shifted)
    unit, zone = _unit(arguments[0]), scope.zone
    items = [to(arguments[1], INT, zone), to(arguments[2], TIMESTAMP, zone)]
    return lift(TIMESTAMP, items, lambda amount, at: _moved(at, unit, amount, zone))


def _unit(argument: TypedExpression) -> str:
    unit = str(argument.value()).lower().rstrip("s")
    if unit not in {**_MONTHS, **_MICROSECONDS}:
        raise NotCovered(f"the unit {unit!r}")
    return unit


def _moved(at: datetime, unit: str, amount: int, zone: ZoneInfo) -> datetime:
    if unit in _MONTHS:
        return months_later(at, amount * _MONTHS[unit], zone)
    if unit in ("day", "week"):
        return clock.plus_days(at, amount * (7 if unit == "week" else 1), zone)
    return at + amount * _MICROSECONDS[unit] * clock.MICROSECOND


@builder("datediff", "date_diff", "timestampdiff")
def date_diff(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) == 2:
        days = [to(item, DATE, scope.zone) for item in arguments]
        return lift(INT, days, lambda end, start: (end - start).days)
    unit, zone = _unit(arguments[0]), scope.zone
    times = [to(item, TIMESTAMP, zone) for item in arguments[1:]]
    return lift(BIGINT, times, lambda start, end: _units_between(unit, start, end, zone))


def _units_between(unit: str, start: datetime, end: datetime, zone: ZoneInfo) -> int:
    """Whole units between two timestamps in local time, rounded towards zero."""
    one, other = clock.wall(start, zone), clock.wall(end, zone)
    if unit in _MONTHS:
        return _towards_zero(_whole_months(one, other), _MONTHS[unit])
    return _towards_zero((other - one) // clock.MICROSECOND, _MICROSECONDS[unit])


def _towards_zero(amount: int, length: int) -> int:
    return abs(amount) // length * (1 if amount >= 0 else -1)


def _whole_months(one: datetime, other: datetime) -> int:
    count = (other.year - one.year) * 12 + other.month - one.month
    rest_one, rest_other = (one.day, one.time()), (other.day, other.time())
    if count > 0 and rest_other < rest_one:
        return count - 1
    return count + 1 if count < 0 and rest_other > rest_one else count


function("add_months(date, int) -> date")(clock.plus_months)
function("last_day(date) -> date")(clock.last_day)


@function("next_day(date, string) -> date")
def next_day(day: date, name: str) -> date:
    wanted = next((i for i, start in enumerate(_WEEKDAYS) if name.strip().lower()[:2] == start), None)
    if wanted is None:
        raise WouldFail(f"{name!r} is not a day of the week")
    return day + timedelta(days=(wanted - day.weekday() - 1) % 7 + 1)


@function("months_between(timestamp, timestamp, boolean?) -> double", zoned=True)
def months_between(zone: ZoneInfo, end: datetime, start: datetime, rounded: bool = True) -> float:
    one, other = clock.wall(end, zone), clock.wall(start, zone)
    months = (one.year - other.year) * 12 + one.month - other.month
    ends = one.date() == clock.last_day(one.date()) and other.date() == clock.last_day(other.date())
    if one.day == other.day or ends:
        return float(months)
    clocks = (end - clock.midnight(one.date(), zone)) // SECOND - (start - clock.midnight(other.date(), zone)) // SECOND
    value = months + ((one.day - other.day) * 86400 + clocks) / (31 * 86400)
    return float(Decimal(repr(value)).quantize(Decimal("1e-8"), ROUND_HALF_UP)) if rounded else value


def _floor_day(day: date, unit: str) -> date | None:
    match unit:
        case "year" | "yyyy" | "yy":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month" | "mm" | "mon":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case _:
            return None


function("trunc(date, string) -> date")(lambda day, unit: _floor_day(day, unit.lower()))


@function("date_trunc(string, timestamp) -> timestamp", zoned=True)
def date_trunc(zone: ZoneInfo, unit: str, at: datetime) -> datetime | None:
    unit = unit.lower()
    if unit in _MICROSECONDS and unit not in ("day", "week"):
        offset = at.astimezone(zone).utcoffset() or timedelta()
        return at - (clock.micros(at) + offset // clock.MICROSECOND) % _MICROSECONDS[unit] * clock.MICROSECOND
    reading = clock.wall(at, zone)
    day = reading.date() if unit in ("day", "dd") else _floor_day(reading.date(), unit)
    return None if day is None else clock.midnight(day, zone)


def _parsed(target: SparkType, safe: bool, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Compiles to_date and to_timestamp: a cast, or parsing by a pattern."""
    parse = parse_day if target == DATE else partial(parse_clock, zone=scope.zone)
    has_pattern = len(arguments) > 1 and arguments[0].kind == STRING
    parsed = lift(target, arguments, parse) if has_pattern else to(arguments[0], target, scope.zone)
    return attempted(parsed) if safe else parsed


for _name, _target in (("date", DATE), ("timestamp", TIMESTAMP)):
    FUNCTIONS[f"to_{_name}"] = partial(_parsed, _target, False)
    FUNCTIONS[f"try_to_{_name}"] = partial(_parsed, _target, True)


function("date_format(timestamp, string) -> string", zoned=True)(
    lambda zone, at, pattern: format_clock(at.astimezone(zone), pattern)
)


@builder("unix_timestamp", "to_unix_timestamp")
def unix_timestamp(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Seconds since the epoch; text is parsed by a pattern."""
    if not arguments:
        raise NotCovered("the current time")
    time, *given = arguments
    if time.kind.name != "string":
        return lift(BIGINT, [to(time, TIMESTAMP, scope.zone)], lambda at: _towards_zero(clock.micros(at), 10**6))
    items = [time, *(given or [constant("yyyy-MM-dd HH:mm:ss", STRING)])]
    return lift(BIGINT, items, lambda text, pattern: clock.micros(parse_clock(text, pattern, scope.zone)) // 10**6)


for _name, _size in (("seconds", 10**6), ("millis", 1000), ("micros", 1)):
    function(f"unix_{_name}(timestamp) -> bigint")(lambda at, size=_size: clock.micros(at) // size)
    function(f"timestamp_{_name}(bigint) -> timestamp")(lambda amount, size=_size: clock.since_epoch(amount * size))


@function("make_date(int, int, int) -> date")
def make_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise WouldFail(f"{year}-{month}-{day} is not a date") from error


@function("make_timestamp(int, int, int, int, int, decimal(16,6)) -> timestamp", zoned=True)
def make_timestamp(zone: ZoneInfo, *parts: Any) -> datetime:
    year, month, day, hour, minute, seconds = parts
    try:
        reading = datetime.combine(make_date(year, month, day), time(hour, minute))
    except ValueError as error:
        raise WouldFail(f"{parts} is not a time") from error
    if not 0 <= seconds <= 60:
        raise WouldFail(f"{seconds} is not a number of seconds")
    return clock.at_wall(reading + int((seconds * 10**6).to_integral_value(ROUND_FLOOR)) * clock.MICROSECOND, zone)


function("from_utc_timestamp(timestamp, string) -> timestamp")(
    lambda at, name: clock.wall(at, zone_of(name) or UTC).replace(tzinfo=at.tzinfo)
)
function("to_utc_timestamp(timestamp, string) -> timestamp")(
    lambda at, name: clock.at_wall(at.replace(tzinfo=None), zone_of(name) or UTC)
)
