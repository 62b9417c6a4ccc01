"""Copies the classes and functions that a model needs, with their dependencies, into one module of its package."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from palmette.automl.calls import Value, paths_of
from palmette.automl.project.rendering import WIDTH
from palmette.errors import DeveloperError

OWN = "palmette."  # prefix of modules that are copied
DOCSTRING = '"""Functions and classes that the libraries in requirements.txt lack."""'
FUTURE = "from __future__ import annotations"
ONLY_FOR_TESTS = frozenset({"__sklearn_tags__"})  # methods that only estimator checks call


class ModuleSource(NamedTuple):
    """A module that classes are copied from."""

    tree: ast.Module
    lines: list[str]

    def kept(self, wanted: Iterable[str]) -> list[ast.stmt]:
        """The statements that define these names and their dependencies, in order."""
        defined: dict[str, ast.stmt] = {name: node for node in self.tree.body for name in _defines(node)}
        todo, seen = list(wanted), set[str]()
        while todo:
            name = todo.pop()
            if name in defined and name not in seen:
                seen.add(name)
                todo += _used([defined[name]])
        return [node for node in self.tree.body if seen & set(_defines(node))]

    def text(self, node: ast.stmt) -> str:
        """The statement with preceding comments and, for a constant, its docstring."""
        place = self.tree.body.index(node)
        start, end = self.tree.body[place - 1].end_lineno or 0 if place else 0, node.end_lineno or 0
        following = self.tree.body[place + 1 : place + 2]
        if not _is_definition(node) and following and _is_text(following[0]):
            end = following[0].end_lineno or 0
        left_out = {line for one in _only_for_tests(node) for line in range(one.lineno - 1, (one.end_lineno or 0) + 1)}
        closed = set[int]()  # lines that end a docstring of which only the first paragraph is copied
        for text in _docstrings(node):
            is_short = len(self.lines[text.lineno - 1]) + len('"' * 3) <= WIDTH
            if is_short and text.end_lineno != text.lineno and not self.lines[text.lineno].strip():
                closed.add(text.lineno)
                left_out |= {*range(text.lineno + 1, (text.end_lineno or 0) + 1)}
        numbered = [(at, line) for at, line in enumerate(self.lines[start:end], start + 1) if at not in left_out]
        return "\n".join(line.partition("  # noqa")[0] + '"""' * (at in closed) for at, line in numbered).strip("\n")

    def imports(self, kept: Iterable[ast.stmt]) -> list[ast.Import | ast.ImportFrom]:
        """The imports that statements use."""
        used = _used(kept)
        return [made for node in self.tree.body if (made := _import_of(node, used))]


def vendored(values: Iterable[Value]) -> str:
    """The source of a module with the palmette classes in these calls; empty if there are none.

    Raises:
        DeveloperError: Two classes have the same name, or a module does not import by `from module import name`.
    """
    wanted: dict[str, set[str]] = {}
    for path in dict.fromkeys(path for value in values for path in paths_of(value) if path.startswith(OWN)):
        module, _, name = path.rpartition(".")
        _want(module, name, wanted)
    if not wanted:
        return ""
    imports, constants, blocks, names, later = set[str](), list[str](), list[str](), list[str](), set[str]()
    for module in _in_order(wanted):
        source = _source(module)
        kept = source.kept(wanted[module])
        imports |= {ast.unparse(one) for one in source.imports(kept) if not _is_own(one)} - {FUTURE}
        later |= {name for node in kept if _is_definition(node) for name in _defines(node)}
        for node in kept:
            stands_first = not _is_definition(node) and not later & _used([node])
            (constants if stands_first else blocks).append(source.text(node))
            later |= set() if stands_first else set(_defines(node))
        names += [name for node in kept for name in _defines(node)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DeveloperError(f"Two delivered classes have the name {twice[0]!r}.", code="not-deliverable")
    future = [FUTURE] if any(f"-> {name}:" in block for name in names for block in blocks) else []
    return "\n\n".join([DOCSTRING, *future, "\n".join(sorted(imports)), "\n".join(constants), *blocks]) + "\n"


def _want(module: str, name: str, wanted: dict[str, set[str]]) -> None:
    """Adds a name, after the names that its module imports from others."""
    if name in wanted.get(module, ()):
        return
    for one in _source(module).imports(_source(module).kept([name])):
        if _is_own(one):
            if not isinstance(one, ast.ImportFrom) or not one.module or any(alias.asname for alias in one.names):
                message = f"{module} is delivered, so it must import by `from module import name`."
                raise DeveloperError(message, code="not-deliverable")
            for alias in one.names:
                _want(one.module, alias.name, wanted)
    wanted.setdefault(module, set()).add(name)


def _in_order(wanted: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yields modules after those that they import from."""
    needs = TopologicalSorter[str]()
    for module, names in wanted.items():
        imports = _source(module).imports(_source(module).kept(names))
        needs.add(module, *(one.module or "" for one in imports if isinstance(one, ast.ImportFrom) and _is_own(one)))
    yield from needs.static_order()


def _is_own(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
    return any(name.startswith(OWN) for name in names)


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef)


def _docstrings(node: ast.stmt) -> Iterator[ast.stmt]:
    defined = (one for one in ast.walk(node) if isinstance(one, ast.ClassDef | ast.FunctionDef))
    return (one.body[0] for one in defined if _is_text(one.body[0]))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _only_for_tests(node: ast.stmt) -> list[ast.FunctionDef]:
    if not isinstance(node, ast.ClassDef) or "TransformerMixin" not in map(ast.unparse, node.bases):
        return []
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in ONLY_FOR_TESTS]


def _defines(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _used(nodes: Iterable[ast.stmt]) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def _import_of(node: ast.stmt, used: set[str]) -> ast.Import | ast.ImportFrom | None:
    """The import reduced to used names; None if there are none, or for another statement."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    names = [one for one in node.names if (one.asname or one.name).partition(".")[0] in used]
    if not names:
        return None
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


@cache
def _source(module: str) -> ModuleSource:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise DeveloperError(f"There is no module {module!r} to deliver.", code="not-deliverable")
    text = Path(spec.origin).read_text(encoding="utf-8")
    return ModuleSource(ast.parse(text), text.splitlines())
