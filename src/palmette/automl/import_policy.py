"""The import policy for own code: modules may use libraries that compute and learn, but read and write nothing.

`palmette.sandbox.import_policy` checks a module against the lists of `import_policy.yaml` before it is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from palmette.automl.candidates import OwnCode
from palmette.documents import parse_document, read_text
from palmette.engine import TextFile, Violation
from palmette.sandbox import import_policy


class ImportLists(import_policy.AllowLists):
    """The lists of `import_policy.yaml`, which are explained there."""

    outlets: import_policy.WordSet


LISTS = parse_document(read_text(Path(__file__).with_suffix(".yaml")), ImportLists, "import_policy.yaml")


def _texts_as_code(node: ast.AST) -> Iterator[str]:
    """Finds `frame.eval(text)`, but not `eval()` of a network, which takes no text."""
    match node:
        case ast.Call(func=ast.Attribute(attr="eval")) if node.args or node.keywords:
            yield "'eval' reads a text as code"


def _outlets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.keyword) and node.arg in LISTS.outlets:
        yield f"the argument {node.arg!r} names a place of its own"


@dataclass(frozen=True)
class ImportPolicy(import_policy.CodePolicy):
    """The policy for own code."""

    own: frozenset[str] = frozenset()

    lists = LISTS
    rules = (_outlets, _texts_as_code)
    summary = "own code works on the rows that it is given, with libraries that compute"


def objections(modules: Iterable[OwnCode]) -> list[Violation]:
    """Returns why modules may not be executed; empty if they may."""
    policy = ImportPolicy()
    files = [TextFile(path=one.path, text=one.text) for one in modules]
    return [violation for file in files for violation in policy.violations(file, rows_alone=True)]
