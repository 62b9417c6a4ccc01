"""Checks functions that a model proposes: they must exist and be called with the need's arguments only.

The results of the functions are tested by the proofs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from palmette.features.actors.utils_retriever.candidates import WANTS, Demand, Slot, UtilityCandidate, methods_of
from palmette.features.artefacts import Utility
from palmette.features.import_policy import is_place
from palmette.features.repository import Checkout, Function, Module

_HOLE = re.compile(r"\{([a-z_]+)\}")


def proposed(checkout: Checkout, utility: Utility, demands: Sequence[Demand]) -> UtilityCandidate | None:
    """The candidate for a proposal; None if the view has no such need, or if the call has another form."""
    demand = next((demand for demand in demands if demand.need == utility.need), None)
    if demand is None or not _is_call(utility.call, demand):
        return None
    name = utility.call.partition("(")[0].strip()
    for module in checkout.modules:
        for known, function in callables(module) if module.name == utility.module else ():
            if known == name and known.partition(".")[0] == utility.name:
                return UtilityCandidate(utility.need, function, utility.name, utility.call, uses=0, score=0)
    return None


def callables(module: Module) -> Iterator[tuple[str, Function]]:
    """Everything that a script can import from a module and call: functions, and class and static methods."""
    if module.is_test:
        return
    for function in module.functions:
        yield function.name, function
    for owner, method in methods_of(module, {"classmethod", "staticmethod"}):
        yield f"{owner}.{method.name}", method


def _is_call(text: str, demand: Demand) -> bool:
    """Whether the text is a single call with the need's arguments and constants."""
    holes = _HOLE.findall(text)
    want = WANTS[demand.need]
    if not any(_fits(holes, slots, demand) for slots in (want.slots, want.instead) if slots):
        return False
    code = _HOLE.sub(r"\1", text)
    try:
        call = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if "{" in code or not isinstance(call, ast.Call):
        return False
    arguments = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]
    names = [node for one in arguments for node in ast.walk(one) if isinstance(node, ast.Name)]
    whole = len(arguments) == len(call.args) + len(call.keywords)
    return whole and len(names) == len(holes) and all(map(_is_plain, arguments))


def _fits(holes: Sequence[str], slots: Sequence[Slot], demand: Demand) -> bool:
    needed = {slot.name for slot in slots if slot.required} | demand.gives
    return needed <= set(holes) <= {slot.name for slot in slots}


def _is_plain(node: ast.expr) -> bool:
    """Whether a node is an argument of the need, its frame's session, a constant that is no path, or a list of them."""
    match node:
        case ast.Constant(value=str() as text) if is_place(text):
            return False
        case ast.Name() | ast.Constant() | ast.Attribute(value=ast.Name(id="df"), attr="sparkSession"):
            return True
        case ast.List(elts=items):
            return all(map(_is_plain, items))
        case _:
            return False
