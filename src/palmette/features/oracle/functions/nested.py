# ruff: noqa: ARG001 - compilers of one table all take the same arguments

"""Structs (tuples), maps (dictionaries) and JSON."""

import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from palmette.features.oracle.casts import cast, in_range, java_double, to_single
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.typed import (
    BY_SYNTAX,
    Build,
    EvaluationScope,
    TypedExpression,
    builder,
    element_of,
    function,
    lift,
    to,
    unify,
)
from palmette.features.spec.sql import field_name
from palmette.features.spec.type_rules import STRING, array_of
from palmette.features.spec.values import SparkType


def field_of(item: TypedExpression, name: str) -> TypedExpression:
    """A field of a struct; for an array of structs, an array of the field's values."""
    kind = item.kind.element if item.kind.name == "array" and item.kind.element else item.kind
    place = kind.field(name)
    if place is None:
        raise NotCovered(f"the field {name!r} of {item.kind}")
    found = kind.fields[place][1]
    if kind is item.kind:
        return lift(found, [item], lambda value: value[place])
    return lift(array_of(found), [item], lambda values: [None if each is None else each[place] for each in values])


def _struct_of(names: Sequence[str], items: Sequence[TypedExpression]) -> TypedExpression:
    kind = SparkType("struct", fields=tuple((name, item.kind) for name, item in zip(names, items, strict=True)))
    return TypedExpression(kind, lambda row: tuple(item.run(row) for item in items))


