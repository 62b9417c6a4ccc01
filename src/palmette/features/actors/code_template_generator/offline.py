"""Writes the skeleton of a script by rules: docstring, imports and functions follow the neighbours."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from palmette.features.artefacts import Config, Conventions, FunctionShape, Role, Utilities
from palmette.features.repository import Neighbour
from palmette.features.signature import declared, signature
from palmette.features.spec.view import View

_DOCS: Mapping[Role, str] = {
    "load": "Reads the view's tables.",
    "build": "Builds the features from data frames alone: reads nothing, writes nothing.",
    "write": "Writes the features to the configured place.",
    "main": "Entry point for `spark-submit`.",
}
_HOMES: Mapping[str, str] = {
    "DataFrame": "pyspark.sql",
    "SparkSession": "pyspark.sql",
    "Column": "pyspark.sql",
    "datetime": "datetime",
    "date": "datetime",
    "Any": "typing",
    "Sequence": "collections.abc",
    "Mapping": "collections.abc",
    "Iterable": "collections.abc",
    "Path": "pathlib",
}
"""Modules for names in annotations that no neighbour imports."""


class _Import(NamedTuple):
    module: str
    name: str

    @property
    def group(self) -> int:
        """Import group: standard library or third party. The caller separates the team's own modules."""
        first = self.module.split(".")[0]
        return 0 if first == "__future__" else 1 if first in sys.stdlib_module_names else 2


def write_template(
    view: View,
    conventions: Conventions,
    config: Config,
    utilities: Utilities | None,
    neighbours: Sequence[Neighbour],
    packages: frozenset[str],
) -> str:
    """The source of the skeleton, from a neighbour's if one fits; `packages` are the team's top-level packages."""
    if conventions.skeleton:
        return f"{module_docstring(view, conventions)}\n\n{conventions.skeleton}"
    functions = [_function(view, conventions, shape, neighbours) for shape in conventions.functions]
    imports = _imports(view, conventions, config, neighbours)
    imports += [_Import(utility.module, utility.name) for utility in (utilities.chosen if utilities else ())]
    main = next(shape.name for shape in conventions.functions if shape.role == "main")
    parts = [
        module_docstring(view, conventions),
        *_import_blocks(imports, packages, neighbours),
        "\n\n" + "\n\n\n".join(functions) + "\n",
        f'\nif __name__ == "__main__":\n    {main}()\n',
    ]
    return "\n".join(parts)


def module_docstring(view: View, conventions: Conventions) -> str:
    """The docstring of the script: a description, then the same sections as the neighbours."""
    known = {
        "grain": f"one row per {_listed(view.grain)}" + _cutoff_words(view),
        "key": _listed(view.grain),
        "entity": ", ".join(entity.name for entity in view.spec.entities),
        "source": ", ".join(view.tables),
        "input": ", ".join(view.tables),
        "owner": view.owner,
        "output": view.table_name,
        "feature": ", ".join(feature.name for feature in view.features if not feature.internal),
    }
    lines = conventions.docstring_style.splitlines()
    sections: list[str] = []
    for line in lines[1:]:
        head = re.match(r"([A-Z][A-Za-z ]{2,20}):(\s|$)", line)
        if head:
            value = next((text for name, text in known.items() if _stem(head[1]).startswith(name)), "")
            sections += [f"{head[1]}: {value}{_stop(line)}"] if value else []
    if not lines:
        sections = [f"Grain: {known['grain']}.", f"Sources: {known['source']}."]
    summary = _summary(view, lines[0] if lines else "")
    width = conventions.line_length
    wrapped = [
        part
        for text in (summary, *([""] if sections else []), *sections)
        for part in (textwrap.wrap(text, width - 3) or [""])
    ]
    text = "\n".join(wrapped).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""' if len(wrapped) > 1 else f'"""{text}"""'


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _cutoff_words(view: View) -> str:
    if view.spine is not None:
        return f", for each row of {view.spine.table}"
    return " and day" if view.cutoff == "partition" else ""


def _stem(text: str) -> str:
    return text.strip().lower().removesuffix("s")


def _stop(line: str) -> str:
    return "." if line.rstrip().endswith(".") else ""


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


def _function(view: View, conventions: Conventions, shape: FunctionShape, neighbours: Sequence[Neighbour]) -> str:
    parameters = declared(view, conventions, shape)
    returns = f" -> {shape.returns}" if shape.returns else ""
    head = f"def {shape.name}({', '.join(parameters)}){returns}:"
    if len(head) > conventions.line_length:
        inner = "".join(f"    {parameter},\n" for parameter in parameters)
        head = f"def {shape.name}(\n{inner}){returns}:"
    return f'{head}\n    """{_doc(shape, neighbours)}"""\n    raise NotImplementedError'


def _doc(shape: FunctionShape, neighbours: Sequence[Neighbour]) -> str:
    """The neighbours' docstring, if they all use the same one for this function."""
    own = _DOCS[shape.role]
    if shape.role == "build":
        return own
    docs = {function.doc for neighbour in neighbours if (function := neighbour.function(shape.name))}
    common = docs.pop().strip() if len(neighbours) > 1 and len(docs) == 1 else ""
    return common if common and "\n" not in common and '"' not in common and "\\" not in common else own


def _imports(view: View, conventions: Conventions, config: Config, neighbours: Sequence[Neighbour]) -> list[_Import]:
    """Imports of the names in annotations, from the same modules as the neighbours."""
    module, _, class_name = config.class_name.partition(":")
    found = []
    for name in sorted(_annotation_names(view, conventions)):
        homes = Counter(neighbour.module.imports[name] for neighbour in neighbours if name in neighbour.module.imports)
        if homes:
            dotted = homes.most_common(1)[0][0]
            found.append(_Import(*_split(dotted)))
        elif name == class_name.split(".")[0] and module:
            found.append(_Import(module, name))
        elif name in _HOMES:
            found.append(_Import(_HOMES[name], name))
    return found


def _split(dotted: str) -> tuple[str, str]:
    module, _, name = dotted.rpartition(".")
    return module, name


def _annotation_names(view: View, conventions: Conventions) -> set[str]:
    texts = [shape.returns for shape in conventions.functions]
    texts += [bound.annotation for shape in conventions.functions for bound in signature(view, conventions, shape.role)]
    names: set[str] = set()
    for text in filter(None, texts):
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            continue
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names


def _import_blocks(imports: Iterable[_Import], packages: frozenset[str], neighbours: Sequence[Neighbour]) -> list[str]:
    """Sorted import statements in groups, separated by blank lines."""
    future = not neighbours or any("from __future__ import annotations" in n.module.text for n in neighbours)
    wanted = {*imports, *([_Import("__future__", "annotations")] if future else [])}
    blocks: list[str] = []
    for group in range(4):
        mine: dict[str, list[str]] = {}
        for item in sorted(wanted):
            own = item.module.split(".")[0] in packages and item.group == 2
            if (3 if own else item.group) == group:
                mine.setdefault(item.module, []).append(item.name)
        if mine:
            lines = [
                f"from {module} import {', '.join(names)}" if module else f"import {', '.join(names)}"
                for module, names in mine.items()
            ]
            blocks.append("\n" + "\n".join(lines))
    return blocks
