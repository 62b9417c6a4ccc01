"""Reads the shape of one decorated function per feature: which decorator marks features, and with which arguments."""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from palmette.features.artefacts import FeatureFunctions
from palmette.features.repository.checkout import Checkout, Function, Module, bound_names, dotted_name
from palmette.features.repository.spelling import respelt
from palmette.features.signature import is_frame, meaning_of
from palmette.features.spec import SparkType, View

_MEANINGS = {"table", "frame", "tables", "as_of"}


class MarkedFunction(NamedTuple):
    module: Module
    function: Function
    decorator: ast.expr


@lru_cache(maxsize=4)
def marked_functions(checkout: Checkout) -> dict[str, list[MarkedFunction]]:
    """By path of a module: its functions that a decorator of the repository marks as features.

    None unless it marks functions of different names, and no function of frames that every module has, also
    if it is named after its module.
    """
    spark = [module for module in checkout.modules if "pyspark" in module.text and not module.is_test]
    every = [one for module in spark for one in _marked(module)]
    origins = [origin for one in every if checkout.resolves((origin := _origin(one)).rpartition(".")[0])]
    mine = [one for one in every if _origin(one) == max(origins, key=origins.count)] if origins else []
    modules = {path: [*found] for path, found in groupby(mine, key=lambda one: one.module.path)}
    marked = [one for one in mine if one.function.returns.endswith("DataFrame")]
    names = [(one.function.name, one.module.stem) for one in marked]
    frames = ["" if name == view else name for name, view in names]
    is_shared = len(modules) > 1 and max(map(frames.count, frames), default=0) == len(modules)
    return modules if len({one.function.name for one in mine}) > 1 and not is_shared else {}


def _marked(module: Module) -> Iterator[MarkedFunction]:
    """The functions with decorators that return a data frame or a column."""
    for function in module.functions:
        if function.returns.endswith(("DataFrame", "Column")):
            yield from (MarkedFunction(module, function, one) for one in function.node.decorator_list)


def _origin(one: MarkedFunction) -> str:
    """The dotted name of the decorator where it is defined; that of its class if a module's object has it."""
    first, _, rest = dotted_name(one.decorator).partition(".")
    made = (node.value for node in one.module.tree.body if isinstance(node, ast.Assign) and first in bound_names(node))
    first = next(map(dotted_name, made), first)
    home = one.module.imports.get(first, "")
    return ".".join(filter(None, (home, rest))) if home else ""


def feature_functions(views: Mapping[str, Sequence[MarkedFunction]], new: str) -> FeatureFunctions | None:
    """The shape of marked functions in a new view; None if they or their decorators have no pattern that is known.

    `views` contains the marked functions by the names of their views, first those of the model.
    """
    found = [(view, one) for view, functions in views.items() for one in functions]
    patterns = {respelt(_pattern(one), view, new) for view, one in found}
    parameters = {tuple(map(meaning_of, one.function.parameters)): one.function.parameters for _, one in found}
    meanings = [meaning for each in parameters for meaning in each]
    returned = {one.function.returns.rpartition(".")[2] for _, one in found}
    if len(patterns) != 1 or len(parameters) != 1 or returned != {"DataFrame"} or set(meanings) - _MEANINGS:
        return None
    keys = [key for one in next(iter(views.values())) for key in grouping_keys(one.module, one.function)]
    return FeatureFunctions(
        decorator=patterns.pop(),
        parameters=next(iter(parameters.values())),
        key=max(filter(str.isidentifier, keys), key=keys.count, default=""),
    )


def _pattern(one: MarkedFunction) -> str:
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


def grouping_keys(module: Module, function: Function) -> dict[str, str]:
    """The columns that a function groups by: by the constant that has the name, else by its literal."""
    bodies = [module.tree.body, *(node.body for node in module.classes)]
    assigned = [node for body in bodies for node in body if isinstance(node, ast.Assign)]
    constants = {name: node.value for node in assigned for name in bound_names(node)}
    found = {}
    for call in (node for node in ast.walk(function.node) if isinstance(node, ast.Call)):
        for node in call.args if dotted_name(call.func).rpartition(".")[2] in ("groupBy", "groupby") else ():
            value = constants.get(ast.unparse(node).removeprefix("self."), node)
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[ast.unparse(node)] = value.value
    return found


def unfit_view(shape: FeatureFunctions | None, view: View) -> str:
    """Why a view cannot be written in this shape; empty if it can."""
    if shape is None:
        return "its functions have a pattern that no rule fills"
    if view.spine is not None:
        return "the rules write it only for views without a spine"
    if view.cutoff != "run" or len(view.grain) > 1:
        return "the rules write it only for views with one cut-off and one key"
    if view.zone != "UTC":
        return f"the session's zone is the framework's, and days of this view are those of {view.zone}"
    if len(view.tables) > 1 and any(map(is_frame, shape.parameters)):
        return f"its functions take one table, and this view reads {', '.join(sorted(view.tables))}"
    return ""
