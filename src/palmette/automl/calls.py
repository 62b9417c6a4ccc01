"""Estimators as data: a class with its arguments, built in the driver and written as source in the delivered package.

A `Call` says `sklearn.linear_model.Ridge(alpha=10.0)` without importing scikit-learn. `build` makes the object;
`source` makes the expression and the imports. Both come from the same tree, so what is delivered is what was searched.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
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


def build(value: Value) -> Any:
    """The object that a value stands for."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            return _imported(path)(*map(build, positional), **{name: build(one) for name, one in arguments.items()})
        case Name(path=path):
            return _imported(path)
        case list():
            return [build(one) for one in value]
        case tuple():
            return tuple(build(one) for one in value)
        case dict():
            return {key: build(one) for key, one in value.items()}
        case _:
            return value


def source(value: Value) -> str:
    """The Python expression of a value; `paths_of` says what it needs imported.

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


def paths_of(value: Value) -> Iterator[str]:
    """The import paths of a value, the outermost first; each as often as it occurs."""
    match value:
        case Call(path=path, arguments=arguments, positional=positional):
            yield path
            for one in (*positional, *arguments.values()):
                yield from paths_of(one)
        case Name(path=path):
            yield path
        case list() | tuple():
            for one in value:
                yield from paths_of(one)
        case dict():
            for one in value.values():
                yield from paths_of(one)


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _spelt(path: str) -> str:
    """`np.log1p` for functions of numpy, as everybody writes them; else the bare name."""
    return f"np.{path.removeprefix('numpy.')}" if path.startswith("numpy.") else path.rpartition(".")[2]


def _text(value: str) -> str:
    import json

    return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
