"""Finds the function of a hand-written script that builds the features."""

from __future__ import annotations

import ast
from collections.abc import Collection

from palmette.errors import UserError, did_you_mean
from palmette.features.harness.binding import bind

NAMES = ("build", "build_features", "compute", "compute_features", "transform", "create_features", "features")
"""Common names of such functions, most common first."""


def find_entry(text: str, tables: Collection[str], *, name: str | None = None, file: str = "the script") -> str:
    """The name of the function that takes the view's tables and returns a data frame.

    Args:
        name: A name given by the user; only validated.

    Raises:
        UserError: the script is not Python, the named function is missing, or no single function qualifies.
    """
    try:
        functions = _functions(ast.parse(text))
    except SyntaxError as error:
        raise UserError(
            f"{file} is not Python: line {error.lineno}: {error.msg}.", "Correct it first.", code="not-python"
        ) from error
    if name is not None:
        if name not in functions:
            raise UserError(
                f"{file} has no function {name!r}.{did_you_mean(name, functions)}",
                f"It has {_listed(functions)}.",
                code="no-entry",
            )
        return name
    fitting = [name for name, node in functions.items() if _fits(text, name, node, tables)]
    usual = sorted((name for name in fitting if _plain(name) in NAMES), key=lambda name: NAMES.index(_plain(name)))
    if len(fitting) == 1 or usual:
        return (usual or fitting)[0]
    found = (
        f"{_listed(fitting)} could all be it"
        if fitting
        else f"none of {_listed(functions)} takes the view's tables"
        if functions
        else "it defines no function"
    )
    raise UserError(
        f"Which function of {file} builds the features is not clear: {found}.",
        "Name it with --entry NAME.",
        code="no-entry",
    )


def _functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of a module, and public methods of its classes as `Class.method`."""
    owned = [(f"{top.name}.", node) for top in module.body if isinstance(top, ast.ClassDef) for node in top.body]
    return {
        f"{owner}{node.name}": node
        for owner, node in [*(("", node) for node in module.body), *owned]
        if isinstance(node, ast.FunctionDef) and not (owner and node.name.startswith("_"))
    }


def _plain(name: str) -> str:
    return name.rpartition(".")[2]


def _fits(text: str, name: str, function: ast.FunctionDef, tables: Collection[str]) -> bool:
    """Whether the function accepts tables and may return a data frame."""
    bindings = bind(text, name, tables)
    takes = any(item.meaning in ("table", "tables") for item in bindings.bound)
    returns = ast.unparse(function.returns) if function.returns is not None else ""
    return takes and not bindings.error and (not returns or returns.strip("'\"").endswith("DataFrame"))


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names) or "no function"
