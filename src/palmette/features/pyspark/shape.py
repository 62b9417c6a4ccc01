"""The predefined functions and the docstring of a feature script: what the template and the script have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from palmette.features.artefacts import Conventions, Role
from palmette.features.pyspark.code import docstring, indent
from palmette.features.signature import Bound, shape_of, signature
from palmette.features.spec.view import View

_CUTOFFS = {
    "run": "every row: only what was known before `as_of` counts",
    "partition": "the end of the partition's day: only what was known before it counts",
    "spine": "each row's own: only what was known before it counts",
}


def module_docstring(view: View, conventions: Conventions) -> str:
    """The module's docstring with its quotes: what the view is about, its grain, sources and cut-off."""
    about = docstring(" ".join(view.description.split())) or f"Feature view `{view.name}`."
    about = about if about.endswith((".", "!", "?")) else f"{about}."
    grain = f"one row per {_listed(view.grain)}"
    if view.spine is not None:
        grain = f"the rows of `{view.spine.table}`, by {_listed(view.grain)}"
    lines = [
        *textwrap.wrap(about, conventions.line_length - 6),
        "",
        *_wrapped(f"Grain: {grain}.", conventions),
        *_wrapped(f"Sources: {', '.join(sorted(view.tables))}.", conventions),
        *_wrapped(f"Cut-off: {_CUTOFFS[view.cutoff]}. Days and hours are counted in {view.zone}.", conventions),
    ]
    return '"""' + "\n".join(lines) + '\n"""'


def _wrapped(text: str, conventions: Conventions) -> list[str]:
    return textwrap.wrap(text, conventions.line_length, subsequent_indent="    ")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def function_source(view: View, conventions: Conventions, role: Role, body: list[str]) -> str:
    """A predefined function with the team's name and parameters, a docstring, and this body (unindented lines)."""
    shape = shape_of(conventions, role)
    defaults = {parameter.name: parameter.default for parameter in shape.parameters}
    parameters = [_parameter(bound, defaults.get(bound.name)) for bound in signature(view, conventions, role)]
    returns = shape.returns or {"load": "dict[str, DataFrame]", "build": "DataFrame"}.get(role, "None")
    lines = [line for part in body for line in part.split("\n")]
    doc = f'"""{_purpose(view, conventions, role)}"""'
    return "\n".join([f"def {shape.name}({', '.join(parameters)}) -> {returns}:", *indent([doc, *lines])])


def _parameter(bound: Bound, default: str | None) -> str:
    text = f"{bound.name}: {bound.annotation}" if bound.annotation else bound.name
    if default is None:
        return text
    return f"{text} = {default}" if bound.annotation else f"{text}={default}"


def _purpose(view: View, conventions: Conventions, role: Role) -> str:
    grain = " and ".join(key.removesuffix("_id") for key in view.grain)
    rows = f"One row for every row of `{view.spine.table}`" if view.spine else f"One row per {grain}"
    bounds = signature(view, conventions, "build")
    cutoff = next((f"`{bound.name}`" for bound in bounds if bound.meaning == "as_of"), "the cut-off")
    when = "its cut-off" if view.cutoff == "spine" else cutoff
    return {
        "load": "The tables that the view reads, with the columns that it needs.",
        "build": f"{rows}, with what was known before {when}.",
        "write": "Writes the view, and of partitions only those that it has rows for."
        if view.partition
        else "Writes the view.",
        "main": "Entry point for `spark-submit`.",
    }[role]