@builder("named_struct")
def named_struct(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return _struct_of([str(each.value()) for each in arguments[::2]], arguments[1::2])


def _struct(nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    names = [field_name(node, f"col{place}") for place, node in enumerate(nodes, 1)]
    return _struct_of(names, [build(node.unalias(), scope) for node in nodes])


def _arrays_zip(nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    items = [build(node, scope) for node in nodes]
    names = [field_name(node, str(place)) for place, node in enumerate(nodes)]
    kind = SparkType("struct", fields=tuple(zip(names, map(element_of, items), strict=True)))
    return lift(array_of(kind), items, lambda *lists: list(zip_longest(*lists)))


BY_SYNTAX |= {"struct": _struct, "arrays_zip": _arrays_zip}


def map_of(element: SparkType) -> SparkType:
    return SparkType("map", element=element)


def from_pairs(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key is None or key in found:
            raise WouldFail(f"a map with the key {key!r}")
        found[key] = value
    return found


function("map_keys({T}) -> [string]")(list)
function("map_values({T}) -> [T]")(lambda items: [*items.values()])
function("map_contains_key({T}, string) -> boolean")(lambda items, key: key in items)
function("map_concat({T}...) -> {T}")(lambda *maps: from_pairs([entry for each in maps for entry in each.items()]))


@builder("map_entries")
def map_entries(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    entry = SparkType("struct", fields=(("key", STRING), ("value", element_of(arguments[0], "map"))))
    return lift(array_of(entry), arguments, lambda items: [*items.items()])


@builder("map")
def made_map(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    keys, values = arguments[::2], arguments[1::2]
    if any(key.kind != STRING for key in keys) or len(keys) != len(values):
        raise NotCovered("a map with keys that are not text")
    kind, items = unify(values, scope.zone)
    pairs = [*zip(keys, items, strict=True)]
    return TypedExpression(map_of(kind), lambda row: from_pairs([(key.run(row), item.run(row)) for key, item in pairs]))


@builder("map_from_arrays")
def map_from_arrays(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if element_of(arguments[0]) != STRING:
        raise NotCovered("a map with keys that are not text")

    def from_arrays(keys: list[Any], values: list[Any]) -> dict[str, Any]:
        if len(keys) != len(values):
            raise WouldFail("map_from_arrays of arrays of different lengths")
        return from_pairs([*zip(keys, values, strict=True)])

    return lift(map_of(element_of(arguments[1])), arguments, from_arrays)


@builder("map_from_entries")
def map_from_entries(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    fields = element_of(arguments[0]).fields
    if len(fields) != 2 or fields[0][1] != STRING:
        raise NotCovered("a map with keys that are not text")
    return lift(map_of(fields[1][1]), arguments, lambda entries: None if None in entries else from_pairs(entries))


@function("str_to_map(string, string?, string?) -> {string}")
def str_to_map(text: str, between: str = ",", within: str = ":") -> dict[str, str | None]:
    if re.escape(between + within) != between + within and (between, within) != (",", ":"):
        raise NotCovered("str_to_map with a pattern")
    pairs = [part.split(within, 1) for part in text.split(between)]
    return from_pairs([(pair[0], pair[1] if len(pair) > 1 else None) for pair in pairs])


class _Number(str):
    """A JSON number as written."""


_REFUSED = object()  # marks a JSON value that does not have the required type


def _parsed_json(text: str) -> Any:
    """Parses JSON; returns `_REFUSED` if the text is not valid."""
    try:
        return json.loads(text, parse_int=_Number, parse_float=_Number)
    except ValueError:
        if "'" in text:
            raise NotCovered("JSON in single quotes") from None
        return _REFUSED


function("json_array_length(string) -> int")(
    lambda text: len(value) if isinstance(value := _parsed_json(text), list) else None
)


@builder("from_json")
def from_json(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Parses by a schema or a type; values that do not fit become null, field by field."""
    if len(arguments) != 2:
        raise NotCovered("from_json with options")
    schema = str(arguments[1].value())
    try:
        kind = SparkType.of_schema(schema)
    except ValueError as error:
        raise NotCovered(f"the JSON schema {schema!r}") from error
    nothing = tuple(None for _ in kind.fields) or None

    def read(text: str) -> Any:
        if not text.strip():
            return None
        value = _parsed_json(text)
        if kind.fields and isinstance(value, list):
            raise NotCovered("JSON with an array where its schema has fields")
        found = _REFUSED if value is _REFUSED else _typed(value, kind, scope.zone)
        return nothing if found is _REFUSED else found

    return lift(kind, [to(arguments[0], STRING, scope.zone)], read)


def _typed(value: Any, kind: SparkType, zone: ZoneInfo) -> Any:
    """Converts a JSON value to a type; `_REFUSED` if it, or one of its elements, does not fit."""
    if value is None:
        return None
    element = kind.element
    match kind.name, value:
        case "struct", dict():
            fields = (_typed(value.get(name), each, zone) for name, each in kind.fields)
            return tuple(None if field is _REFUSED else field for field in fields)
        case "map", dict() if element:
            found = {key: _typed(each, element, zone) for key, each in value.items()}
            return _REFUSED if _REFUSED in found.values() else found
        case "array", list() if element:
            items = [_typed(each, element, zone) for each in value]
            return _REFUSED if _REFUSED in items else items
        case "string", _:
            return _text(value)
        case "boolean", bool():
            return value
        case _, _Number():
            return _number(value, kind)
        case "float" | "double", "NaN" | "INF" | "Infinity" | "-INF" | "-Infinity":
            return float(value)
        case "date" | "timestamp" | "timestamp_ntz" | "decimal", str():
            try:
                return cast(str(value), STRING, kind, zone)
            except WouldFail:
                return _REFUSED
        case _:
            return _REFUSED


def _number(value: _Number, kind: SparkType) -> Any:
    try:
        if kind.is_integer:
            return in_range(int(value), kind) if re.fullmatch(r"-?\d+", value) else _REFUSED
        if kind.name == "decimal":
            return cast(str(value), STRING, kind, ZoneInfo("UTC"))
        number = float(value)
        return {"double": number, "float": to_single(number)}.get(kind.name, _REFUSED)
    except WouldFail:
        return _REFUSED


@function("get_json_object(string, string) -> string")
def get_json_object(text: str, path: str) -> str | None:
    """The part at `path` as text; null if the text is not JSON or has no such part."""
    steps = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']+)'\]", path)
    if "*" in path or not path.startswith("$"):
        raise NotCovered(f"the JSON path {path!r}")
    value = _parsed_json(text)
    if value is _REFUSED:
        return None
    for name, index, quoted in steps:
        if index:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        else:
            value = value.get(name or quoted) if isinstance(value, dict) else None
        if value is None:
            return None
    return _text(value)


def _text(value: Any) -> str:
    """Formats a JSON value as text; strings lose their quotes."""
    return value if type(value) is str else _json_text(value)


def _json_text(value: Any) -> str:
    match value:
        case _Number():
            return str(value) if re.fullmatch(r"-?\d+", value) else java_double(float(value))
        case dict():
            items = (f"{json.dumps(key, ensure_ascii=False)}:{_json_text(item)}" for key, item in value.items())
            return f"{{{','.join(items)}}}"
        case list():
            return f"[{','.join(map(_json_text, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
