"""Converts plain YAML values to Python values of a Spark type: defaults, categories, rows of the author's tests."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.spec.type_rules import BITS
from palmette.features.spec.values import EXACT, SparkType
from palmette.problems import Reporter


def to_python(value: object, kind: SparkType, zone: str = "UTC") -> Any:
    """Converts `value` to the Python representation of `palmette.features.frame`; arrays become tuples.

    Times are ISO 8601; a timestamp without an offset is in `zone`.

    Raises:
        ValueError: with a message that names the expected value.
    """
    if value is None:
        return None
    element = kind.element
    if element is not None and kind.name == "array":
        return tuple(to_python(item, element, zone) for item in _of((list, tuple), value, "a list"))
    if element is not None:
        return {str(key): to_python(item, element, zone) for key, item in _of(dict, value, "a mapping").items()}
    if kind.name not in _READERS:
        raise ValueError(f"there are no values of type {kind}")
    return _READERS[kind.name](value, kind, zone)


def lint_value(value: object, kind: SparkType, column: str, field: str, report: Reporter, zone: str = "UTC") -> bool:
    """Whether a column of this type can hold the value; reports it if not."""
    try:
        to_python(value, kind, zone)
    except ValueError as error:
        report("value-does-not-fit", field, value, column=column, kind=kind, error=error)
        return False
    return True


def _of(wanted: type | tuple[type, ...], value: object, words: str) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"{value!r} is not {words}")
    return value


def _integer(value: object, kind: SparkType, _: str) -> int:
    is_broken = isinstance(value, float) and not value.is_integer()
    if isinstance(value, bool) or not isinstance(value, int | float) or is_broken:
        raise ValueError(f"{value!r} is not a whole number")
    number = int(value)
    bound = 2 ** (BITS[kind.name] - 1)
    if not -bound <= number < bound:
        raise ValueError(f"{value!r} is too large for {kind}")
    return number


def _number(value: object, *_: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _decimal(value: object, kind: SparkType, _: str) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a decimal number")
    exponent = -int(number.normalize(EXACT).as_tuple().exponent)
    if exponent > kind.scale or number.adjusted() + 1 > kind.precision - kind.scale:
        raise ValueError(f"{value!r} does not fit {kind}")
    return number.quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)


def _date(value: object, *_: object) -> date:
    try:
        return date.fromisoformat(_of(str, value, "a date"))
    except ValueError:
        raise ValueError(f"{value!r} is not a date like '2025-03-31'") from None


def _timestamp(value: object, kind: SparkType, zone: str) -> datetime:
    try:
        timestamp = datetime.fromisoformat(_of(str, value, "a time"))
    except ValueError:
        raise ValueError(f"{value!r} is not a time like '2025-03-31T12:00:00Z'") from None
    if kind.name == "timestamp_ntz":
        if timestamp.tzinfo is not None:
            raise ValueError(f"{value!r} has an offset, which a timestamp_ntz does not have")
        return timestamp
    try:
        return (timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value!r} in {zone} lies outside the years 1 to 9999 of UTC") from None


_READERS: Mapping[str, Callable[[object, SparkType, str], Any]] = {
    **dict.fromkeys(BITS, _integer),
    "boolean": lambda value, *_: _of(bool, value, "true or false"),
    "string": lambda value, *_: _of(str, value, "text"),
    "binary": lambda value, *_: _of(str, value, "text").encode(),
    **dict.fromkeys(("float", "double"), _number),
    "decimal": _decimal,
    "date": _date,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp),
}


def sql_literal(value: str | int | float | bool) -> str:
    """Formats a plain value as a Spark SQL literal.

    >>> sql_literal("it's")
    "'it\\\\'s'"
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return repr(value)


def quoted(name: str) -> str:
    """Quotes a column name for use in an expression."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name}`"


def from_key(text: str, kind: SparkType) -> object:
    """Converts a key of a YAML mapping, which is always text, to a value of the column's type."""
    if kind.is_integer and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind.name in ("float", "double"):
        try:
            return float(text)
        except ValueError:
            return text
    return {"true": True, "false": False}.get(text.lower(), text) if kind.name == "boolean" else text


def literal_type(values: list[str | int | float | bool]) -> SparkType | None:
    """The type of a column with these values; None if their types differ."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        kinds = {float}
    if kinds == {int}:
        return SparkType("int") if all(-(2**31) <= int(value) < 2**31 for value in values) else SparkType("bigint")
    return SparkType({str: "string", bool: "boolean", float: "double"}[kinds.pop()]) if len(kinds) == 1 else None
