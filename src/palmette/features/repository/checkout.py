"""A checkout as data: its texts and syntax trees, read without importing or running anything."""

import ast
import builtins
import configparser
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from palmette.features.artefacts import Parameter
from palmette.features.signature import parameters_of, source_of
from palmette.sandbox.import_policy import imported

_SKIPPED = {"node_modules", "build", "dist", "venv", "env", "site-packages", "__pycache__"}
_LARGEST = 400_000
"""Maximum file size in bytes; larger files are not written by hand."""
_MOST_FILES = 20_000
TEST_NAMES = ("test_*.py", "*_test.py")
"""Pytest's default patterns for names of test files."""


@dataclass(frozen=True)
class Function:
    node: ast.FunctionDef
    module: str
    """Import name of its module."""
    path: str
    owner: ast.ClassDef | None = None
    """Its class if it is a method."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def dotted(self) -> str:
        return f"{self.owner.name}.{self.name}" if self.owner is not None else self.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters_of(self.node)

    @property
    def returns(self) -> str:
        return source_of(self.node.returns)

    @property
    def doc(self) -> str:
        return ast.get_docstring(self.node) or ""


@dataclass(frozen=True)
class Module:
    """A Python file. Its tree is empty if it does not parse."""

    path: str
    """Relative to the checkout, with forward slashes."""
    name: str
    """Import name, e.g. `offers.features.user_activity`."""
    text: str
    is_test: bool = False
    """Whether it is a test file or a helper of tests."""

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module(body=[], type_ignores=[])

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Functions at module level, in file order."""
        return self._functions_of(self.tree.body)

    @cached_property
    def methods(self) -> tuple[Function, ...]:
        """Methods of all classes at module level."""
        return tuple(one for owner in self.classes for one in self._functions_of(owner.body, owner))

    def _functions_of(self, body: Iterable[ast.stmt], owner: ast.ClassDef | None = None) -> tuple[Function, ...]:
        return tuple(Function(node, self.name, self.path, owner) for node in body if isinstance(node, ast.FunctionDef))

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        return tuple(node for node in self.tree.body if isinstance(node, ast.ClassDef))

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local names and the dotted names that they refer to; relative imports become absolute."""
        return imported(self.tree, self._absolute)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        if not self.path.endswith("__init__.py"):
            package = package[:-1]
        package = package[: len(package) - node.level + 1]
        return ".".join([*package, *([node.module] if node.module else [])])


class Checkout:
    """The files of a repository that people wrote, by relative path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = tuple(sorted(islice(_walk(root), _MOST_FILES)))

    def text(self, path: str) -> str:
        """The text of a file; empty if it does not exist, is not UTF-8, or is a link out of the repository."""
        file = (self.root / path).resolve()
        try:
            return file.read_text(encoding="utf-8") if file.is_relative_to(self.root.resolve()) else ""
        except (OSError, UnicodeDecodeError):
            return ""

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        return tuple(
            Module(path, self.import_name(path), self.text(path), self.is_test(path))
            for path in self.paths
            if path.endswith(".py")
        )

    @cached_property
    def pyproject(self) -> Mapping[str, Any]:
        return self._toml("pyproject.toml")

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """The section `[tool.<name>]` of pyproject.toml; None if there is none."""
        found = _dig(self.pyproject, "tool", name)
        return found if isinstance(found, Mapping) else None

    def _toml(self, path: str) -> Mapping[str, Any]:
        try:
            return tomllib.loads(self.text(path))
        except tomllib.TOMLDecodeError:
            return {}

    def ruff(self) -> Mapping[str, Any] | None:
        """Ruff's settings, from any of its files; None if ruff is not configured."""
        for path in ("ruff.toml", ".ruff.toml"):
            if (self.root / path).is_file():
                return self._toml(path)
        return self.tool("ruff")

    def ini(self, path: str) -> configparser.ConfigParser:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read_string(self.text(path))
        except configparser.Error:
            return configparser.ConfigParser(interpolation=None)
        return parser

    @cached_property
    def test_names(self) -> tuple[str, ...]:
        """Patterns for names of test files: pytest's `python_files`."""
        return tuple(self._pytest_option("python_files")) or TEST_NAMES

    def _pytest_option(self, name: str) -> list[str]:
        own = _dig(self.tool("pytest") or {}, "ini_options", name)
        found = own.split() if isinstance(own, str) else _strings(own)
        for path, section in (("setup.cfg", "tool:pytest"), ("pytest.ini", "pytest"), ("tox.ini", "pytest")):
            found += self.ini(path).get(section, name, fallback="").split()
        return found

    def is_test(self, path: str) -> bool:
        """Whether a Python file is a test file or a helper of tests."""
        *folders, name = PurePosixPath(path).parts
        return name == "conftest.py" or {"tests", "test"} & {*folders} != set() or is_called(name, self.test_names)

    @cached_property
    def python_roots(self) -> tuple[str, ...]:
        """Folders that imports start from, as relative paths; the repository itself is `.` and comes last."""
        roots: list[str] = []
        setuptools = self.tool("setuptools") or {}
        roots += _strings(_dig(setuptools, "packages", "find", "where"))
        roots += _strings(_dig(setuptools, "package-dir", ""))
        roots += self._pytest_option("pythonpath")
        roots += ["src"] if any(path.startswith("src/") for path in self.paths) else []
        clean = [str(PurePosixPath(root)) for root in roots if not root.startswith("/") and ".." not in root]
        present = [root for root in dict.fromkeys(clean) if root != "." and (self.root / root).is_dir()]
        return (*(root for root in present if f"{root}/__init__.py" not in self.paths), ".")

    def import_name(self, path: str) -> str:
        """The name under which the repository's own code imports a file."""
        file = PurePosixPath(path)
        home = max(filter(file.is_relative_to, self.python_roots), key=lambda root: len(PurePosixPath(root).parts))
        name = file.relative_to(home).with_suffix("").parts
        return ".".join(name[:-1] if name[-1] == "__init__" and len(name) > 1 else name)

    def resolves(self, dotted: str) -> bool:
        """Whether a dotted name is a module of the repository, or is defined by one."""
        module, _, attribute = dotted.rpartition(".")
        for candidate in self.modules:
            bound = (name for node in candidate.tree.body for name in bound_names(node))
            if candidate.name == module and attribute in (*candidate.imports, *bound):
                return True
        return any(f"{candidate.name}.".startswith(f"{dotted}.") for candidate in self.modules)

    @cached_property
    def packages(self) -> frozenset[str]:
        """Top-level names of the repository's modules."""
        return frozenset(module.name.split(".")[0] for module in self.modules)


