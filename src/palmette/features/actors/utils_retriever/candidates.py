"""Selects functions of the repository that could meet a need, by signature, name and docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from palmette.features.artefacts import Need, Parameter, RejectedUtility, Utility
from palmette.features.repository import Checkout, Function, Module, find_neighbours

Kind = Literal["spark", "frame", "column", "text", "texts", "instant", "number", "mapping"]
"""The kind of value that a parameter accepts."""

_MOST = 6
"""Maximum number of candidates to test per need."""


class Slot(NamedTuple):
    """An argument of a need."""

    name: str
    """Placeholder in the call."""
    kind: Kind
    names: str
    """Regular expression for names of matching parameters."""
    required: bool = True


class NeedSignature(NamedTuple):
    """The signature expected of a function for a need."""

    slots: tuple[Slot, ...]
    returns: str
    """Regular expression for the return annotation."""
    words: str
    """Regular expression for names and first docstring lines that refer to the need."""
    instead: tuple[Slot, ...] = ()
    """Arguments that a function may accept instead of the slots."""


_FRAME = Slot("df", "frame", r"df|frame|data|features|rows|table|result|events?")
_SPARK = Slot("spark", "spark", r"spark|session", required=False)

WANTS: Mapping[Need, NeedSignature] = {
    "read_table": NeedSignature(
        (
            _SPARK,
            Slot("path", "text", r"path|table|name|location|uri|url|source|dataset|folder"),
            Slot("format", "text", r"format|fmt|file_format|kind", required=False),
        ),
        r"DataFrame$",
        r"read|load|table|fetch",
    ),
    "write_table": NeedSignature(
        (
            Slot("df", "frame", r"df|frame|data|features|rows|result|output"),
            _SPARK,
            Slot(
                "destination",
                "text",
                r"path|table|name|location|uri|url|destination|dest|target|output|folder",
            ),
            Slot("partition", "text", r"partition\w*", required=False),
            Slot("format", "text", r"format|fmt|file_format", required=False),
        ),
        r"^(None|)$|str$",
        r"writ|sav|stor|overwrit|publish|persist",
    ),
    "load_config": NeedSignature(
        (Slot("path", "text", r"path|file|filename|config_path|location|yaml_path|config_file"),),
        r"",
        r"config|settings|yaml|load|parse|from_",
        (Slot("document", "mapping", r"data|d|dict\w*|mapping|doc\w*|raw|values|content|payload|conf\w*|settings"),),
    ),
    "build_session": NeedSignature(
        (Slot("app_name", "text", r"app|app_name|name|application|job|job_name|appname", required=False),),
        r"SparkSession$",
        r"session|spark",
    ),
    "divide": NeedSignature(
        (
            Slot("numerator", "column", r"num\w*|a|x|left|part|dividend|top|upper"),
            Slot("denominator", "column", r"den\w*|b|y|right|whole|total|divisor|bottom|by|lower"),
        ),
        r"Column$",
        r"divi|ratio|rate|share|quotient|fraction|per\b",
    ),
    "latest_per_key": NeedSignature(
        (
            _FRAME,
            Slot("keys", "texts", r"keys?|by|partition_by|group_by|on|id_cols?|key_col(umn)?s?|columns|cols"),
            Slot("order", "text", r"order\w*|ts\w*|time\w*|column|col|by|sort\w*|updated\w*|event_time"),
        ),
        r"DataFrame$",
        r"latest|newest|last|recent|dedup|current|per_key",
    ),
    "before_cutoff": NeedSignature(
        (
            _FRAME,
            Slot("time", "text", r"time\w*|ts\w*|column|col|timestamp\w*|event_time|event_ts|date\w*|on"),
            Slot("as_of", "instant", r"as_of|cut_?off|asof|until|end|at|t|instant|run_date|date|now"),
            Slot("days", "number", r"days|n_days|window\w*|lookback\w*|num_days", required=False),
        ),
        r"DataFrame$",
        r"window|before|within|lookback|until|cut_?off|as_of|last|recent|days|point",
    ),
}


@dataclass(frozen=True)
class UtilityCandidate:
    """A function bound to the arguments of a need."""

    need: Need
    function: Function
    name: str
    """The name to import from the module: the function, or the class that defines it."""
    call: str
    """A call with the need's arguments in braces."""
    uses: int
    """The number of neighbours that import it."""
    score: float

    @property
    def module(self) -> str:
        return self.function.module

    @property
    def utility(self) -> Utility:
        doc = self.function.doc.split("\n\n")[0].replace("\n", " ")[:300]
        return Utility(need=self.need, name=self.name, module=self.module, call=self.call, doc=doc)

    @property
    def qualified(self) -> str:
        """`function`, or `Class.method`."""
        own = self.function.name
        return own if self.name == own else f"{self.name}.{own}"


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
    found: list[UtilityCandidate] = []
    for module in checkout.modules:
        relevant = demand.need == "load_config" or "pyspark" in module.text
        if module.is_test or module.path in scripts or not relevant:
            continue
        uses = {
            name: sum(_imports(neighbour.module, module, name) for neighbour in neighbours) for name in _names(module)
        }
        inside = not places or any(
            module.path == p.rstrip("/") or module.path.startswith(p.rstrip("/") + "/") for p in places
        )
        anywhere = demand.need in ("load_config", "build_session")
        for name, function in _functions(module, demand):
            if not (inside or anywhere or uses.get(name)) or function.name.startswith("_"):
                continue
            call = bind(function, want, demand, "" if name == function.name else f"{name}.")
            score = _score(function, want, uses.get(name, 0))
            if call is not None and score > 0:
                found.append(UtilityCandidate(demand.need, function, name, call, uses.get(name, 0), score))
    return sorted(found, key=lambda c: (-c.uses, -c.score, "{document}" in c.call, c.module, c.function.name))[:_MOST]


