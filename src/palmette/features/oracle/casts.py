"""Spark's casts in ANSI mode, value by value. A value that cannot be cast raises `WouldFail`."""

import math
import re
from collections.abc import Callable
from ctypes import c_float
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle.clock import EPOCH, MICROSECOND, at_wall, day_of, micros, midnight, wall
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec.type_rules import BITS, STRING
from palmette.features.spec.values import EXACT, SparkType

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+\Z", re.ASCII)
_DATE = re.compile(r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\Z", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]+/[A-Za-z_/]+)?)?)?)?\Z",
    re.ASCII,
)
_NOT_FINITE = re.compile(r"nan|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(value: Any, source: SparkType, target: SparkType, zone: ZoneInfo) -> Any:
    """Casts `value` from type `source` to type `target`."""
    if value is None or source == target or source.name == "null":
        return value
    if source.name == target.name and (source.element or source.fields):
        return _parts(value, source, target, lambda item, one, other: cast(item, one, other, zone))
    families = _family(source), _family(target)
    try:
        if families in _ZONED_CASTS:
            return _ZONED_CASTS[families](value, zone)
        if families in _CASTS:
            return _fitted(_CASTS[families](value), target)
    except (ValueError, ArithmeticError) as error:
        raise WouldFail(f"{value!r} as {target}") from error
    if target.name == "string":
        return _text(value, source, zone)
    raise NotCovered(f"a cast of {source} to {target}")


def _family(kind: SparkType) -> str:
    return "integer" if kind.is_integer else {"double": "float"}.get(kind.name, kind.name)


def _fitted(value: Any, target: SparkType) -> Any:
    """The value, rounded to its type; raises `WouldFail` if it is out of range."""
    if target.is_integer:
        return in_range(value, target)
    if target.name == "decimal":
        return to_decimal(value, target)
    return to_single(value) if target.name == "float" else value


def to_single(value: float) -> float:
    """Rounds to 32 bits."""
    return c_float(value).value


def stored(value: Any, kind: SparkType) -> Any:
    """The value as stored in a column of its type: floats, also in arrays and maps, are rounded to 32 bits."""
    if value is None or not (kind.name == "float" or kind.element):
        return value
    if kind.name == "float":
        return to_single(value)
    return _parts(value, kind, kind, lambda item, _, own: stored(item, own))


def _parts(value: Any, source: SparkType, target: SparkType, change: Callable[[Any, SparkType, SparkType], Any]) -> Any:
    """Applies `change` to each part of an array (list), map (dict) or struct (tuple), with its old and new type."""
    if source.element and target.element:
        one, other = source.element, target.element
        if source.name == "map":
            return {key: change(item, one, other) for key, item in value.items()}
        return [change(item, one, other) for item in value]
    if len(source.fields) != len(target.fields):
        raise NotCovered(f"a cast of {source} to {target}")
    kinds = zip(value, source.fields, target.fields, strict=True)
    return tuple(change(item, one, other) for item, (_, one), (_, other) in kinds)


def to_decimal(value: Decimal, target: SparkType) -> Decimal:
    """Rounds half up to the target's scale; raises `WouldFail` if the result does not fit."""
    if not value.is_finite():
        raise WouldFail(f"{value} as {target}")
    rounded = value.quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP, EXACT)
    if abs(rounded) >= Decimal(10) ** (target.precision - target.scale):
        raise WouldFail(f"{value} does not fit {target}")
    return rounded


def in_range(value: int, target: SparkType) -> int:
    bits = BITS[target.name]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise WouldFail(f"{value} does not fit {target}")
    return value


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.match(text.strip())
    if match is None:
        raise ValueError(text)
    return match


def _float_of(text: str) -> float:
    text = text.strip()
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    plain = text[:-1] if text[-1:] in ("d", "D", "f", "F") else text
    return float(_matched(_NUMBER, plain)[0])


def _truth(text: str) -> bool:
    folded = text.strip().lower()
    if folded not in (*_TRUE, *_FALSE):
        raise ValueError(text)
    return folded in _TRUE


def _calendar(match: re.Match[str]) -> date:
    return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def _timestamp_of(text: str, zone: ZoneInfo) -> datetime:
    reading, offset = parse_timestamp(text)
    return at_wall(reading, zone) if offset is None else reading.replace(tzinfo=offset).astimezone(UTC)


def parse_timestamp(text: str) -> tuple[datetime, timezone | ZoneInfo | None]:
    """Parses a local time and, if the text has one, its zone."""
    match = _matched(_TIMESTAMP, text)
    hour, minute, second = (int(match[i] or 0) for i in (4, 5, 6))
    clock = time(hour, minute, second, int((match[7] or "").ljust(6, "0")[:6]))
    return datetime.combine(_calendar(match), clock), zone_of(match[8])


