"""Spark's casts in ANSI mode, value by value. A value that cannot be cast raises `WouldFail`."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle.clock import EPOCH, MICROSECOND, at_wall, day_of, micros, midnight, wall
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec.type_rules import BITS, INTEGERS
from palmette.features.spec.values import SparkType

EXACT = Context(prec=100)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
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
    if target.name in INTEGERS:
        return _to_integer(value, source, target)
    match target.name:
        case "string":
            return to_string(value, source, zone)
        case "float" | "double":
            return to_float(value, source, target)
        case "decimal":
            return to_decimal(_as_decimal(value, source), target)
        case "boolean":
            return _to_boolean(value, source)
        case "date":
            return _to_date(value, source, zone)
        case "timestamp":
            return _to_timestamp(value, source, zone)
        case "timestamp_ntz":
            return _to_ntz(value, source, zone)
        case "binary" if source.name == "string":
            return str(value).encode()
        case _:
            raise NotCovered(f"a cast of {source} to {target}")


def to_single(value: float) -> float:
    """Rounds to 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


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


def _to_integer(value: Any, source: SparkType, target: SparkType) -> int:
    match source.name:
        case "boolean":
            return int(value)
        case "string":
            text = value.strip()
            if not re.match(r"[+-]?\d+\Z", text, re.ASCII):
                raise WouldFail(f"{value!r} as {target}")
            return in_range(int(text), target)
        case "float" | "double":
            if not math.isfinite(value):
                raise WouldFail(f"{value} as {target}")
            return in_range(math.trunc(value), target)
        case "decimal":
            return in_range(int(value.to_integral_value(ROUND_DOWN)), target)
        case "timestamp":
            return in_range(micros(value) // 1_000_000, target)
        case name if name in INTEGERS:
            return in_range(value, target)
        case _:
            raise NotCovered(f"a cast of {source} to {target}")


def to_float(value: Any, source: SparkType, target: SparkType) -> float:
    match source.name:
        case "string":
            number = _float_of(value.strip())
        case "timestamp":
            number = micros(value) / 1_000_000
        case _ if source.is_numeric or source.name == "boolean":
            number = float(value)
        case _:
            raise NotCovered(f"a cast of {source} to {target}")
    return to_single(number) if target.name == "float" else number


def _float_of(text: str) -> float:
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    plain = text[:-1] if text[-1:] in ("d", "D", "f", "F") else text
    if not _NUMBER.match(plain):
        raise WouldFail(f"{text!r} as a number")
    return float(plain)


def _as_decimal(value: Any, source: SparkType) -> Decimal:
    if source.name == "string":
        if not _NUMBER.match(value.strip()):
            raise WouldFail(f"{value!r} as a number")
        return Decimal(value.strip())
    if source.name in ("float", "double"):
        return Decimal(repr(value)) if math.isfinite(value) else Decimal("NaN")
    if source.is_numeric or source.name == "boolean":
        return Decimal(int(value)) if isinstance(value, bool) else Decimal(value)
    if source.name == "timestamp":
        return Decimal(micros(value)) / 1_000_000
    raise NotCovered(f"a cast of {source} to decimal")


def _to_boolean(value: Any, source: SparkType) -> bool:
    if source.name == "string":
        folded = value.strip().lower()
        if folded in _TRUE or folded in _FALSE:
            return folded in _TRUE
        raise WouldFail(f"{value!r} as boolean")
    if source.is_numeric:
        return bool(value != 0)
    raise NotCovered(f"a cast of {source} to boolean")


def _to_date(value: Any, source: SparkType, zone: ZoneInfo) -> date:
    match source.name:
        case "timestamp":
            return day_of(value, zone)
        case "timestamp_ntz":
            return date(value.year, value.month, value.day)
        case "string":
            match = _DATE.match(value.strip())
            if match is None:
                raise WouldFail(f"{value!r} as date")
            return _calendar(match[1], match[2], match[3], value)
        case _:
            raise NotCovered(f"a cast of {source} to date")


def _calendar(year: str, month: str | None, day: str | None, text: str) -> date:
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError as error:
        raise WouldFail(f"{text!r} as date") from error


def _to_timestamp(value: Any, source: SparkType, zone: ZoneInfo) -> datetime:
    match source.name:
        case "date":
            return midnight(value, zone)
        case "timestamp_ntz":
            return at_wall(value, zone)
        case "string":
            reading, offset = parse_timestamp(value)
            return at_wall(reading, zone) if offset is None else reading.replace(tzinfo=offset).astimezone(UTC)
        case _ if source.is_integer:
            return EPOCH + timedelta(seconds=value)
        case _ if source.is_numeric:
            return EPOCH + int(value * 1_000_000) * MICROSECOND
        case _:
            raise NotCovered(f"a cast of {source} to timestamp")


def parse_timestamp(text: str) -> tuple[datetime, timezone | ZoneInfo | None]:
    """Parses a local time and, if the text has one, its zone."""
    match = _TIMESTAMP.match(text.strip())
    if match is None:
        raise WouldFail(f"{text!r} as timestamp")
    day = _calendar(match[1], match[2], match[3], text)
    hour, minute, second = (int(match[i] or 0) for i in (4, 5, 6))
    try:
        clock = time(hour, minute, second, int((match[7] or "").ljust(6, "0")[:6]))
    except ValueError as error:
        raise WouldFail(f"{text!r} as timestamp") from error
    return datetime.combine(day, clock), zone_of(match[8])


def zone_of(name: str | None) -> timezone | ZoneInfo | None:
    if name is None:
        return None
    if name in ("Z", "UTC", "GMT"):
        return UTC
    if name[0] in "+-":
        hours, _, minutes = name[1:].partition(":") if ":" in name else (name[1:3], "", name[3:])
        length = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-length if name[0] == "-" else length)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError) as error:
        raise WouldFail(f"{name!r} is not a time zone") from error


def _to_ntz(value: Any, source: SparkType, zone: ZoneInfo) -> datetime:
    match source.name:
        case "timestamp":
            return wall(value, zone)
        case "date":
            return datetime.combine(value, time())
        case "string":
            return parse_timestamp(value)[0]
        case _:
            raise NotCovered(f"a cast of {source} to timestamp_ntz")


def to_string(value: Any, source: SparkType, zone: ZoneInfo) -> str:
    match source.name:
        case "string":
            return str(value)
        case "boolean":
            return "true" if value else "false"
        case "date":
            return f"{value:%Y-%m-%d}".rjust(10, "0")
        case "timestamp":
            return _clock_text(wall(value, zone))
        case "timestamp_ntz":
            return _clock_text(value)
        case "decimal":
            return format(value.quantize(Decimal(1).scaleb(-source.scale), context=EXACT), "f")
        case "float" | "double":
            return java_double(value, source.name == "float")
        case "binary":
            return bytes(value).decode("utf-8", "replace")
        case "array" | "map" | "struct":
            return _nested_text(value, source, zone)
        case name if name in INTEGERS:
            return str(value)
        case _:
            raise NotCovered(f"a cast of {source} to string")


def _nested_text(value: Any, source: SparkType, zone: ZoneInfo) -> str:
    parts = _parts(value, source, source, lambda item, own, _: "null" if item is None else to_string(item, own, zone))
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