def bound_names(node: ast.stmt) -> list[str]:
    """Names that a definition or an assignment binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def is_python(text: str) -> bool:
    """Whether a text has Python statements."""
    try:
        return bool(ast.parse(text).body)
    except SyntaxError:
        return False


def called_names(node: ast.AST) -> list[str]:
    """Dotted names of everything called inside the node, e.g. `spark.read.parquet`; unnamed parts are `?`."""
    return [dotted_name(child.func) for child in ast.walk(node) if isinstance(child, ast.Call)]


def dotted_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return dotted_name(node.func)
    return node.id if isinstance(node, ast.Name) else "?"


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(files):
            path = Path(folder) / name
            if not path.is_symlink() and path.stat().st_size <= _LARGEST:
                yield path.relative_to(root).as_posix()


def _dig(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_called(name: str, patterns: Iterable[str]) -> bool:
    """Whether a file's name matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _strings(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]


def undefined_names(text: str) -> set[str]:
    """Names that a module uses and nowhere defines, such as the constant of another view's table.

    >>> undefined_names("import json\\njson.dumps(VALUE)")
    {'VALUE'}
    """
    nodes = list(ast.walk(ast.parse(text)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | vars(builtins).keys() | {"__file__"}
    for node in nodes:
        match node:
            case ast.arg():
                bound.add(node.arg)
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler():
                bound.add(node.name or "")
            case ast.Import() | ast.ImportFrom():
                bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {node.id for node in names} - bound
