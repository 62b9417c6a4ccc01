"""Runs the tests that a change touches, nearest in the import graph first, until a time limit.

The change is the difference from the merge base with main, and the working tree. A test file is affected when it or a
helper of it was changed, when it names a changed file, or when a module that it imports reaches a changed module.
A plug-in is reached by its name and by its kind. Files that start Spark or train models run last.

    python scripts/quick.py [seconds]

Not covered: pyproject.toml, and what tests read without naming it. `make test` runs everything.
"""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import grimp

SOURCES = ("src", "benchmarks")
COSTLY = {
    "warm_spark", "WarmSpark", "harness", "local_spark", "spark", "small_delivery", "Shop", "fitted",
    "run_environment", "resume_run", "automl", "Service", "kills", "SparkSession",
}  # fmt: skip
"""Names in tests that start Spark or train models."""


class Parsed(NamedTuple):
    """What a test module mentions."""

    imports: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    defines: frozenset[str]


@cache
def parsed(file: Path) -> Parsed:
    imports, names, words, defines = set(), set(), set(), set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Import():
                imports |= {one.name for one in node.names}
            case ast.ImportFrom(module=str(module)):
                imports |= {module, *(f"{module}.{one.name}" for one in node.names)}
            case ast.FunctionDef():
                defines.add(node.name)
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.Constant(value=str(word)):
                words.add(word)
    return Parsed(frozenset(imports), frozenset(names), frozenset(words), frozenset(defines))


def with_helpers(test: Path, root: Path) -> set[Path]:
    """A test file, the modules of the tests that it imports, and each conftest that has a fixture of theirs."""
    helpers = {file.stem: file for file in root.rglob("*.py") if not file.name.startswith("test_")}
    found, due = set(), [test]
    while due:
        file = due.pop()
        found.add(file)
        mentioned = parsed(file)
        fixtures = mentioned.names | mentioned.words
        beside = [folder / "conftest.py" for folder in test.parents if folder.is_relative_to(root)]
        near = [one for one in beside if one.exists() and fixtures & parsed(one).defines]
        due += {*near, *(helpers[name] for name in mentioned.imports & {*helpers})} - found
    return found


def distances(graph: grimp.ImportGraph, changed: Collection[str]) -> dict[str, int]:
    """Every module that reaches a changed one, with the least number of imports between them."""
    found = dict.fromkeys(changed, 0)
    due = [*found]
    for module in due:
        new = graph.find_modules_that_directly_import(module) - found.keys()
        found |= dict.fromkeys(new, found[module] + 1)
        due += new
    return found


def modules_of(path: str, graph: grimp.ImportGraph) -> set[str]:
    """A changed module; for a data file or a deleted module, the modules of its folder."""
    source, *parts = Path(path).with_suffix("").parts
    if source not in SOURCES or not parts or parts[0] not in graph.modules:
        return set()
    name = ".".join(parts).removesuffix(".__init__")
    if path.endswith(".py") and name in graph.modules:
        return {name}
    while name not in graph.modules:
        name = name.rpartition(".")[0]
    return {name, *graph.find_children(name)}


def affected(
    root: Path, changed: Collection[str], graph: grimp.ImportGraph, plugins: Mapping[str, Collection[str]]
) -> list[Path]:
    """The test files under `root`/tests that the changed paths affect, in the order in which they should run.

    Data of tests belong to the tests in their folder and in the one above it.
    """
    reached = distances(graph, set().union(*(modules_of(path, graph) for path in changed)))
    other = {Path(path).name for path in changed if path.partition("/")[0] not in SOURCES} - {"__init__.py"}
    data = [(root / path).parents[:2] for path in changed if path.startswith("tests/") and not path.endswith(".py")]
    ranks = {}
    for test in sorted((root / "tests").rglob("test_*.py")):
        files = with_helpers(test, root / "tests")
        imports, names, words, _ = (frozenset().union(*part) for part in zip(*map(parsed, files), strict=True))
        near = {reached[one] for one in imports if one in reached}
        near |= {reached[one] + 2 for word in words & plugins.keys() for one in plugins[word] if one in reached}
        near |= {0 for file in files if str(file.relative_to(root)) in changed}
        near |= {0 for word in words if Path(word[:200]).name in other}
        near |= {0 for folders in data if test.parent in folders}
        if near:
            ranks[test] = (bool(names & COSTLY), min(near))
    return sorted(ranks, key=lambda test: ranks[test])


def plugins_of(root: Path) -> dict[str, set[str]]:
    """Modules by the names and the kinds of the plug-ins in them."""
    found: dict[str, set[str]] = {}
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for group, entries in project["entry-points"].items():
        for name, place in entries.items():
            for word in (name, group.rpartition(".")[2].removesuffix("s")):
                found.setdefault(word, set()).add(place.partition(":")[0])
    return found


def import_graph(root: Path) -> grimp.ImportGraph:
    """Imports of both packages, and of modules that a table names as `module:attribute`."""
    graph = grimp.build_graph(
        "palmette", "palmette_bench", cache_dir=str(root / ".import_linter_cache"), exclude_type_checking_imports=True
    )
    for file in (root / "src").rglob("*.py"):
        (module, *_) = modules_of(str(file.relative_to(root)), graph)
        for name in re.findall(r'"(palmette[\w.]+):\w+"', file.read_text("utf-8")):
            if name in graph.modules:
                graph.add_import(importer=module, imported=name)
    return graph


def changed_paths(root: Path) -> set[str]:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, encoding="utf-8").stdout

    base = git("merge-base", "main", "HEAD").strip() or "HEAD"
    return {*git("diff", "--name-only", base).split(), *git("ls-files", "--others", "--exclude-standard").split()}


class Limit:
    """A plug-in of pytest that notes which files have run to their end."""

    def __init__(self) -> None:
        self.due: Counter[str] = Counter()
        self.failed = False

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Iterable[str]) -> None:
        self.due = Counter(one.partition("::")[0] for one in ids)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed
        self.due[report.nodeid.partition("::")[0]] -= report.when == "teardown"

    def pytest_collectreport(self, report: Any) -> None:
        self.failed |= report.failed

    def left_out(self, tests: Iterable[str]) -> Iterator[str]:
        return (test for test in tests if self.due.get(test, 1) > 0)


def main(seconds: int = 80) -> int:
    signal.alarm(seconds)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    root = Path(__file__).parents[1]
    changed = changed_paths(root)
    tests = [str(test.relative_to(root)) for test in affected(root, changed, import_graph(root), plugins_of(root))]
    print(f"{len(changed)} changed files affect {len(tests)} test files.", flush=True)
    if not tests:
        return 0
    import pytest

    limit = Limit()
    options = ("-n", "logical", "--maxprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    status = pytest.main([*options, *tests], plugins=[limit])
    signal.alarm(0)
    if status != pytest.ExitCode.INTERRUPTED:
        return status
    print(f"\nLeft out after {seconds} s:", *limit.left_out(tests), sep="\n  ")
    return int(limit.failed)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
