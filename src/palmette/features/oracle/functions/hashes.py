"""Hashes and checksums."""

import base64
import hashlib
import struct
import zlib
from datetime import UTC
from typing import Any

from palmette.features.oracle.clock import EPOCH, micros
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.registry import builder, function
from palmette.features.oracle.typed import EvaluationScope, TypedExpression
from palmette.features.spec.type_rules import INT
from palmette.features.spec.values import SparkType

function("md5(binary) -> string")(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest())
function("sha|sha1(binary) -> string")(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest())
function("crc32(binary) -> bigint")(zlib.crc32)
function("base64(binary) -> string")(lambda data: base64.b64encode(data).decode())
_SHA = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}
function("sha2(binary, int) -> string")(lambda data, bits: _SHA[bits](data).hexdigest() if bits in _SHA else None)
_SEED = 42
_BITS = 0xFFFFFFFF


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
        seed ^= _rotated(word * 0xCC9E2D51, 15) * 0x1B873593 & _BITS
        seed = _rotated(seed, 13) * 5 + 0xE6546B64 & _BITS
    seed ^= len(data)
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _BITS
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _BITS
    return seed ^ seed >> 16


def _rotated(word: int, by: int) -> int:
    word &= _BITS
    return (word << by | word >> 32 - by) & _BITS
