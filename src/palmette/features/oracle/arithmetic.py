"""Arithmetic with Spark's types: wider integers, exact decimals, errors on overflow, null for division by zero."""

import math
import operator
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle.casts import in_range, to_decimal, to_single
from palmette.features.oracle.clock import at_wall, plus, plus_months, wall
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.typed import TypedExpression, common, constant, lift, to
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import Operator
from palmette.features.spec.values import EXACT, SparkType

Operation = Callable[[Any, Any], Any]
Finish = Callable[[Any], Any] | None


def binary(symbol: Operator, left: TypedExpression, right: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    """`left symbol right`, where the symbol is one of + - * / % div."""
    if left.kind.name == right.kind.name == "null":
        return constant(None, c.DOUBLE)
    if not (_is_number(left) and _is_number(right)):
        return _temporal(symbol, left, right, zone)
    left, right = _numeric(left, right, zone), _numeric(right, left, zone)
    names = {left.kind.name, right.kind.name}
    if "decimal" in names and not names & {"float", "double"}:
        left, right = _widened(left, zone), _widened(right, zone)
        exact = c.arithmetic_type(symbol, left.kind, right.kind)
        fit: Callable[[Any, SparkType], Any] = in_range if symbol == "div" else to_decimal
        return _lifted(exact, left, right, _DECIMAL[symbol], lambda value: fit(value, exact))
    if symbol == "/":
        return _lifted(c.DOUBLE, to(left, c.DOUBLE, zone), to(right, c.DOUBLE, zone), _FLOAT["/"])
    kind = common(left.kind, right.kind)
    if symbol == "div":
        kind = c.BIGINT
    if kind.is_integer:
        return _lifted(kind, left, right, _INTEGER[symbol], lambda value: in_range(value, kind))
    finish = to_single if kind.name == "float" else None
    return _lifted(kind, to(left, kind, zone), to(right, kind, zone), _FLOAT[symbol], finish)


def negated(item: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    kind = item.kind
    if kind.is_integer:
        return lift(kind, [item], lambda value: in_range(-value, kind), literal=True)
    if kind.is_numeric or kind.name == "interval":
        return lift(kind, [item], Decimal.copy_negate if kind.name == "decimal" else operator.neg, literal=True)
    return negated(to(item, c.DOUBLE, zone), zone)


def _is_number(item: TypedExpression) -> bool:
    return item.kind.is_numeric or item.kind.name in ("string", "null")


def _numeric(item: TypedExpression, other: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    if item.kind.is_numeric:
        return item
    if item.kind.name == "null":
        return to(item, other.kind if other.kind.is_numeric else c.DOUBLE, zone)
    return to(item, c.BIGINT if other.kind.is_integer else c.DOUBLE, zone)


def _widened(item: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    """Converts integers to decimals; an integer literal has only as many digits as it is written with."""
    if item.kind.name == "decimal":
        return item
    if item.literal and item.value() is not None:
        return to(item, SparkType("decimal", len(str(abs(item.value()))), 0), zone)
    return to(item, c.as_decimal(item.kind), zone)


def _lifted(
    kind: SparkType, left: TypedExpression, right: TypedExpression, operation: Operation, finish: Finish = None
) -> TypedExpression:
    def run(one: Any, other: Any) -> Any:
        value = operation(one, other)
        return value if value is None or finish is None else finish(value)

    return lift(kind, [left, right], run, literal=True)


_EXACT: dict[str, Operation] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_INTEGER: dict[str, Operation] = {
    **_EXACT,
    "%": lambda a, b: None if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1),
    "div": lambda a, b: None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
}
_FLOAT: dict[str, Operation] = {
    **_EXACT,
    "/": lambda a, b: None if b == 0 else a / b,
    "%": lambda a, b: None if b == 0 else math.nan if math.isinf(a) else math.fmod(a, b),
}
_DECIMAL: dict[str, Operation] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": lambda a, b: None if b == 0 else EXACT.divide(a, b),
    "%": lambda a, b: None if b == 0 else EXACT.remainder(a, b),
    "div": lambda a, b: None if b == 0 else int(EXACT.divide(a, b).to_integral_value(ROUND_DOWN)),
}


def _temporal(symbol: str, left: TypedExpression, right: TypedExpression, zone: ZoneInfo) -> TypedExpression:  # noqa: C901 - a table of types
    names = left.kind.name, right.kind.name
    if symbol == "+" and names[1] in ("date", "timestamp", "timestamp_ntz"):
        return _temporal(symbol, right, left, zone)
    if symbol not in ("+", "-"):
        return _scaled(symbol, left, right)
    sign = 1 if symbol == "+" else -1
    match names:
        case ("date", "tinyint" | "smallint" | "int"):
            return _lifted(c.DATE, left, right, lambda day, n: shifted(day, sign * n))
        case ("date", "interval") if right.literal and right.value() % timedelta(days=1) == timedelta(0):
            return _lifted(c.DATE, left, right, lambda day, length: shifted(day, sign * length.days))
        case ("date", "interval"):
            start = to(left, c.TIMESTAMP, zone)
            return _lifted(c.TIMESTAMP, start, right, lambda at, length: plus(at, sign * length, zone))
        case ("timestamp", "interval"):
            return _lifted(left.kind, left, right, lambda at, length: plus(at, sign * length, zone))
        case ("timestamp_ntz", "interval"):
            return _lifted(left.kind, left, right, lambda at, length: at + sign * length)
        case ("date", "months"):
            return _lifted(c.DATE, left, right, lambda day, n: plus_months(day, sign * n))
        case ("timestamp", "months"):
            return _lifted(left.kind, left, right, lambda at, n: months_later(at, sign * n, zone))
        case ("interval", "interval") | ("months", "months"):
            return _lifted(left.kind, left, right, lambda a, b: a + sign * b)
        case ("date", "date") if sign < 0:
            return _lifted(c.INTERVAL, left, right, lambda a, b: a - b)
        case ("timestamp" | "date", "timestamp" | "date") if sign < 0:
            return _lifted(c.INTERVAL, to(left, c.TIMESTAMP, zone), to(right, c.TIMESTAMP, zone), lambda a, b: a - b)
        case _:
            raise NotCovered(f"{names[0]} {symbol} {names[1]}")


def _scaled(symbol: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    if symbol == "*" and {left.kind.name, right.kind.name} & {"interval", "months"}:
        number, length = (left, right) if left.kind.is_numeric else (right, left)
        if number.kind.is_integer:
            return _lifted(length.kind, length, number, lambda a, n: a * n)
    raise NotCovered(f"{left.kind} {symbol} {right.kind}")


def shifted(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError as error:
        raise WouldFail(f"{day} plus {days} days lies outside the years 1 to 9999") from error


def months_later(at: datetime, months: int, zone: ZoneInfo) -> datetime:
    reading = wall(at, zone)
    return at_wall(datetime.combine(plus_months(reading.date(), months), reading.time()), zone)
