"""Estimators as data: a class with its arguments, built in the driver and written as source in the delivered package.

A `Call` stands for `sklearn.linear_model.Ridge(alpha=10.0)` without importing scikit-learn. `build` makes the object;
`source` makes the expression and the imports. Both come from the same tree, so what is delivered is what was searched.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Value = Any
"""None, a bool, number or text, a list, tuple or dict of values, a `Call` or a `Name`."""


@dataclass(frozen=True)
class Name:
    """Something that is imported and used as it is, e.g. the function `numpy.log1p`."""

    path: str


@dataclass(frozen=True)
class Call:
    """A class or function with its keyword arguments."""

    path: str
    """Where it is imported from, e.g. `sklearn.linear_model.Ridge`."""
    arguments: dict[str, Value] = field(default_factory=dict)
    positional: tuple[Value, ...] = ()
    """Arguments without a name, before the others."""

    def where(self, **arguments: Value) -> Call:
        """The same with other arguments beside."""
        return Call(self.path, {**self.arguments, **arguments}, self.positional)

    @property
    def short(self) -> str:
        """The class's own name."""
        return self.path.rpartition(".")[2]


def pipeline(*steps: tuple[str, Call]) -> Call:
    """A scikit-learn `Pipeline` of named steps."""
    return Call("sklearn.pipeline.Pipeline", {"steps": list(steps)})


def with_arguments(path: str, **arguments: Value) -> Call | Name:
    """A function, with some of its arguments given."""
    return Call("functools.partial", arguments, (Name(path),)) if arguments else Name(path)


def function_step(path: str, **arguments: Value) -> Call:
    """A function of rows as a step of a pipeline, which learns nothing."""
    given = {"kw_args": arguments} if arguments else {}
    return Call("sklearn.preprocessing.FunctionTransformer", given, (Name(path),))


def build(value: Value) -> Any:
    """The object that a value stands for."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            return _imported(path)(*map(build, positional), **{name: build(one) for name, one in arguments.items()})
        case Name(path=path):
            return _imported(path)
        case _:
            return mapped(value, build)


def source(value: Value) -> str:
    """The Python expression of a value; `paths_of` gives what it needs imported.

    >>> source(Call("sklearn.linear_model.Ridge", {"alpha": 10.0, "solver": "lsqr"}))
    'Ridge(alpha=10.0, solver="lsqr")'
    """
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            given = [*map(source, positional), *(f"{name}={source(one)}" for name, one in arguments.items())]
            return f"{_spelt(path)}({', '.join(given)})"
        case Name(path=path):
            return _spelt(path)
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


def calls_in(value: Value) -> Iterator[Call | Name]:
    """All calls and names in a value, outer ones first; each as often as it occurs."""
    if isinstance(value, Call | Name):
        yield value
    for one in _parts(value):
        yield from calls_in(one)


def paths_of(value: Value) -> Iterator[str]:
    """The import paths of a value, the outermost first; each as often as it occurs."""
    return (one.path for one in calls_in(value))


def mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value with each value directly in it changed."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            return Call(path, {name: change(one) for name, one in arguments.items()}, tuple(map(change, positional)))
        case list() | tuple():
            return type(value)(map(change, value))
        case dict():
            return {key: change(one) for key, one in value.items()}
        case _:
            return value


def _parts(value: Value) -> Iterable[Value]:
    """The values directly in a value."""
    match value:
        case Call(arguments=arguments, positional=positional):
            return (*positional, *arguments.values())
        case list() | tuple():
            return value
        case dict():
            return value.values()
        case _:
            return ()


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _spelt(path: str) -> str:
    """`np.log1p` for functions of numpy, as usual; else the bare name."""
    return f"np.{path.removeprefix('numpy.')}" if path.startswith("numpy.") else path.rpartition(".")[2]


def _text(value: str) -> str:
    import json

    return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
