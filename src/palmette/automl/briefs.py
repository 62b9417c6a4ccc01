"""What writers of code are shown of a blueprint: iML's four parts of it, and the contract between them.

    prep    what becomes of the columns, and how files are read: for whoever prepares
    model   which algorithms, in which order: for whoever writes models
    train   which settings suit, what a fit may take, what is learnt of the target, how much is searched
    eval    by what candidates are compared, on which folds

The contract is a file of the project, `contract.json`: rows as read, features as made, predictions as given.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from palmette.documents import Model
from palmette.engine import TextFile, Violation
from palmette.llm import Section, section
from palmette.llm.tokens import estimate_tokens

Part = Literal["prep", "model", "train", "eval"]
PARTS: dict[str, frozenset[str]] = {
    "prep": frozenset({"columns", "derived", "dropped", "source", "target"}),
    "model": frozenset({"algorithms"}),
    "eval": frozenset({"task", "metric", "positive", "classes", "folds", "validation"}),
}
"""Fields of a blueprint, of whichever modality; all others are of `train`."""


VALUE = 160
"""Characters of a constant that are shown."""
LONGEST = 5000
"""Tokens of a draft above which its writer is not asked: an answer has to hold the whole file."""


def part(blueprint: Model, name: Part) -> Section:
    """A part of the blueprint: a line of JSON for each field, and for each column."""
    others = frozenset[str]().union(*PARTS.values())
    fields = PARTS[name] if name in PARTS else frozenset(type(blueprint).model_fields) - others
    return section(name, *_lines(blueprint.model_dump(mode="json", include=set(fields), exclude_defaults=True)))


def agreed(text: str) -> Section:
    """The contract: a line for each column and each feature, what all are about first."""
    found = json.loads(text) if text else {}
    return section("contract", *_lines(dict(sorted(found.items(), key=lambda item: item[0] in ("rows", "features")))))


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        many = value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]
        yield "\n".join(f"{name}: {json.dumps(one, ensure_ascii=False)}" for one in many)


def is_too_long(draft: str) -> bool:
    """Whether no answer could hold a file like this one."""
    return estimate_tokens(draft) > LONGEST


def outlined(file: TextFile) -> str:
    """What a module offers: its names with their parameters and what they say of themselves, without how."""
    lines = [f"{file.path}: {_first_line(ast.parse(file.text))}"]
    for node in ast.parse(file.text).body:
        match node:
            case ast.ClassDef():
                lines.append(f"class {node.name}: {_first_line(node)}")
                made = [one for one in node.body if isinstance(one, ast.FunctionDef) and is_public(one.name)]
                lines += [f"    def {one.name}({ast.unparse(one.args)}) {_returns(one)}" for one in made]
            case ast.FunctionDef(name=name) if is_public(name):
                lines.append(f"def {name}({ast.unparse(node.args)}) {_returns(node)}: {_first_line(node)}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_public(name):
                lines.append(f"{name} = {ast.unparse(value)[:VALUE]}")
    return "\n".join(lines)


def is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def _first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]


def _returns(node: ast.FunctionDef) -> str:
    return f"-> {ast.unparse(node.returns)}" if node.returns else ""


def contract(files: Iterable[TextFile]) -> str:
    """The contract among a project's files, as JSON; empty where there is none."""
    return next((file.text for file in files if file.path == "contract.json"), "")


def syntax_errors(file: TextFile) -> list[Violation]:
    """What keeps a file from being Python, if it is meant to be."""
    try:
        ast.parse(file.text if file.path.endswith(".py") else "")
    except SyntaxError as error:
        message = f"{file.path} line {error.lineno}: {error.msg}."
        return [Violation(code="syntax", message=message, subject=file.path)]
    return []
