"""Decides from its source text what to pass for each parameter of an entry function."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import NamedTuple

from palmette.features.artefacts import Parameter
from palmette.features.signature import meaning_of, parameters_of


class Binding(NamedTuple):
    """A parameter and its meaning."""

    name: str
    meaning: str
    """`spark`, `tables`, `table` or `as_of`."""
    table: str = ""
    """For `table`: the table's name in the registry."""
    form: str = ""
    """For `as_of`: `str`, `date`, or empty for an aware datetime."""


class Bindings(NamedTuple):
    """All parameters, or why they cannot be bound."""

    bound: tuple[Binding, ...] = ()
    error: str = ""


def bind(source: str, entry: str, tables: Collection[str]) -> Bindings:
    """Binds the parameters of the function `entry`; `source` is the text of the script."""
    try:
        function = _function(ast.parse(source), entry)
    except SyntaxError as error:
        return Bindings(error=f"SyntaxError: {error.msg} (line {error.lineno})")
    if function is None:
        return Bindings(error=f"MissingFunction: the script has no function {entry!r}")
    bound: list[Binding] = []
    for parameter in parameters_of(function)[1 if "." in entry else 0 :]:
        binding = _binding(parameter, tables)
        if binding is not None:
            bound.append(binding)
        elif parameter.default is None:
            return Bindings(error=_unbound(parameter, entry, tables))
    return Bindings(tuple(bound))


def _function(module: ast.Module, entry: str) -> ast.FunctionDef | None:
    """The function `name`, or the method `Class.name`."""
    owner, _, name = entry.rpartition(".")
    classes = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == owner)
    body = next((node.body for node in classes), []) if owner else module.body
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _binding(parameter: Parameter, tables: Collection[str]) -> Binding | None:
    if table := _table(parameter.name, tables):
        return Binding(parameter.name, "table", table)
    match meaning_of(parameter):
        case "spark":
            return Binding(parameter.name, "spark")
        case "tables":
            return Binding(parameter.name, "tables")
        case "as_of":
            return Binding(parameter.name, "as_of", form=_form(parameter.annotation))
        case "table" | "frame" if len(tables) == 1:
            return Binding(parameter.name, "table", next(iter(tables)))
        case _:
            return None


def _table(name: str, tables: Collection[str]) -> str | None:
    """The table that a parameter is named after: `redemptions`, `redemptions_df`, `df_redemptions`."""
    plain = name.removesuffix("_df").removesuffix("_frame").removeprefix("df_")
    return next((table for table in (name, plain) if table in tables), None)


def _form(annotation: str) -> str:
    last = annotation.replace(" ", "").split("|")[0].rpartition(".")[2].strip("'\"")
    return last if last in ("str", "date") else ""


def _unbound(parameter: Parameter, entry: str, tables: Collection[str]) -> str:
    annotation = f": {parameter.annotation}" if parameter.annotation else ""
    return (
        f"UnboundParameter: nothing is known to pass for {parameter.name + annotation!r} of {entry}; "
        f"known are spark, tables, as_of, config, and the tables {', '.join(sorted(tables))}"
    )
