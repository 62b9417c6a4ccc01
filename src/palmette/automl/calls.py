"""Estimators as data: a class with its arguments, built in the driver and written as source in the delivered package.

A `Call` represents `sklearn.linear_model.Ridge(alpha=10.0)` without importing scikit-learn. `build` creates the object;
`source` returns the expression. Both use the same tree, so the delivered code equals the searched one.
"""

import importlib
import json
import math
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

LONG = 4  # length from which sequences of numbers or repeated texts are written shortly
Value = Any  # None, a bool, number or text, a list, tuple or dict of values, a `Call` or a `Name`


@dataclass(frozen=True)
class Name:
    """An imported object used as it is, e.g. the function `numpy.log1p`."""

    path: str


@dataclass(frozen=True)
class Call:
    """A class or function with its keyword arguments."""

    path: str  # its import path, e.g. `sklearn.linear_model.Ridge`.
    arguments: dict[str, Value] = field(default_factory=dict)
    positional: tuple[Value, ...] = ()  # positional arguments

    def where(self, **arguments: Value) -> "Call":
        """Returns a copy with added or changed arguments."""
        return Call(self.path, {**self.arguments, **arguments}, self.positional)

    @property
    def short(self) -> str:
        """The name of the class."""
        return self.path.rpartition(".")[2]


def pipeline(*steps: tuple[str, Call]) -> Call:
    """Returns a scikit-learn `Pipeline` of named steps."""
    return Call("sklearn.pipeline.Pipeline", {"steps": list(steps)})


def with_arguments(path: str, **arguments: Value) -> Call | Name:
    """Returns a function with some of its arguments bound."""
    return Call("functools.partial", arguments, (Name(path),)) if arguments else Name(path)


def function_step(path: str, **arguments: Value) -> Call:
    """Returns a stateless pipeline step that applies a function to the rows."""
    given = {"kw_args": arguments} if arguments else {}
    return Call("sklearn.preprocessing.FunctionTransformer", given, (Name(path),))


def build(value: Value) -> Any:
    """Builds the object that a value represents."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            return _imported(path)(*map(build, positional), **{name: build(one) for name, one in arguments.items()})
        case Name(path=path):
            return _imported(path)
        case _:
            return mapped(value, build)


def source(value: Value) -> str:
    """Returns the Python expression of a value; see `paths_of` for its imports.

    >>> source(Call("sklearn.linear_model.Ridge", {"alpha": 10.0, "solver": "lsqr"}))
    'Ridge(alpha=10.0, solver="lsqr")'
    >>> source([["q", "q", "q", "q", "c", "c", "c", "c"], [6, 7, 8, 9]])
    '[["q"] * 4 + ["c"] * 4, list(range(6, 10))]'
    """
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            given = [*map(source, positional), *(f"{name}={source(one)}" for name, one in arguments.items())]
            return f"{_spelt(path)}({', '.join(given)})"
        case Name(path=path):
            return _spelt(path)
        case list() | tuple() if len(value) >= LONG and (short := _short(value)):
            return short
        case list():
            return "[" + ", ".join(map(source, value)) + "]"
        case tuple():
            return "(" + ", ".join(map(source, value)) + ("," if len(value) == 1 else "") + ")"
        case dict():
            return "{" + ", ".join(f"{source(key)}: {source(one)}" for key, one in value.items()) + "}"
        case str():
            return _text(value)
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case _:
            return repr(value)


def _short(value: Sequence[Value]) -> str:
    """Returns a long sequence as a range or as repetitions; empty if it is neither."""
    kind = type(value).__name__
    if all(type(one) is int for one in value) and list(value) == list(range(value[0], value[0] + len(value))):
        return f"{kind}(range({value[0]}, {value[0] + len(value)}))"
    if kind == "tuple" or not all(isinstance(one, str) for one in value):
        return ""
    runs = [(text, len(list(run))) for text, run in groupby(value)]
    return " + ".join(f"[{_text(text)}] * {count}" for text, count in runs) if len(runs) <= len(value) / LONG else ""


def numbered(names: Sequence[str]) -> str:
    """Returns the expression of names that end in consecutive numbers; empty for others.

    >>> numbered(["x7", "x8", "x9", "x10"])
    '[f"x{i}" for i in range(7, 11)]'
    """
    start = names[0].rstrip(string.digits)
    first, end = int(names[0][len(start) :] or 0), len(names)
    if names[0] == start or list(names) != [f"{start}{first + at}" for at in range(end)]:
        return ""
    bounds = f"{first}, {first + end}" if first else f"{end}"
    braces = start.replace("{", "{{").replace("}", "}}")
    return f"[f{_text(f'{braces}{{i}}')} for i in range({bounds})]"


def calls_in(value: Value) -> Iterator[Call | Name]:
    """Yields all calls and names in a value, outer ones first, with repetitions."""
    parts: Iterable[Value] = ()
    match value:
        case Call(arguments=arguments, positional=positional):
            yield value
            parts = (*positional, *arguments.values())
        case Name():
            yield value
        case list() | tuple():
            parts = value
        case dict():
            parts = value.values()
    for one in parts:
        yield from calls_in(one)


def paths_of(value: Value) -> Iterator[str]:
    """Yields the import paths of a value, outer ones first, with repetitions."""
    return (one.path for one in calls_in(value))


def mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """Applies a function to each direct child of a value."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            return Call(path, {name: change(one) for name, one in arguments.items()}, tuple(map(change, positional)))
        case list() | tuple():
            return type(value)(map(change, value))
        case dict():
            return {key: change(one) for key, one in value.items()}
        case _:
            return value


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _spelt(path: str) -> str:
    return f"np.{path.removeprefix('numpy.')}" if path.startswith("numpy.") else path.rpartition(".")[2]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
