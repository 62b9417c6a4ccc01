"""The registry of compilers for row-wise functions, and signatures for plain ones."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlglot import exp

from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import EvaluationScope, TypedExpression, common, lift, to
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import SparkType

Python = TypeVar("Python", bound=Callable[..., Any])
Build = Callable[[exp.Expr, EvaluationScope], TypedExpression]
"""Compiles a node of a syntax tree."""
BY_SYNTAX: dict[str, Callable[[list[exp.Expr], EvaluationScope, Build], TypedExpression]] = {}
"""Row-wise functions that are compiled from the syntax of their arguments, such as lambdas and field names."""
Builder = Callable[[list[TypedExpression], EvaluationScope], TypedExpression]
FUNCTIONS: dict[str, Builder] = {}
"""Row-wise functions by lower-case name."""


def builder(*names: str) -> Callable[[Builder], Builder]:
    """Registers a compiler that handles types itself."""

    def register(build: Builder) -> Builder:
        FUNCTIONS.update(dict.fromkeys(names, build))
        return build

    return register


ANY = SparkType("any")


def element_of(item: TypedExpression, collection: str = "array") -> SparkType:
    """The type of the elements of an array, or of the values of a map."""
    if item.kind.name != collection or item.kind.element is None:
        raise NotCovered(f"{'an array' if collection == 'array' else 'a map'} function of {item.kind}")
    return item.kind.element


def function(signature: str, *, zoned: bool = False, nulls: bool = False) -> Callable[[Python], Python]:
    """Registers a plain function; arguments are cast to its parameters, and the value is null if any argument is.

    Args:
        signature: e.g. `array_append([T], T) -> [T]` or `locate|position(string, string, int?) -> int`. `T` is one
            type, the same wherever it occurs, `[T]` an array and `{T}` a map of it; `?` marks a parameter that may be
            left out, `...` a last one that may be given any number of times.
        zoned: whether the function takes the zone as its first argument.
        nulls: whether the function takes null arguments itself.
    """
    match = re.fullmatch(r"([\w|]+)\((.*)\) -> (.+)", signature)
    assert match, signature
    names, written, result = match[1].split("|"), list(filter(None, match[2].split(", "))), _shape(match[3])
    parameters = [_shape(text.rstrip("?.")) for text in written]
    least, repeated = sum("?" not in text for text in written), signature.count("...") > 0

    def register(python: Python) -> Python:
        def build(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
            more = len(arguments) - len(parameters)
            if len(arguments) < least or (more > 0 and not repeated):
                raise NotCovered(f"{names[0]} with {len(arguments)} arguments")
            given = list(zip((*parameters, *parameters[-1:] * more), arguments, strict=False))
            kind = c.NULL
            for found in (_any_in(shape, item.kind) for shape, item in given):
                kind = kind if found is None else common(kind, found)
            items = [to(item, _filled(shape, kind), scope.zone) for shape, item in given]
            call = partial(python, scope.zone) if zoned else python
            if nulls:
                return TypedExpression(_filled(result, kind), lambda row: call(*(item.run(row) for item in items)))
            return lift(_filled(result, kind), items, call)

        FUNCTIONS.update(dict.fromkeys(names, build))
        return python

    return register


def _shape(text: str) -> SparkType:
    """A type of a signature."""
    if text[0] in "[{":
        return SparkType("array" if text[0] == "[" else "map", element=_shape(text[1:-1]))
    return ANY if text == "T" else SparkType.parse(text)


def _any_in(shape: SparkType, kind: SparkType) -> SparkType | None:
    """The part of a type that stands where its signature has `ANY`; None if the signature has a fixed type."""
    if shape == ANY:
        return kind
    if shape.element is not None and shape.name == kind.name and kind.element is not None:
        return _any_in(shape.element, kind.element)
    if _filled(shape, c.NULL) != shape:
        raise NotCovered(f"a function of {shape.name}s, for {kind}")
    return None


def _filled(shape: SparkType, kind: SparkType) -> SparkType:
    """A type of a signature, with `kind` in the place of `ANY`."""
    if shape == ANY or shape.element is None:
        return kind if shape == ANY else shape
    return SparkType(shape.name, element=_filled(shape.element, kind))
