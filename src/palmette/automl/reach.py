"""What generated code of a model's project may reach: libraries that learn, its own modules, the file that it is given.

`palmette.sandbox.reach` holds a file against the lists of `reach.yaml`. Files that the harness itself has written are
not held against them: nobody could have put anything into those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from palmette.automl.artefacts import PREPARATION
from palmette.documents import parse_document, read_text
from palmette.engine import TextFile, Violation
from palmette.sandbox import reach
from palmette.sandbox.reach import CODE

__all__ = ["CODE", "OWN", "Reach", "objections"]

OWN = frozenset({"contract", "models", "preprocess", "target"})
"""Modules of a project that generated code may import."""


class Lists(reach.Lists):
    """The lists of `reach.yaml`, where each is explained."""

    outlets: reach.Words


LISTS = parse_document(read_text(Path(__file__).with_suffix(".yaml")), Lists, "reach.yaml")


def _texts_as_code(node: ast.AST) -> Iterator[str]:
    """`frame.eval(text)`; a network's `eval()` has no text."""
    match node:
        case ast.Call(func=ast.Attribute(attr="eval")) if node.args or node.keywords:
            yield "'eval' reads a text as code"


def _outlets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.keyword) and node.arg in LISTS.outlets:
        yield f"the argument {node.arg!r} names a place of its own"


@dataclass(frozen=True)
class Reach(reach.Reach):
    """What generated code of a project may reach."""

    lists = LISTS
    rules = (_outlets, _texts_as_code)
    said = "generated code learns from what it is handed, and reaches the project's own modules only"


def objections(files: Iterable[TextFile], own: Iterable[TextFile] = ()) -> list[Violation]:
    """Why files may not be put where they could be executed; none when they may.

    Args:
        files: Of a project.
        own: What the harness itself has written; a file that is equal to one of these is not looked at.
    """
    known, judge = set(own), Reach(OWN)
    return [
        violation
        for file in files
        if file not in known
        for violation in judge.violations(file, rows_alone=file.path != PREPARATION)
    ]
