"""Signatures of functions without annotations, from what their bodies do with data frames."""

from __future__ import annotations

import ast

from palmette.features.artefacts import Parameter
from palmette.features.repository.checkout import Function
from palmette.features.signature import BY_NAME

_FRAME_METHODS = frozenset({
    "select", "groupBy", "join", "filter", "where", "withColumn", "agg", "write", "union", "unionByName",
    "dropDuplicates", "orderBy", "drop", "fillna", "alias", "transform", "selectExpr", "distinct",
})  # fmt: skip
_MEANINGS = {"tables": "dict[str, DataFrame]", "spark": "SparkSession"}


def parameters_of(function: Function) -> tuple[Parameter, ...]:
    """The parameters; where the function has no annotation at all, with those that its body shows."""
    parameters = function.parameters
    if function.returns or any(parameter.annotation for parameter in parameters):
        return parameters
    return tuple(p.model_copy(update={"annotation": _annotation(p.name, function.node)}) for p in parameters)


def returns_of(function: Function) -> str:
    """The return annotation; where the function has none at all, the one that its last `return` shows."""
    if function.returns or any(parameter.annotation for parameter in function.parameters):
        return function.returns
    values = [node.value for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.value]
    if not values:
        return "None"
    match values[-1]:
        case ast.Dict() | ast.DictComp():
            return "dict[str, DataFrame]"
        case ast.Tuple():
            return "tuple[DataFrame, ...]"
        case _:
            return "DataFrame" if _touches_frames(function) else ""


def _annotation(name: str, node: ast.FunctionDef) -> str:
    used = {
        child.attr
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id == name
    }
    if used & _FRAME_METHODS:
        return "DataFrame"
    return _MEANINGS.get(BY_NAME.get(name, ""), "")


def _touches_frames(function: Function) -> bool:
    used = {child.attr for child in ast.walk(function.node) if isinstance(child, ast.Attribute)}
    return bool(used & (_FRAME_METHODS | {"table", "read", "parquet"}))
