"""What writers of code are shown of a blueprint: iML's four parts of it, and the contract between them.

    prep    what becomes of the columns, and how files are read: for whoever prepares
    model   which algorithms, in which order, from which settings: for whoever writes models
    train   what a fit may take, what is learnt of the target, how much is searched
    eval    by what candidates are compared, on which folds

The contract is a file of the project, `contract.json`: rows as read, features as made, predictions as given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Literal

from palmette.documents import Model
from palmette.engine import TextFile, Violation
from palmette.llm import NEEDED, Section, section

Part = Literal["prep", "model", "train", "eval"]
PARTS: dict[str, frozenset[str]] = {
    "prep": frozenset({"columns", "derived", "dropped", "source", "target"}),
    "model": frozenset({"algorithms", "starts"}),
    "eval": frozenset({"task", "metric", "positive", "classes", "folds", "validation"}),
}
"""Fields of a blueprint, of whichever modality; all others are of `train`."""


def part(blueprint: Model, name: Part) -> Section:
    """A part of the blueprint, as JSON."""
    others = frozenset[str]().union(*PARTS.values())
    fields = PARTS[name] if name in PARTS else frozenset(type(blueprint).model_fields) - others
    text = blueprint.model_dump_json(include=set(fields), exclude_defaults=True, indent=1)
    return section(name, text, rank=NEEDED, language="json")


def contract(files: Iterable[TextFile]) -> str:
    """The contract among a project's files, as JSON; empty where there is none."""
    return next((file.text for file in files if file.path == "contract.json"), "")


def quoted(files: Iterable[TextFile]) -> tuple[str, ...]:
    """Files as items of a section."""
    return tuple(f"{file.path}:\n{file.text}" for file in files)


def syntax_errors(file: TextFile) -> list[Violation]:
    """What keeps a file from being Python, if it is meant to be."""
    try:
        ast.parse(file.text if file.path.endswith(".py") else "")
    except SyntaxError as error:
        message = f"{file.path} line {error.lineno}: {error.msg}."
        return [Violation(code="syntax", message=message, subject=file.path)]
    return []
