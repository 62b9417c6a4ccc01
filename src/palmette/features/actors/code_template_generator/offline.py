"""Writes the skeleton of a script by rules: docstring, imports and functions follow the neighbours."""

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from palmette.features.artefacts import HOLE, Config, Conventions, Parameter, Utilities
from palmette.features.pyspark.io import function_source
from palmette.features.repository import Neighbour
from palmette.features.signature import BY_NAME
from palmette.features.spec.view import View

_HOMES: Mapping[str, str] = {
    **dict.fromkeys(("DataFrame", "SparkSession", "Column"), "pyspark.sql"),
    **dict.fromkeys(("datetime", "date"), "datetime"),
    **dict.fromkeys(("Sequence", "Mapping", "Iterable"), "collections.abc"),
    "Any": "typing",
    "Path": "pathlib",
}
"""Modules for names in annotations that no neighbour imports."""


def write_template(
    view: View, conventions: Conventions, config: Config, utilities: Utilities | None, neighbours: Sequence[Neighbour]
) -> str:
    """The source of the skeleton, from a neighbour's if one fits; of a query, the comment that begins it."""
    if conventions.is_query:
        return f"-- {_summary(view, '')}\n"
    docstring = module_docstring(view, conventions)
    if conventions.skeleton:
        return f"{docstring}\n\n{conventions.skeleton}"
    conventions = _of_class(conventions, config.class_name.rpartition(":")[2])
    functions = [function_source(view, conventions, shape.role, [HOLE]) for shape in conventions.functions]
    imports = {f"from {utility.module} import {utility.name}" for utility in (utilities.chosen if utilities else ())}
    imports |= set(_imports("\n".join(functions), config, neighbours))
    main = next(shape.name for shape in conventions.functions if shape.role == "main")
    functions.append(f'if __name__ == "__main__":\n    {main}()\n')
    lines = ["from __future__ import annotations", "", *sorted(imports)]
    return "\n\n\n".join(["\n".join([docstring, "", *lines]), *functions])


def _of_class(conventions: Conventions, class_name: str) -> Conventions:
    """The conventions with the team's class as the type of configurations that no neighbour shows."""

    def typed(one: Parameter) -> Parameter:
        is_open = BY_NAME.get(one.name) == "config" and one.annotation == "dict[str, Any]"
        return one.model_copy(update={"annotation": class_name}) if is_open and class_name else one

    functions = (
        shape.model_copy(update={"parameters": tuple(map(typed, shape.parameters))}) for shape in conventions.functions
    )
    return conventions.model_copy(update={"functions": tuple(functions)})


def module_docstring(view: View, conventions: Conventions) -> str:
    """The docstring of the script: a description, then the same sections as the neighbours."""
    known = {
        "grain": _grain(view),
        "key": _listed(view.grain),
        "entity": ", ".join(entity.name for entity in view.spec.entities),
        "source": ", ".join(view.tables),
        "input": ", ".join(view.tables),
        "owner": view.owner,
        "output": view.table_name,
        "feature": ", ".join(feature.name for feature in view.public),
    }
    lines = conventions.docstring_style.splitlines()
    sections: list[str] = []
    for line in lines[1:]:
        head = re.match(r"([A-Z][A-Za-z ]{2,20}):(\s|$)", line)
        if head:
            value = next((text for name, text in known.items() if _stem(head[1]).startswith(name)), "")
            sections += [f"{head[1]}: {value}{'.' * line.rstrip().endswith('.')}"] if value else []
    if not lines:
        cutoff = f"Cut-off: {_CUTOFFS[view.cutoff]}. Days and hours are counted in {view.zone}."
        sections = [f"Grain: {known['grain']}.", f"Sources: {known['source']}.", cutoff]
    summary = _summary(view, lines[0] if lines else "")
    width = conventions.line_length
    wrapped = [
        part
        for text in (summary, *([""] if sections else []), *sections)
        for part in (textwrap.wrap(text, width - 3) or [""])
    ]
    text = "\n".join(wrapped).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""' if len(wrapped) > 1 else f'"""{text}"""'


_CUTOFFS = {
    "run": "every row: only what was known before `as_of` counts",
    "partition": "the end of the partition's day: only what was known before it counts",
    "spine": "each row's own: only what was known before it counts",
}


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _grain(view: View) -> str:
    if view.spine is not None:
        return f"the rows of `{view.spine.table}`, by {_listed(view.grain)}"
    return f"one row per {_listed(view.grain)}{' and day' * (view.cutoff == 'partition')}"


def _stem(text: str) -> str:
    return text.strip().lower().removesuffix("s")


def _summary(view: View, style: str) -> str:
    """The first line: `Title: description` if neighbours write it so, else the description."""
    title = view.name.replace("_", " ")
    title = title[0].upper() + title[1:]
    description = view.description.strip().rstrip(".") or f"Features of {' and '.join(view.grain)}"
    if re.fullmatch(rf"[\w ]*\b{view.name}\b\W*", style):
        return style
    prefix = re.match(r"([A-Z][\w ]+): [a-z_0-9]+$", style)
    if prefix:
        return f"{prefix[1]}: {view.name}"
    if re.match(r"[A-Z][\w ]+: \S", style):
        words = description.split(" ", 1)
        lowered = description if words[0].isupper() and len(words[0]) > 1 else description[0].lower() + description[1:]
        return f"{title}: {lowered}."
    return description + "."


def _imports(functions: str, config: Config, neighbours: Sequence[Neighbour]) -> Iterator[str]:
    """Imports of the names in declarations, from the same modules as the neighbours or that of the configuration."""
    module, _, class_name = config.class_name.partition(":")
    for name in sorted({node.id for node in ast.walk(ast.parse(functions)) if isinstance(node, ast.Name)}):
        homes = Counter(neighbour.module.imports[name] for neighbour in neighbours if name in neighbour.module.imports)
        if homes:
            home, _, original = homes.most_common(1)[0][0].rpartition(".")
            yield f"from {home} import {original}" if home else f"import {original}"
        elif name == class_name.split(".")[0] and module:
            yield f"from {module} import {name}"
        elif name in _HOMES:
            yield f"from {_HOMES[name]} import {name}"
