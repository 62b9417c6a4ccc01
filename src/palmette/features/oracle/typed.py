"""Compiled expressions, their types, the order of their values, and the registry of row-wise functions."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Self, TypeVar
from zoneinfo import ZoneInfo

from sqlglot import exp

from palmette.features.oracle.casts import cast
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import SparkType

Run = Callable[[Any], Any]  # computes a value from a row or, outside of aggregate functions, from the rows of a group


@dataclass(frozen=True)
class TypedExpression:
    """A compiled expression: its type, and `run`, which computes it."""

    kind: SparkType
    run: Run
    literal: bool = False  # whether it is a constant in the text

    def value(self) -> Any:
        """The value of a constant."""
        if not self.literal:
            raise NotCovered("an argument that must be a constant, but is not")
        return self.run({})


class PartialSchema(dict[str, SparkType]):
    """Column types, without the columns of unsupported steps; accessing one of those raises the reason."""

    def __init__(self, columns: Mapping[str, SparkType], unsupported: Mapping[str, str] | None = None) -> None:
        super().__init__(columns)
        self.unsupported = unsupported or {}

    def with_columns(self, columns: Mapping[str, SparkType]) -> Self:
        unsupported = {name: why for name, why in self.unsupported.items() if name not in columns}
        return type(self)({**self, **columns}, unsupported)

    def without(self, names: Collection[str], why: str) -> Self:
        columns = {name: kind for name, kind in self.items() if name not in names}
        return type(self)(columns, {**self.unsupported, **dict.fromkeys(names, why)})

    def require(self, names: Iterable[str]) -> None:
        """Raises NotCovered if one of the columns is unsupported."""
        for name in names:
            self[name]

    def __missing__(self, name: str) -> SparkType:
        raise NotCovered(self.unsupported.get(name, f"the column {name!r} that does not exist"))


@dataclass(frozen=True)
class EvaluationScope:
    """The context of an expression: the visible columns and the time zone."""

    schema: Mapping[str, SparkType]
    zone: ZoneInfo
    groups: bool = False  # true outside of aggregate functions, where `run` receives all rows of a group
    bound: Mapping[str, TypedExpression] = field(default_factory=dict)  # parameters of the enclosing lambdas


def constant(value: Any, kind: SparkType) -> TypedExpression:
    return TypedExpression(kind, lambda _: value, literal=True)


def to(item: TypedExpression, target: SparkType, zone: ZoneInfo) -> TypedExpression:
    """Applies the implicit cast."""
    if item.kind == target:
        return item
    source, run = item.kind, item.run
    return TypedExpression(target, lambda row: cast(run(row), source, target, zone), item.literal)


def common(left: SparkType, right: SparkType) -> SparkType:
    """The type in which two values are compared, and the result type of a choice between them."""
    if (found := c.common_type(left, right)) is not None:
        return found
    if "string" in (left.name, right.name):
        return _with_string(right if left.name == "string" else left)
    if left.name == right.name and left.element and right.element:
        return SparkType(left.name, element=common(left.element, right.element))
    if [name for name, _ in left.fields] == [name for name, _ in right.fields] and left.fields:
        pairs = zip(left.fields, right.fields, strict=True)
        return SparkType("struct", fields=tuple((name, common(one, other)) for (name, one), (_, other) in pairs))
    raise NotCovered(f"a common type of {left} and {right}")


def _with_string(other: SparkType) -> SparkType:
    if other.is_integer:
        return c.BIGINT
    if other.is_numeric:
        return c.DOUBLE
    if other.is_temporal or other.name in ("boolean", "binary"):
        return other
    raise NotCovered(f"a common type of string and {other}")


def lift(
    kind: SparkType, items: list[TypedExpression], function: Callable[..., Any], *, literal: bool = False
) -> TypedExpression:
    """Compiles a function of values that is null if any argument is; with `literal`, constants give a constant."""
    runs = [item.run for item in items]

    def run(row: Any) -> Any:
        values = [each(row) for each in runs]
        return None if any(value is None for value in values) else function(*values)

    return TypedExpression(kind, run, literal and bool(items) and all(item.literal for item in items))


def null_safe_equal(one: TypedExpression, other: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    """Equality for which null equals null."""
    _, (left, right) = unify([one, other], zone)
    return TypedExpression(c.BOOLEAN, lambda row: same(left.run(row), right.run(row)))


def attempted(item: TypedExpression) -> TypedExpression:
    """The expression, with null instead of errors."""

    def run(row: Any) -> Any:
        try:
            return item.run(row)
        except WouldFail:
            return None

    return TypedExpression(item.kind, run)


def unify(items: list[TypedExpression], zone: ZoneInfo) -> tuple[SparkType, list[TypedExpression]]:
    """Casts all items to their common type."""
    kind = reduce(common, (item.kind for item in items), c.NULL)
    return kind, [to(item, kind, zone) for item in items]


def choose(conditions: list[Run], results: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Evaluates to the result of the first true condition; the last result is the default."""
    kind, items = unify(results, scope.zone)

    def run(row: Any) -> Any:
        for condition, item in zip(conditions, items[:-1], strict=True):
            if condition(row) is True:
                return item.run(row)
        return items[-1].run(row)

    return TypedExpression(kind, run)


def order_key(value: Any) -> Any:
    """A key for Spark's order: NaN equals itself and is the largest number, -0.0 equals 0.0, arrays go by element.

    Null is equal to itself, and only sortable by `nulls_first`.
    """
    if type(value) is int:  # most are
        return (0, value)
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (list, tuple)):
        return tuple(map(nulls_first, value))
    if isinstance(value, bool | int) or hasattr(value, "as_tuple"):
        return (0, value)
    return value


def nulls_first(value: Any) -> tuple[bool, Any]:
    return value is not None, order_key(value)


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, or both null."""
    return bool(order_key(left) == order_key(right))


Python = TypeVar("Python", bound=Callable[..., Any])
Build = Callable[[exp.Expr, EvaluationScope], TypedExpression]  # compiles a node of a syntax tree
BY_SYNTAX: dict[str, Callable[[list[exp.Expr], EvaluationScope, Build], TypedExpression]] = {}
"""Row-wise functions that are compiled from the syntax of their arguments, such as lambdas and field names."""
Builder = Callable[[list[TypedExpression], EvaluationScope], TypedExpression]
FUNCTIONS: dict[str, Builder] = {}  # row-wise functions by lower-case name


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
            found = (_any_in(shape, item.kind) for shape, item in given)
            kind = reduce(common, (one for one in found if one is not None), c.NULL)
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
