"""Assigns a meaning to each parameter of a view's predefined functions.

The template, the script and the tests call the same functions; the calls are defined only here.
"""

import ast
from typing import Literal, NamedTuple

from palmette.features.artefacts import Conventions, FunctionShape, Parameter, Role
from palmette.features.spec.view import View

Meaning = Literal["spark", "config", "tables", "table", "frame", "as_of", "argv", "other"]

_NAMES: dict[Meaning, str] = {
    "spark": "spark session",
    "config": "config cfg conf settings params parameters options",
    "tables": "tables sources frames inputs",
    "as_of": "as_of cutoff cut_off asof run_date day ds",
    "frame": "features df frame output result",
    "argv": "argv args",
}
BY_NAME: dict[str, Meaning] = {name: meaning for meaning, names in _NAMES.items() for name in names.split()}
"""The meaning of parameters with usual names."""


def source_of(node: ast.expr | None) -> str:
    """An annotation as source text; quoted annotations lose their quotes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return "" if node is None else ast.unparse(node)


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Parameter, ...]:
    """The parameters of a function in order, without `*args`, `**kwargs` and a method's own object."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    return tuple(
        Parameter(
            name=argument.arg,
            annotation=source_of(argument.annotation),
            default=ast.unparse(default) if default else None,
            keyword_only=argument in arguments.kwonlyargs,
        )
        for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True)
        if argument.arg not in ("self", "cls")
    )


class BoundParameter(NamedTuple):
    """A parameter and the value passed for it."""

    name: str
    annotation: str
    meaning: Meaning
    table: str = ""
    """Name of the table if `meaning` is `table`."""
    keyword_only: bool = False

    def passed(self, value: str) -> str:
        """The source text that passes a value for it.

        >>> BoundParameter("until", "datetime", "as_of", keyword_only=True).passed("as_of")
        'until=as_of'
        """
        return f"{self.name}={value}" if self.keyword_only else value


def form_of(parameter: Parameter | BoundParameter) -> str:
    """The type of a cut-off that is text (`str`) or a calendar day (`date`); empty for an aware datetime."""
    last = parameter.annotation.replace(" ", "").split("|")[0].rpartition(".")[2].strip("'\"")
    return last if last in ("str", "date") else ""


def is_day(parameter: Parameter) -> bool:
    """Whether a parameter is a cut-off that is a calendar day."""
    return form_of(parameter) == "date"


def is_frame(parameter: Parameter) -> bool:
    return parameter.annotation.split(".")[-1] == "DataFrame"


def meaning_of(parameter: Parameter) -> Meaning:
    """The meaning of a parameter, from its annotation first and its name second.

    >>> meaning_of(Parameter(name="sources", annotation="dict[str, DataFrame]"))
    'tables'
    """
    annotation = parameter.annotation.replace(" ", "").lower()
    if annotation.startswith(("dict[str,", "mapping[str,")) and annotation.endswith("dataframe]"):
        return "tables"
    if annotation.endswith("sparksession"):
        return "spark"
    if annotation.endswith("datetime") or is_day(parameter):
        return "as_of"
    by_name = BY_NAME.get(parameter.name)
    if annotation.endswith("dataframe"):
        return "frame" if by_name == "frame" else "table"
    if by_name is None and (annotation.endswith(("config", "settings"))):
        return "config"
    return by_name or "other"


def signature(view: View, conventions: Conventions, role: Role) -> tuple[BoundParameter, ...]:
    """The parameters of the function with `role`, for this view.

    `build` gets one parameter per table if the team's scripts have that , and no cut-off if the
    spine has the cut-offs, unless the script follows a neighbour's skeleton that passes one.
    """
    shape = shape_of(conventions, role)
    per_table = role == "build" and any(map(is_frame, shape.parameters))
    bound: list[BoundParameter] = []
    for parameter in shape.parameters:
        meaning = meaning_of(parameter)
        if meaning == "as_of" and view.cutoff == "spine" and not conventions.skeleton:
            continue
        if per_table and meaning in ("table", "tables", "frame"):
            if not any(item.meaning == "table" for item in bound):
                bound += [BoundParameter(name, "DataFrame", "table", name) for name in sorted(view.tables)]
            continue
        bound.append(BoundParameter(parameter.name, parameter.annotation, meaning, keyword_only=parameter.keyword_only))
    return tuple(_with_config(bound) if role in ("load", "write") else bound)


def _with_config(bound: list[BoundParameter]) -> list[BoundParameter]:
    """Treats the only unknown parameter with a class as annotation as the configuration, whatever its name."""
    unknown = [one for one in bound if one.meaning == "other" and one.annotation[:1].isupper()]
    if len(unknown) != 1 or any(one.meaning == "config" for one in bound):
        return bound
    return [one._replace(meaning="config") if one in unknown else one for one in bound]


def shape_of(conventions: Conventions, role: Role) -> FunctionShape:
    """The predefined function with this role."""
    return next(shape for shape in conventions.functions if shape.role == role)


def declared(view: View, conventions: Conventions, shape: FunctionShape) -> list[str]:
    """The parameters of a predefined function as source text."""
    defaults = {parameter.name: parameter.default for parameter in shape.parameters}
    every = signature(view, conventions, shape.role)
    texts = [_declared(bound, defaults.get(bound.name)) for bound in every]
    positional = sum(not bound.keyword_only for bound in every)
    return texts if positional == len(every) else [*texts[:positional], "*", *texts[positional:]]


def _declared(bound: BoundParameter, default: str | None) -> str:
    text = f"{bound.name}: {bound.annotation}" if bound.annotation else bound.name
    if default is None:
        return text
    return f"{text} = {default}" if bound.annotation else f"{text}={default}"