def unfit(checkout: Checkout, demands: Iterable[Demand]) -> Iterable[RejectedUtility]:
    """Functions that match a need by name and that neighbours use, but whose signature does not fit."""
    neighbours = find_neighbours(checkout)
    scripts = {neighbour.module.path for neighbour in neighbours}
    functions = [
        (module, function)
        for module in checkout.modules
        if not module.is_test and module.path not in scripts and "pyspark" in module.text
        for function in module.functions
        if any(_imports(neighbour.module, module, function.name) for neighbour in neighbours)
    ]
    for demand in demands:
        want = WANTS[demand.need]
        for module, function in functions:
            named = re.search(want.words, function.name, re.IGNORECASE)
            if named and bind(function, want, demand) is None:
                reason = obstacle(function, demand)
                yield RejectedUtility(name=function.name, module=module.name, need=demand.need, reason=reason)


def obstacle(function: Function, demand: Demand) -> str:
    """Why a function cannot be called for a need."""
    want = WANTS[demand.need]
    if not re.search(want.returns, function.returns.split(".")[-1]):
        return f"it gives {function.returns or 'nothing'}"
    required = [one for one in function.parameters if one.default is None]
    strangers = [one for one in required if not any(_takes(one, slot) for slot in want.slots)]
    if strangers:
        named = ", ".join(f"{one.name}: {one.annotation}" if one.annotation else one.name for one in strangers)
        return f"it takes {named}, which the script has no value for"
    taken = {slot.name for slot in want.slots for one in function.parameters if _takes(one, slot)}
    needed = [slot.name for slot in want.slots if slot.required or slot.name in demand.gives]
    missing = [name for name in needed if name not in taken]
    return f"it takes no {' and no '.join(missing)}" if missing else "its arguments are not those of the script"


def _names(module: Module) -> list[str]:
    return [function.name for function in module.functions] + [node.name for node in module.classes]


def _imports(script: Module, module: Module, name: str) -> bool:
    """Whether a script uses `name` from `module`, imported directly or through the module."""
    targets = set(script.imports.values())
    return f"{module.name}.{name}" in targets or (module.name in targets and f".{name}(" in script.text)


def _functions(module: Module, demand: Demand) -> Iterable[tuple[str, Function]]:
    """Functions of a module by the name to import; for load_config, also class methods of the team's class."""
    for function in module.functions:
        yield function.name, function
    owner, _, class_name = demand.class_name.partition(":")
    if demand.need == "load_config" and owner == module.name:
        yield from ((name, method) for name, method in methods_of(module, {"classmethod"}) if name == class_name)


def methods_of(module: Module, kinds: Set[str]) -> Iterator[tuple[str, Function]]:
    """Methods in a module with one of these decorators, each with the name of its class."""
    for node in module.classes:
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and kinds & set(map(ast.unparse, item.decorator_list)):
                yield node.name, Function(item, module.name, module.path)


def bind(function: Function, want: NeedSignature, demand: Demand, prefix: str = "") -> str | None:
    """The call of a function with the need's arguments in braces; None if the signature does not fit."""
    call = _bound(function, want, demand, prefix)
    return _bound(function, want._replace(slots=want.instead), demand, prefix) if not call and want.instead else call


def _bound(function: Function, want: NeedSignature, demand: Demand, prefix: str) -> str | None:
    if (
        not re.search(want.returns, function.returns.split(".")[-1])
        or function.node.args.vararg
        or function.node.args.kwarg
    ):
        return None
    parameters = [p for p in function.parameters if p.name not in ("self", "cls")]
    bound: dict[str, Slot] = {}
    for slot in want.slots:
        parameter = next((p for p in parameters if p.name not in bound and _takes(p, slot)), None)
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
        by_name = by_name or parameter.name in function.keyword_only
        arguments.append(f"{parameter.name}={text}" if by_name else text)
    return f"{prefix}{function.name}({', '.join(arguments)})"


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
    is_list = re.match(r"(list|Sequence|Iterable|tuple)\b", parameter.annotation)
    return f"[{{{slot.name}}}]" if slot.kind == "text" and is_list else f"{{{slot.name}}}"


_KINDS: Mapping[Kind, str] = {
    "spark": r"SparkSession$",
    "frame": r"DataFrame$",
    "column": r"Column|ColumnOrName",
    "text": r"str\b|Path\b|Column\b",
    "texts": r"(list|List|Sequence|Iterable|tuple|Tuple|Collection)\[",
    "instant": r"datetime\b",
    "number": r"int\b|float\b",
    "mapping": r"(dict|Dict|Mapping|MutableMapping)\b|^(Any|object)$",
}


def _takes(parameter: Parameter, slot: Slot) -> bool:
    """Whether a parameter matches a slot: by annotation, and by name if several could match."""
    named = re.fullmatch(slot.names, parameter.name) is not None
    annotation = parameter.annotation
    if not annotation:
        return named
    if re.search(_KINDS[slot.kind], annotation) is None:
        return False
    return named or slot.kind in ("spark", "frame", "instant", "texts")


def _score(function: Function, want: NeedSignature, uses: int) -> float:
    """The score of a function; 0 if only the signature matches."""
    by_name = re.search(want.words, function.name, re.IGNORECASE) is not None
    by_doc = re.search(want.words, function.doc, re.IGNORECASE) is not None
    return 2.0 * by_name + by_doc + uses
