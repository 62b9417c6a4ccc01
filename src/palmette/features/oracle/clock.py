"""Timestamps, calendar days and local times in one time zone, by Spark's rules.

A timestamp is an aware `datetime` in UTC; a local time is a naive one. Local times skipped by daylight saving move
forward by the length of the gap; ambiguous ones mean the earlier timestamp. This is the rule of `java.time`, and of
`zoneinfo` with `fold=0`.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec.values import Window

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)


def wall(timestamp: datetime, zone: tzinfo) -> datetime:
    """The local time of a timestamp, as a naive datetime."""
    try:
        return timestamp.astimezone(zone).replace(tzinfo=None, fold=0)
    except OverflowError as error:
        raise WouldFail(f"{timestamp} lies outside the years 1 to 9999") from error


def at_wall(reading: datetime, zone: tzinfo) -> datetime:
    """The timestamp of a local time."""
    try:
        return reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    except OverflowError as error:
        raise WouldFail(f"{reading} lies outside the years 1 to 9999") from error


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The timestamp at which a calendar day begins."""
    return at_wall(datetime.combine(day, time()), zone)


def day_of(timestamp: datetime, zone: ZoneInfo) -> date:
    return wall(timestamp, zone).date()


def plus_days(timestamp: datetime, days: int, zone: ZoneInfo) -> datetime:
    """The same local time `days` calendar days later; an ambiguous result keeps the original offset."""
    if days == 0:
        return timestamp
    local = timestamp.astimezone(zone)
    try:
        reading = local.replace(tzinfo=None) + days * DAY
    except OverflowError as error:
        raise WouldFail(f"{timestamp} plus {days} days lies outside the years 1 to 9999") from error
    earlier, later = (reading.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    keeps_offset = reading - later.replace(tzinfo=None) == local.utcoffset()
    return later if earlier < later and keeps_offset else earlier


def plus(timestamp: datetime, length: timedelta, zone: ZoneInfo) -> datetime:
    """Adds whole days as calendar days and the rest as elapsed time, like Spark's timestamp + day-time interval."""
    days = length // DAY if length > timedelta() else -(-length // DAY)
    try:
        return plus_days(timestamp, days, zone) + (length - days * DAY)
    except OverflowError as error:
        raise WouldFail(f"{timestamp} + {length} lies outside the years 1 to 9999") from error


def plus_months(day: date, months: int) -> date:
    """The same day of a later month, or that month's last day if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise WouldFail(f"{day} plus {months} months lies outside the years 1 to 9999")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def window_start(cutoff: datetime, window: Window, zone: ZoneInfo) -> datetime | None:
    """The start of the window before the cut-off; None if it covers all history."""
    if window == Window.ALL:
        return None
    return plus_days(cutoff, -window.days, zone) - timedelta(seconds=window.seconds)


def timestamp_of(value: object, unit: str | None, zone: ZoneInfo) -> datetime | None:
    """Converts a value of a time column (timestamp, timestamp_ntz, date, or integer since the epoch) to a timestamp."""
    match value:
        case None:
            return None
        case datetime():
            return value.astimezone(UTC) if value.tzinfo else at_wall(value, zone)
        case date():
            return midnight(value, zone)
        case int():
            return since_epoch({"s": 1_000_000, "ms": 1000, "us": 1}[unit or "s"] * value)
        case _:
            raise NotCovered(f"a time of type {type(value).__name__}")


def since_epoch(micros: int) -> datetime:
    """The timestamp so many microseconds after the epoch."""
    try:
        return EPOCH + micros * MICROSECOND
    except OverflowError as error:
        raise WouldFail(f"{micros} microseconds since 1970 lie outside the years 1 to 9999") from error


def micros(timestamp: datetime) -> int:
    """Microseconds since the epoch."""
    return (timestamp - EPOCH) // MICROSECOND
