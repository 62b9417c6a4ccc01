"""Classifies a change to a view's script by comparing its columns with those of the existing script."""

import ast
from typing import Literal, NamedTuple

from palmette.features.spec.view import View


class ChangeClass(NamedTuple):
    """How much a change affects readers of the view's table."""

    kind: Literal["new view", "unchanged columns", "columns added", "breaking"]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts: list[str] = [self.kind]
        parts += [f"adds {', '.join(self.added)}"] if self.added and self.kind != "new view" else []
        parts += [f"removes {', '.join(self.removed)}"] if self.removed else []
        return "; ".join(parts)


def change_class(view: View, before: str | None) -> ChangeClass:
    """Compares the view's output with `before`, the script's text on the base branch (None if it is new).

    Not covered: columns that keep their name but change their type or meaning.
    """
    if before is None:
        return ChangeClass("new view", tuple(view.output))
    old = output_columns(before)
    added = tuple(name for name in view.output if name not in old)
    removed = tuple(sorted(old - set(view.output)))
    if removed:
        return ChangeClass("breaking", added, removed)
    return ChangeClass("columns added" if added else "unchanged columns", added)


def output_columns(source: str) -> frozenset[str]:
    """Names in the widest `select` of a script, which defines its output; empty if the text is not valid Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return frozenset()
    selects = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _attribute(node) == "select"]
    return max((frozenset(filter(None, map(_name, node.args))) for node in selects), key=len, default=frozenset())


def _attribute(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _name(node: ast.expr) -> str | None:
    """The output column of a `select` argument: its alias, or the column that it casts or passes through."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if _attribute(node) in ("alias", "name", "col", "column") and node.args and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    if isinstance(node.func, ast.Name) and node.func.id in ("col", "column") and node.args:
        return _name(node.args[0])
    return _name(node.func.value) if isinstance(node.func, ast.Attribute) else None