def zone_of(name: str | None) -> timezone | ZoneInfo | None:
    if name is None:
        return None
    if name in ("Z", "UTC", "GMT"):
        return UTC
    offset = re.sub(r"^(?:UTC|GMT)(?=[+-])", "", name)
    try:
        if offset.startswith(("+", "-")):
            hours, _, minutes = offset[1:].partition(":") if ":" in offset else (offset[1:3], "", offset[3:])
            length = timedelta(hours=int(hours), minutes=int(minutes or 0))
            return timezone(-length if offset[0] == "-" else length)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise WouldFail(f"{name!r} is not a time zone") from error


def _text(value: Any, source: SparkType, zone: ZoneInfo) -> str:
    """Formats a value whose text depends on more than the value."""
    if source.name == "decimal":
        return format(value.quantize(Decimal(1).scaleb(-source.scale), context=EXACT), "f")
    if source.name in ("float", "double"):
        return java_double(value, source.name == "float")
    if not (source.element or source.fields):
        raise NotCovered(f"a cast of {source} to string")

    def shown(item: Any, kind: SparkType, _: SparkType) -> str:
        return "null" if item is None else str(cast(item, kind, STRING, zone))

    parts = _parts(value, source, source, shown)
    if source.name == "array":
        return f"[{', '.join(parts)}]"
    return f"{{{', '.join(f'{key} -> {text}' for key, text in parts.items()) if source.element else ', '.join(parts)}}}"


def _clock_text(reading: datetime) -> str:
    text = reading.isoformat(" ", "microseconds" if reading.microsecond else "seconds")
    return text.rstrip("0") if reading.microsecond else text


def java_double(value: float, single: bool = False) -> str:
    """Formats a number like Java's `Double.toString`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    number = Decimal(_shortest_single(value) if single else repr(value)).normalize()
    power = number.adjusted()
    is_plain = -3 <= power < 7
    whole, _, fraction = f"{number if is_plain else number.scaleb(-power):f}".partition(".")
    return f"{whole}.{fraction or '0'}{'' if is_plain else f'E{power}'}"


def _shortest_single(value: float) -> str:
    value = to_single(value)
    return next(text for text in (f"{value:.{n}g}" for n in range(1, 18)) if to_single(float(text)) == value)


_CASTS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("boolean", "integer"): int,
    ("integer", "integer"): int,
    ("float", "integer"): math.trunc,
    ("decimal", "integer"): lambda value: int(value.to_integral_value(ROUND_DOWN)),
    ("string", "integer"): lambda text: int(_matched(_WHOLE, text)[0]),
    ("timestamp", "integer"): lambda value: micros(value) // 1_000_000,
    **{(name, "float"): float for name in ("boolean", "integer", "float", "decimal")},
    ("string", "float"): _float_of,
    ("timestamp", "float"): lambda value: micros(value) / 1_000_000,
    ("boolean", "decimal"): Decimal,
    ("integer", "decimal"): Decimal,
    ("float", "decimal"): lambda value: Decimal(repr(value)),
    ("decimal", "decimal"): Decimal,
    ("string", "decimal"): lambda text: Decimal(_matched(_NUMBER, text)[0]),
    ("timestamp", "decimal"): lambda value: Decimal(micros(value)) / 1_000_000,
    **{(name, "boolean"): bool for name in ("integer", "float", "decimal")},
    ("string", "boolean"): _truth,
    ("timestamp_ntz", "date"): datetime.date,
    ("string", "date"): lambda text: _calendar(_matched(_DATE, text)),
    ("integer", "timestamp"): lambda value: EPOCH + timedelta(seconds=value),
    ("float", "timestamp"): lambda value: EPOCH + int(value * 1_000_000) * MICROSECOND,
    ("decimal", "timestamp"): lambda value: EPOCH + int(value * 1_000_000) * MICROSECOND,
    ("date", "timestamp_ntz"): lambda value: datetime.combine(value, time()),
    ("string", "timestamp_ntz"): lambda text: parse_timestamp(text)[0],
    ("string", "binary"): str.encode,
    ("boolean", "string"): lambda value: str(value).lower(),
    ("integer", "string"): str,
    ("date", "string"): lambda value: f"{value:%Y-%m-%d}".rjust(10, "0"),
    ("timestamp_ntz", "string"): _clock_text,
    ("binary", "string"): lambda value: bytes(value).decode("utf-8", "replace"),
}
_ZONED_CASTS: dict[tuple[str, str], Callable[[Any, ZoneInfo], Any]] = {
    ("timestamp", "date"): day_of,
    ("date", "timestamp"): midnight,
    ("timestamp_ntz", "timestamp"): at_wall,
    ("string", "timestamp"): _timestamp_of,
    ("timestamp", "timestamp_ntz"): wall,
    ("timestamp", "string"): lambda value, zone: _clock_text(wall(value, zone)),
}
