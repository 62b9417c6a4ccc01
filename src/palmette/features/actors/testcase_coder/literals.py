"""Writes values as Python source, as a programmer would in a test."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

UNITS = ("DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND")
"""Constants of the tests for units of time."""


def literal(value: Any, times: Mapping[str, datetime]) -> str:
    """A value as source; times relative to these constants, one with a zone and one without, where that is short."""
    match value:
        case datetime():
            same = [name for name, base in times.items() if (base.tzinfo is None) == (value.tzinfo is None)]
            return (_relative(same[0], value - times[same[0]]) if same else "") or time_text(value)
        case date():
            return f"date({value.year}, {value.month}, {value.day})"
        case Decimal():
            text = f"{value:f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return f'Decimal("{text}")' if "." in text else f"Decimal({text})"
        case float() if not isfinite(value):
            return f'float("{value}")'
        case list() | tuple():
            return f"[{', '.join(literal(item, times) for item in value)}]"
        case dict():
            items = (f"{literal(key, times)}: {literal(item, times)}" for key, item in value.items())
            return f"{{{', '.join(items)}}}"
        case str() if '"' not in value:
            return f'"{repr(value)[1:-1]}"'
    return repr(value)


def time_text(value: datetime) -> str:
    """A time in full, by the helper `utc` if it has a zone.

    >>> time_text(datetime(2025, 1, 30, 23, 59, tzinfo=UTC)), time_text(datetime(2025, 1, 30))
    ('utc(2025, 1, 30, 23, 59)', 'datetime(2025, 1, 30)')
    """
    moment = value.astimezone(UTC) if value.tzinfo else value
    parts = [*moment.timetuple()[:6], moment.microsecond]
    while parts[-1] == 0 and len(parts) > len(("year", "month", "day")):
        parts.pop()
    return f"{'utc' if value.tzinfo else 'datetime'}({', '.join(map(str, parts))})"


def _relative(name: str, distance: timedelta) -> str:
    """A time by its distance from a constant, in days of 24 hours; empty if that has more than three terms.

    >>> _relative("AS_OF", timedelta(days=-7, microseconds=-1)), _relative("AS_OF", timedelta(hours=1))
    ('AS_OF - 7 * DAY - MICROSECOND', 'AS_OF + HOUR')
    """
    days = round(distance / timedelta(days=1))
    rest = distance - timedelta(days=days)
    sign, terms = (-1 if rest < timedelta(0) else 1), [("DAY", days)]
    for unit in UNITS[1:]:
        amount, rest = divmod(abs(rest), timedelta(**{f"{unit.lower()}s": 1}))
        terms.append((unit, sign * amount))
    texts = [f" {n:+} * {unit}".replace("+", "+ ").replace("-", "- ").replace(" 1 *", "") for unit, n in terms if n]
    return name + "".join(texts) if len(texts) <= 3 else ""
