"""Selects functions of the repository that could meet a need, by signature, name and docstring."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from palmette.documents import Model, parse_document, read_text
from palmette.features.artefacts import Need, Parameter, Utility
from palmette.features.import_policy import is_place
from palmette.features.repository import Checkout, Function, Module, find_neighbours

_KINDS = {
    "spark": r"SparkSession$",
    "frame": r"DataFrame$",
    "column": r"Column|ColumnOrName",
    "text": r"str\b|Path\b|Column\b",
    "texts": r"(list|List|Sequence|Iterable|tuple|Tuple|Collection)\[",
    "instant": r"datetime\b",
    "number": r"int\b|float\b",
    "mapping": r"(dict|Dict|Mapping|MutableMapping)\b|^(Any|object)$",
}
"""Annotations of the parameters that take a kind of value."""
_MOST = 6
"""Maximum number of candidates to test per need."""
_HOLE = re.compile(r"\{([a-z_]+)\}")


class Slot(Model):
    """An argument of a need."""

    name: str
    """Placeholder in the call."""
    kind: Literal["spark", "frame", "column", "text", "texts", "instant", "number", "mapping"]
    names: str
    """Regular expression for names of matching parameters."""
    required: bool = True

    def takes(self, parameter: Parameter) -> bool:
        """Whether a parameter takes this argument: by annotation, and by name if several could."""
        named = re.fullmatch(self.names, parameter.name) is not None
        if not parameter.annotation:
            return named
        fits = re.search(_KINDS[self.kind], parameter.annotation) is not None
        return fits and (named or self.kind in ("spark", "frame", "instant", "texts"))


class NeedSignature(Model):
    """The signature expected of a function for a need."""

    contract: str
    """What the function does, for prompts."""
    slots: tuple[Slot, ...]
    returns: str
    """Regular expression for the return annotation."""
    words: str
    """Regular expression for names and docstrings that refer to the need."""
    instead: tuple[Slot, ...] = ()
    """Arguments that a function may accept instead of the slots."""


WANTS: Mapping[Need, NeedSignature] = parse_document(
    read_text(Path(__file__).with_name("needs.yaml")), RootModel[dict[Need, NeedSignature]], "needs.yaml"
).root


@dataclass(frozen=True)
class UtilityCandidate:
    """A function bound to the arguments of a need."""

    need: Need
    function: Function
    call: str
    """A call with the need's arguments in braces."""
    uses: int = 0
    """The number of neighbours that import it."""
    score: float = 0.0

    @property
    def name(self) -> str:
        """The name to import from the module: the function, or the class that defines it."""
        return _imported_name(self.function)

    @property
    def module(self) -> str:
        return self.function.module

    @property
    def utility(self) -> Utility:
        doc = self.function.doc.split("\n\n")[0].replace("\n", " ")[:300]
        return Utility(need=self.need, name=self.name, module=self.module, call=self.call, doc=doc)


@dataclass(frozen=True)
class Demand:
    """A need, and the optional arguments that this view passes."""

    need: Need
    gives: frozenset[str] = frozenset()
    constants: Mapping[str, str] | None = None
    """Arguments that are the same in every call, as source text; omitted where they equal the default."""
    class_name: str = ""
    """For load_config only: `module:Class`."""


def find_candidates(checkout: Checkout, demand: Demand, places: Sequence[str] = ()) -> list[UtilityCandidate]:
    """The most likely functions for a need, best first; `places`: utility files and folders, if known."""
    want, neighbours = WANTS[demand.need], find_neighbours(checkout)
    scripts = {neighbour.module.path for neighbour in neighbours}
    anywhere = not places or demand.need in ("load_config", "build_session")
    found: list[UtilityCandidate] = []
    for module in checkout.modules:
        relevant = demand.need == "load_config" or "pyspark" in module.text
        if module.is_test or module.path in scripts or not relevant:
            continue
        inside = anywhere or any(f"{module.path}/".startswith(f"{place.rstrip('/')}/") for place in places)
        for function in _functions(module, demand):
            uses = sum(_imports(neighbour.module, module, _imported_name(function)) for neighbour in neighbours)
            if function.name.startswith("_") or not (inside or uses):
                continue
            call = bind(function, want, demand)
            score = _score(function, want, uses)
            if call is not None and score > 0:
                found.append(UtilityCandidate(demand.need, function, call, uses, score))
    return sorted(found, key=lambda c: (-c.uses, -c.score, "{document}" in c.call, c.module, c.function.name))[:_MOST]


def _imports(script: Module, module: Module, name: str) -> bool:
    """Whether a script uses `name` from `module`, imported directly or through the module."""
    targets = set(script.imports.values())
    return f"{module.name}.{name}" in targets or (module.name in targets and f".{name}(" in script.text)


