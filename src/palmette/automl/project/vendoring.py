"""Copies the classes and functions that a model needs, with their dependencies, into one module of its package."""

import ast
import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from palmette.automl.calls import Value, paths_of
from palmette.automl.project.rendering import WIDTH
from palmette.engine.registry import packages
from palmette.errors import DeveloperError

DOCSTRING = '"""Functions and classes that the libraries in requirements.txt lack."""'
FUTURE = "from __future__ import annotations"
PLACEHOLDER = "raise NotImplementedError"
EXEMPTION = re.compile(r"  # (?:noqa|type: ignore)")
ONLY_FOR_TESTS = frozenset({"__sklearn_tags__"})  # methods that only estimator checks call


@cache
def copied() -> tuple[str, ...]:
    """Prefixes of the modules that are copied: those of the packages with encoders, learners and kinds."""
    return tuple(f"{one}." for one in packages("kind", "encoder", "learner"))


class ModuleSource:
    """A module that classes are copied from; they must be imported by `from module import name`."""

    def __init__(self, text: str) -> None:
        self.lines, self.tree = text.splitlines(), ast.parse(text)
        self.left_out = {line for node in self.tree.body for one in _left_out(node) for line in _lines(one)}
        self.defined = {name: node for node in self.tree.body for name in _defines(node)}
        self.own: dict[str, str] = {}  # the modules of imported names that are copied as well
        self.imports: dict[str, str] = {}  # the import lines of other names
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(copied()):
                self.own |= {one.name: str(node.module) for one in node.names}
            elif isinstance(node, ast.Import | ast.ImportFrom) and ast.unparse(node) != FUTURE:
                source = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                self.imports |= {
                    (one.asname or one.name).partition(".")[0]: f"{source}import {ast.unparse(one)}"
                    for one in node.names
                }

    def needs(self, name: str) -> Iterator[str]:
        """The names in the definition of a name."""
        node = self.defined[name]
        left_out = {id(part) for one in _left_out(node) for part in ast.walk(one)}
        return (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in left_out)

    def text(self, node: ast.stmt) -> str:
        """The statement with preceding comments and, for a constant, its docstring."""
        place = self.tree.body.index(node)
        start, end = self.tree.body[place - 1].end_lineno or 0 if place else 0, node.end_lineno or 0
        following = self.tree.body[place + 1 : place + 2]
        if not _is_definition(node) and following and _is_text(following[0]):
            end = following[0].end_lineno or 0
        left_out, closed = self.left_out.copy(), set[int]()
        for text in _docstrings(node):  # only the first paragraph is copied, where it is one line
            is_short = len(self.lines[text.lineno - 1]) + len('"' * 3) <= WIDTH
            if is_short and text.end_lineno != text.lineno and not self.lines[text.lineno].strip():
                closed.add(text.lineno)
                left_out |= {*_lines(text)} - closed
        numbered = [(at, line) for at, line in enumerate(self.lines[start:end], start + 1) if at not in left_out]
        return "\n".join(EXEMPTION.split(line)[0] + '"""' * (at in closed) for at, line in numbered).strip("\n")


def vendored(values: Iterable[Value]) -> str:
    """The source of a module with the palmette classes in these calls; empty if there are none.

    Raises:
        DeveloperError: Two classes have the same name, or there is no such module.
    """
    wanted, order = dict[str, set[str]](), TopologicalSorter[str]()
    imports, constants, blocks, names, later = set[str](), list[str](), list[str](), list[str](), set[str]()
    todo = [path.rpartition(".")[::2] for value in values for path in paths_of(value) if path.startswith(copied())]
    while todo:
        module, name = todo.pop(0)
        if name in wanted.setdefault(module, set()):
            continue
        wanted[module].add(name)
        source = _source(module)
        imports |= {source.imports[one] for one in source.needs(name) if one in source.imports}
        modules = {one: module for one in source.defined} | source.own
        needed = [(modules[one], one) for one in source.needs(name) if one in modules]
        order.add(module, *({one for one, _ in needed} - {module}))
        todo += needed
    for module in order.static_order():
        source = _source(module)
        kept = [node for node in source.tree.body if not wanted[module].isdisjoint(_defines(node))]
        later |= {name for node in kept if _is_definition(node) for name in _defines(node)}
        for node in kept:
            is_first = not _is_definition(node) and all(later.isdisjoint(source.needs(one)) for one in _defines(node))
            (constants if is_first else blocks).append(source.text(node))
            later |= set() if is_first else {*_defines(node)}
            names += _defines(node)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DeveloperError(f"Two delivered classes have the name {twice[0]!r}.", code="not-deliverable")
    future = [FUTURE] if any(f"-> {name}:" in block for name in names for block in blocks) else []
    parts = [DOCSTRING, *future, "\n".join(sorted(imports)), "\n".join(constants), *blocks]
    return "\n\n".join(parts) + "\n" if names else ""


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef)


def _docstrings(node: ast.stmt) -> Iterator[ast.stmt]:
    defined = (one for one in ast.walk(node) if isinstance(one, ast.ClassDef | ast.FunctionDef))
    return (one.body[0] for one in defined if _is_text(one.body[0]))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _left_out(node: ast.stmt) -> list[ast.stmt]:
    """Methods that no fit or prediction calls: for estimator checks, and placeholders that subclasses replace."""
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
    return [one for one in methods if one.name in ONLY_FOR_TESTS or ast.unparse(one.body[-1]) == PLACEHOLDER]


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def _defines(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        case _:
            return []


@cache
def _source(module: str) -> ModuleSource:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise DeveloperError(f"There is no module {module!r} to deliver.", code="not-deliverable")
    return ModuleSource(Path(spec.origin).read_text(encoding="utf-8"))
