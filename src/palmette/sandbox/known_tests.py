"""Finds a project's tests in its source: those that must be reported, whatever its settings and hooks select.

Reads before anything runs. Only what every runner treats as a test counts: functions and methods with the prefix
`test`, in test files, not defined under a condition.
"""

import ast
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from palmette.sandbox.reading import read_made

_FILE_BYTES = 1 << 20
_MOST_FILES = 5000
_LEFT_OUT = frozenset({"build", "dist", "node_modules", "site-packages", "venv", "__pycache__"})
"""Folders without tests, in addition to hidden ones."""


def known_tests(folder: Path) -> dict[str, str]:
    """`file:line` by test name (`tests.test_it.TestClass.test_one`); empty if another definition may replace it."""
    found: dict[str, str] = {}
    for path in _files(folder):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(read_made(folder, path, _FILE_BYTES))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # reported by its runner
            continue
        module = path.removesuffix(".py").replace("/", ".")
        found |= {f"{module}.{name}": place for name, place in _in(tree.body, Path(path).name)}
    return found


def unreported(known: Iterable[str], reported: Iterable[str]) -> list[str]:
    """Known tests without a report; reported names may be relative to a folder above or below."""
    ends = {end for name in reported for end in _ends(name.partition("[")[0])}
    return [name for name in known if not ends & {*_ends(name)}]


def _ends(name: str) -> list[str]:
    """The suffixes of a dotted name that keep at least the file and the test."""
    parts = name.split(".")
    first = next((number for number, part in enumerate(parts) if _is_test_file(f"{part}.py")), 0)
    return [".".join(parts[number:]) for number in range(first + 1)]


def _files(folder: Path) -> Iterator[str]:
    left = _MOST_FILES
    for root, folders, names in os.walk(folder):
        is_environment = "pyvenv.cfg" in names
        folders[:] = [] if is_environment else [one for one in folders if one not in _LEFT_OUT and one[0] != "."]
        for name in names if not is_environment else ():
            if _is_test_file(name) and left:
                left -= 1
                yield os.path.relpath(Path(root) / name, folder)


def _is_test_file(name: str) -> bool:
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def _in(body: list[ast.stmt], file: str) -> Iterator[tuple[str, str]]:
    """Tests of a module or class; the last definition of a name counts."""
    plain = [one for one in body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    names = [node for one in plain for node in ast.walk(one) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store | ast.Del)}
    if "__test__" in bound:
        return
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test"):
            decorators = [ast.unparse(decorator) for decorator in one.decorator_list]
            if not any("fixture" in decorator for decorator in decorators):
                line = min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
                is_own = isinstance(one, ast.FunctionDef) and all(
                    word.startswith("pytest.mark.") for word in decorators
                )
                yield one.name, f"{file}:{line}" if is_own and one.name not in bound else ""
        elif isinstance(one, ast.ClassDef) and _has_tests(one):
            yield from ((f"{one.name}.{name}", place) for name, place in _in(one.body, file))


def _has_tests(one: ast.ClassDef) -> bool:
    return one.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in one.bases)
