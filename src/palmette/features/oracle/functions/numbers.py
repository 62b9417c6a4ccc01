"""Numeric functions, hashes and checksums."""

import base64
import hashlib
import math
import struct
import zlib
from collections.abc import Callable
from datetime import UTC
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

from palmette.features.oracle.arithmetic import binary
from palmette.features.oracle.casts import in_range, to_decimal, to_single
from palmette.features.oracle.clock import EPOCH, micros
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import (
    FUNCTIONS,
    EvaluationScope,
    TypedExpression,
    attempted,
    builder,
    function,
    lift,
    to,
)
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import INT, Operator
from palmette.features.spec.values import EXACT, SparkType


def _number(item: TypedExpression, scope: EvaluationScope) -> TypedExpression:
    return item if item.kind.is_numeric else to(item, c.DOUBLE, scope.zone)


def _rounded(mode: str, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    item = _number(arguments[0], scope)
    digits = arguments[1].value() if len(arguments) > 1 else 0
    kind = item.kind

    def exact(value: Decimal) -> Decimal:
        return value.quantize(Decimal(1).scaleb(-digits), mode, EXACT)

    if kind.name == "decimal":
        kind = c.rounded_type(kind, digits)
        return lift(kind, [item], lambda value: to_decimal(exact(value) if digits <= item.kind.scale else value, kind))
    if kind.is_integer:
        return lift(kind, [item], lambda value: in_range(int(exact(Decimal(value))), kind) if digits < 0 else value)
    fit = to_single if kind.name == "float" else float
    return lift(kind, [item], lambda value: fit(float(exact(Decimal(repr(value))))) if math.isfinite(value) else value)


def _stepped(mode: str, name: str, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) > 1:
        raise NotCovered(f"{name} with a scale")
    item = _number(arguments[0], scope)
    if item.kind.name == "decimal":
        return lift(c.rounded_type(item.kind), [item], lambda value: value.to_integral_value(mode))
    step = math.floor if name == "floor" else math.ceil
    return lift(c.BIGINT, [item], lambda value: _long(value, step))


def _long(value: float, step: Callable[[float], int]) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return (1 << 63) - 1 if value > 0 else -(1 << 63)
    return max(-(1 << 63), min((1 << 63) - 1, step(value)))


for _name, _mode in (("round", ROUND_HALF_UP), ("bround", ROUND_HALF_EVEN)):
    FUNCTIONS[_name] = partial(_rounded, _mode)
for _name, _mode in (("floor", ROUND_FLOOR), ("ceil", ROUND_CEILING), ("ceiling", ROUND_CEILING)):
    FUNCTIONS[_name] = partial(_stepped, _mode, _name)


@builder("format_number")
def format_number(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """With commas between thousands, rounded half to even."""
    if arguments[1].kind.name == "string":
        raise NotCovered("format_number with a pattern")

    def text(value: Any, digits: int) -> str | None:
        if not math.isfinite(value):
            raise NotCovered(f"format_number of {value}")
        return f"{value:,.{digits}f}" if digits >= 0 else None

    return lift(c.STRING, [_number(arguments[0], scope), to(arguments[1], c.INT, scope.zone)], text)


@builder("abs")
def absolute(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    item = _number(arguments[0], scope)
    kind = item.kind
    return lift(kind, [item], lambda value: in_range(abs(value), kind) if kind.is_integer else abs(value))


def _attempt(symbol: Operator, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return attempted(binary(symbol, arguments[0], arguments[1], scope.zone))


_TRIED: dict[str, Operator] = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "mod": "%"}
for _name, _symbol in _TRIED.items():
    FUNCTIONS[f"try_{_name}"] = partial(_attempt, _symbol)


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    """Returns Java's result where Python raises: NaN outside the domain, infinity on overflow."""

    def call(value: float) -> float:
        try:
            return float(function(value))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return call


_WAVES = (math.sin, math.cos, math.tan, math.sinh, math.cosh, math.tanh, math.asin, math.acos, math.atan, math.asinh)
for _function in (math.sqrt, math.cbrt, math.exp, math.expm1, math.degrees, math.radians, *_WAVES):
    function(f"{_function.__name__}(double) -> double")(_guarded(_function))
function("isnan(double) -> boolean", nulls=True)(lambda value: value is not None and math.isnan(value))
function("sign|signum(double) -> double")(lambda one: one if math.isnan(one) or one == 0 else math.copysign(1.0, one))


def _logarithm(value: float, base: Callable[[float], float]) -> float | None:
    """Null for zero and negative values, as in Spark."""
    return None if value <= 0 else math.inf if math.isinf(value) else base(value)


function("ln(double) -> double")(lambda value: _logarithm(value, math.log))
function("log10(double) -> double")(lambda value: _logarithm(value, math.log10))
function("log2(double) -> double")(lambda value: _logarithm(value, math.log2))
function("log1p(double) -> double")(lambda value: None if value <= -1 else math.log1p(value))


@function("pow|power(double, double) -> double")
def power(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    except ZeroDivisionError:
        return math.inf
    return math.nan if isinstance(result, complex) else float(result)


function("bin(bigint) -> string")(lambda value: f"{value % (1 << 64):b}")
function("bit_count(bigint) -> int")(lambda value: (value % (1 << 64)).bit_count())
function("atan2(double, double) -> double")(math.atan2)
function("hypot(double, double) -> double")(math.hypot)
function("rint(double) -> double")(lambda value: float(round(value)) if math.isfinite(value) else value)
function("pi() -> double")(lambda: math.pi)
function("e() -> double")(lambda: math.e)


@function("width_bucket(double, double, double, bigint) -> bigint")
def width_bucket(value: float, low: float, high: float, buckets: int) -> int | None:
    if buckets <= 0 or low == high or math.isnan(value):
        return None
    below, above = (value < low, value >= high) if low < high else (value > low, value <= high)
    if below:
        return 0
    return buckets + 1 if above else int(buckets * (value - low) / (high - low)) + 1


function("md5(binary) -> string")(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest())
function("sha|sha1(binary) -> string")(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest())
function("crc32(binary) -> bigint")(zlib.crc32)
function("base64(binary) -> string")(lambda data: base64.b64encode(data).decode())
_SHA = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}
function("sha2(binary, int) -> string")(lambda data, bits: _SHA[bits](data).hexdigest() if bits in _SHA else None)
_SEED = 42
_WORD = 0xFFFFFFFF


@builder("hash")
def spark_hash(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:  # noqa: ARG001 - a builder
    """Murmur3 with 32 bits over all arguments; null changes nothing."""

    def run(row: Any) -> int:
        found = _SEED
        for item in arguments:
            found = _hashed(item.run(row), item.kind, found)
        return found - (1 << 32) if found >> 31 else found

    return TypedExpression(INT, run)


def _hashed(value: Any, kind: SparkType, seed: int) -> int:
    if value is None:
        return seed
    if kind.name not in ("array", "struct"):
        return _murmur(_as_bytes(value, kind), seed)
    kinds = [each for _, each in kind.fields] if kind.element is None else [kind.element] * len(value)
    for item, own in zip(value, kinds, strict=True):
        seed = _hashed(item, own, seed)
    return seed


def _as_bytes(value: Any, kind: SparkType) -> bytes:
    match kind.name:
        case "string":
            return str(value).encode()
        case "binary":
            return bytes(value)
        case "boolean" | "tinyint" | "smallint" | "int":
            return struct.pack("<i", value)
        case "bigint":
            return struct.pack("<q", value)
        case "float" | "double":
            return struct.pack("<f" if kind.name == "float" else "<d", value + 0.0)
        case "date":
            return struct.pack("<i", (value - EPOCH.date()).days)
        case "timestamp" | "timestamp_ntz":
            return struct.pack("<q", micros(value if value.tzinfo else value.replace(tzinfo=UTC)))
        case "decimal":
            digits = int(value.scaleb(kind.scale))
            if kind.precision <= 18:
                return struct.pack("<q", digits)
            return digits.to_bytes((digits if digits >= 0 else ~digits).bit_length() // 8 + 1, "big", signed=True)
    raise NotCovered(f"the hash of {kind}")


def _murmur(data: bytes, seed: int) -> int:
    """Murmur3 as in Spark, where each byte after the last whole word counts as a word of its own."""
    for word in struct.unpack(f"<{len(data) // 4}I{len(data) % 4}b", data):
        seed ^= _rotated(word * 0xCC9E2D51, 15) * 0x1B873593 & _WORD
        seed = _rotated(seed, 13) * 5 + 0xE6546B64 & _WORD
    seed ^= len(data)
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _WORD
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _WORD
    return seed ^ seed >> 16


def _rotated(word: int, by: int) -> int:
    word &= _WORD
    return (word << by | word >> 32 - by) & _WORD
