"""Finds the entry function of a script in its source text, and decides what to pass for each of its parameters."""

import ast
from collections.abc import Collection
from typing import NamedTuple

from palmette.errors import UserError, did_you_mean
from palmette.features.artefacts import Parameter
from palmette.features.signature import BoundParameter, meaning_of, parameters_of, source_of

NAMES = ("build", "build_features", "compute", "compute_features", "transform", "create_features", "features")
"""Common names of entry functions, most common first."""


class Bindings(NamedTuple):
    """All parameters, or why they cannot be bound."""

    bound: tuple[BoundParameter, ...] = ()
    """Their meanings are `spark`, `tables`, `table` and `as_of`."""
    error: str = ""


def functions_of(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of a module, and methods of its classes as `Class.method`."""
    owned = [(f"{top.name}.", node) for top in module.body if isinstance(top, ast.ClassDef) for node in top.body]
    every = [*(("", node) for node in module.body), *owned]
    return {f"{owner}{node.name}": node for owner, node in every if isinstance(node, ast.FunctionDef)}


def bind(source: str, entry: str, tables: Collection[str]) -> Bindings:
    """Binds the parameters of the function `entry`; `source` is the text of the script."""
    try:
        function = functions_of(ast.parse(source)).get(entry)
    except SyntaxError as error:
        return Bindings(error=f"SyntaxError: {error.msg} (line {error.lineno})")
    if function is None:
        return Bindings(error=f"MissingFunction: the script has no function {entry!r}")
    bound: list[BoundParameter] = []
    for parameter in parameters_of(function):
        binding = _binding(parameter, tables)
        if binding is not None:
            bound.append(binding)
        elif parameter.default is None:
            return Bindings(error=_unbound(parameter, entry, tables))
    return Bindings(tuple(bound))


def _binding(parameter: Parameter, tables: Collection[str]) -> BoundParameter | None:
    meaning, table = meaning_of(parameter), _table(parameter.name, tables)
    if not table and meaning in ("table", "frame") and len(tables) == 1:
        (table,) = tables
    if not table and meaning not in ("spark", "tables", "as_of"):
        return None
    return BoundParameter(parameter.name, parameter.annotation, "table" if table else meaning, table)


def _table(name: str, tables: Collection[str]) -> str:
    """The table that a parameter is named after: `redemptions`, `redemptions_df`, `df_redemptions`."""
    plain = name.removesuffix("_df").removesuffix("_frame").removeprefix("df_")
    return next((table for table in (name, plain) if table in tables), "")


def _unbound(parameter: Parameter, entry: str, tables: Collection[str]) -> str:
    annotation = f": {parameter.annotation}" if parameter.annotation else ""
    return (
        f"UnboundParameter: nothing is known to pass for {parameter.name + annotation!r} of {entry}; "
        f"known are spark, tables, as_of, and the tables {', '.join(sorted(tables))}"
    )


def find_entry(text: str, tables: Collection[str], *, name: str | None = None, file: str = "the script") -> str:
    """The name of the function that takes the view's tables and returns a data frame.

    Args:
        name: A name given by the user; only validated.

    Raises:
        UserError: the script is not Python, the named function is missing, or no single function qualifies.
    """
    try:
        every = functions_of(ast.parse(text))
    except SyntaxError as error:
        message = f"{file} is not Python: line {error.lineno}: {error.msg}."
        raise UserError(message, "Correct it first.", code="not-python") from error
    functions = {name: node for name, node in every.items() if "._" not in name}
    if name in functions:
        return name
    if name is not None:
        message = f"{file} has no function {name!r}.{did_you_mean(name, functions)}"
        raise UserError(message, f"It has {_listed(functions)}.", code="no-entry")
    fitting = [name for name, node in functions.items() if _fits(text, name, node, tables)]
    called = [{one.id for one in ast.walk(functions[name]) if isinstance(one, ast.Name)} for name in fitting]
    first = [name for name in fitting if not any(name in names for names in called)]
    fitting = first if len(first) == 1 else fitting  # the others are its helpers
    usual = [name for wanted in NAMES for name in fitting if name.rpartition(".")[2] == wanted]
    if len(fitting) == 1 or usual:
        return (usual or fitting)[0]
    found = f"none of {_listed(functions)} takes the view's tables" if functions else "it defines no function"
    raise UserError(
        f"Which function of {file} builds the features is not clear: "
        f"{f'{_listed(fitting)} could all be it' if fitting else found}.",
        "Name it with --entry NAME; if it runs a query from a file, give that file.",
        code="no-entry",
    )


def _fits(text: str, name: str, function: ast.FunctionDef, tables: Collection[str]) -> bool:
    """Whether the function accepts tables and may return a data frame."""
    bindings = bind(text, name, tables)
    takes = any(item.meaning in ("table", "tables") for item in bindings.bound)
    returns = source_of(function.returns)
    return takes and not bindings.error and (not returns or returns.endswith("DataFrame"))


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "no function"
