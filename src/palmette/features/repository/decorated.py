"""Reads the shape of one decorated function per feature: which decorator marks features, and with which arguments."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from palmette.features.artefacts import FeatureFunctions
from palmette.features.repository.checkout import Checkout, Function, Module, dotted_name
from palmette.features.signature import is_frame, meaning_of
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

_MEANINGS = {"table", "frame", "tables", "as_of"}


class _MarkedFunction(NamedTuple):
    module: Module
    function: Function
    decorator: ast.expr


def marked_modules(checkout: Checkout) -> list[Module]:
    """The modules with functions that a decorator of the repository marks as features.

    None unless it marks functions of different names, and no function that every module has.
    """
    spark = [module for module in checkout.modules if "pyspark" in module.text and not module.is_test]
    found = [one for module in spark for one in _marked(module) if checkout.resolves(_origin(one))]
    marks = Counter(map(_origin, found))
    mine = [one for one in found if _origin(one) == max(marks, key=marks.__getitem__)]
    modules = {one.module.path: one.module for one in mine}
    names = Counter(one.function.name for one in mine)
    is_shared = len(modules) > 1 and max(names.values()) == len(modules)
    return list(modules.values()) if len(names) > 1 and not is_shared else []


def _marked(module: Module) -> Iterator[_MarkedFunction]:
    """The functions with decorators that return a data frame or a column."""
    for function in module.functions:
        if function.returns.endswith(("DataFrame", "Column")):
            yield from (_MarkedFunction(module, function, one) for one in function.node.decorator_list)


def _origin(one: _MarkedFunction) -> str:
    """The dotted name of the decorator where it is defined."""
    first, _, rest = dotted_name(one.decorator).partition(".")
    home = one.module.imports.get(first, "")
    return ".".join(filter(None, (home, rest))) if home else ""


def feature_functions(modules: Sequence[Module]) -> FeatureFunctions | None:
    """The shape of the functions in marked modules; None if they or their decorators have no pattern that is known."""
    every = [one for module in modules for one in _marked(module)]
    ((mark, _),) = Counter(map(_origin, every)).most_common(1)
    found = [one for one in every if _origin(one) == mark]
    patterns = {_pattern(one) for one in found}
    parameters = {tuple(map(meaning_of, one.function.parameters)): one.function.parameters for one in found}
    meanings = [meaning for each in parameters for meaning in each]
    returned = {one.function.returns.rpartition(".")[2] for one in found}
    if len(patterns) != 1 or len(parameters) != 1 or returned != {"DataFrame"} or set(meanings) - _MEANINGS:
        return None
    first = dotted_name(found[0].decorator).partition(".")[0]
    home, _, name = found[0].module.imports[first].rpartition(".")
    keys = Counter(key for one in found for key in _keys(one))
    return FeatureFunctions(
        decorator=patterns.pop(),
        statement=f"from {home} import {name}" if home else f"import {name}",
        parameters=next(iter(parameters.values())),
        key=max(keys, key=keys.__getitem__, default=""),
    )


def _pattern(one: _MarkedFunction) -> str:
    """The decorator's source with placeholders for what depends on the feature."""
    node = copy.deepcopy(one.decorator)
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            child.value = "{name}" if child.value == one.function.name else _with_type(child.value)
    return ast.unparse(node)


def _with_type(text: str) -> str:
    try:
        SparkType.parse(text)
    except ValueError:
        return text
    return "{dtype}"


def _keys(one: _MarkedFunction) -> Iterator[str]:
    """Constants of the module that the function groups by."""
    constants = {
        target.id
        for node in one.module.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(one.function.node):
        if isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] in ("groupBy", "groupby"):
            used = {child.id for argument in node.args for child in ast.walk(argument) if isinstance(child, ast.Name)}
            yield from sorted(used & constants)


def unfit_view(shape: FeatureFunctions, view: View) -> str:
    """Why a view cannot be written in this shape; empty if it can."""
    if view.spine is not None:
        return "the rules write it only for views without a spine"
    if view.cutoff != "run" or len(view.grain) > 1:
        return "the rules write it only for views with one cut-off and one key"
    if view.zone != "UTC":
        return f"the session's zone is the framework's, and days of this view are those of {view.zone}"
    if len(view.tables) > 1 and any(map(is_frame, shape.parameters)):
        return f"its functions take one table, and this view reads {', '.join(sorted(view.tables))}"
    return ""