def _imported_name(function: Function) -> str:
    return function.dotted.partition(".")[0]


def _functions(module: Module, demand: Demand) -> Iterator[Function]:
    """Functions of a module; for load_config, also class methods of the team's class."""
    for function in callables(module):
        is_loader = demand.need == "load_config" and demand.class_name == f"{module.name}:{_imported_name(function)}"
        is_class_method = "classmethod" in map(ast.unparse, function.node.decorator_list)
        if function.owner is None or (is_loader and is_class_method):
            yield function


def callables(module: Module) -> list[Function]:
    """Everything that a script can import from a module and call: functions, and class and static methods."""
    kinds = {"classmethod", "staticmethod"}
    return [*module.functions, *(one for one in module.methods if kinds & {*map(ast.unparse, one.node.decorator_list)})]


def bind(function: Function, want: NeedSignature, demand: Demand) -> str | None:
    """The call of a function with the need's arguments in braces; None if the signature does not fit."""
    return next(filter(None, (_bound(function, slots, demand) for slots in (want.slots, want.instead))), None)


def _bound(function: Function, slots: Sequence[Slot], demand: Demand) -> str | None:
    variable = function.node.args.vararg or function.node.args.kwarg
    if not slots or variable or not re.search(WANTS[demand.need].returns, function.returns.split(".")[-1]):
        return None
    parameters = function.parameters
    bound: dict[str, Slot] = {}
    for slot in slots:
        parameter = next((p for p in parameters if p.name not in bound and slot.takes(p)), None)
        if parameter is not None:
            bound[parameter.name] = slot
        elif slot.required or slot.name in demand.gives:
            return None
    arguments: list[str] = []
    by_name = False
    for parameter in parameters:
        text = _argument(bound[parameter.name], parameter, demand) if parameter.name in bound else None
        if text is None:
            if parameter.default is None:
                return None
            by_name = True
            continue
        by_name = by_name or parameter.keyword_only
        arguments.append(f"{parameter.name}={text}" if by_name else text)
    return f"{function.dotted}({', '.join(arguments)})"


def _argument(slot: Slot, parameter: Parameter, demand: Demand) -> str | None:
    """The argument for a parameter: a placeholder or a constant; None to use the parameter's default."""
    constant = (demand.constants or {}).get(slot.name)
    if constant is not None:
        same = parameter.default is not None and parameter.default.strip("'\"") == constant.strip("'\"")
        return None if same else constant
    wanted = slot.required or slot.name in demand.gives or parameter.default is None
    if not wanted:
        return None
    if slot.name == "spark" and demand.need == "write_table":
        return "{df}.sparkSession"
    if slot.kind == "text" and re.fullmatch(r"(\w+\.)?Path", parameter.annotation):
        return f"Path({{{slot.name}}})"
    is_list = re.match(r"(list|Sequence|Iterable|tuple)\b", parameter.annotation)
    return f"[{{{slot.name}}}]" if slot.kind == "text" and is_list else f"{{{slot.name}}}"


def _score(function: Function, want: NeedSignature, uses: int) -> float:
    """The score of a function; 0 if only the signature matches."""
    by_name = re.search(want.words, function.name, re.IGNORECASE) is not None
    by_doc = re.search(want.words, function.doc, re.IGNORECASE) is not None
    return 2.0 * by_name + by_doc + uses


def proposed(checkout: Checkout, utility: Utility, demands: Iterable[Demand]) -> UtilityCandidate | None:
    """A model's proposal as a candidate; None if the view has no such need, or if the call has another form."""
    demand = next((demand for demand in demands if demand.need == utility.need), None)
    if demand is None or not _is_call(utility.call, demand):
        return None
    called = utility.call.partition("(")[0].strip()
    for module in checkout.modules:
        for function in callables(module) if module.name == utility.module and not module.is_test else ():
            if function.dotted == called and _imported_name(function) == utility.name:
                return UtilityCandidate(utility.need, function, utility.call)
    return None


def _is_call(text: str, demand: Demand) -> bool:
    """Whether the text is a single call with the need's arguments and constants."""
    holes, want = _HOLE.findall(text), WANTS[demand.need]
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
    """Whether it is an argument of the need, its session, a constant that is not a path, or a list of these."""
    match node:
        case ast.Constant(value=str() as text) if is_place(text):
            return False
        case ast.Name() | ast.Constant() | ast.Attribute(value=ast.Name(id="df"), attr="sparkSession"):
            return True
        case ast.List(elts=items):
            return all(map(_is_plain, items))
        case _:
            return False
