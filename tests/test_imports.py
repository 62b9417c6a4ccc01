"""Imports run one way and in no circle, stay quick, and keep out of the sandboxed driver."""

from __future__ import annotations

import ast
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
BENCHMARKS = ROOT / "benchmarks"
DRIVER = SOURCES / "palmette" / "features" / "harness" / "palmette_driver"
QUICK_SECONDS = 0.5
SLACK = 1.6
"""The limit holds on an idle machine; tests run beside other things."""


def processor_seconds(*arguments: str) -> float:
    """Processor time of one run of this interpreter: unlike wall time, little disturbed by other programs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    "arguments",
    [("-c", "import palmette"), ("-c", "from palmette.cli import main; main(['--help'])")],
    ids=["import palmette", "palmette --help"],
)
def test_start_is_quick(arguments: tuple[str, ...]) -> None:
    median = statistics.median(processor_seconds(*arguments) for _ in range(5))
    assert median < QUICK_SECONDS * SLACK


@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "pandas", "duckdb", "github", "gitlab"])
def test_heavy_modules_are_imported_when_needed(module: str) -> None:
    code = f"import sys, palmette, palmette.cli, palmette.sandbox; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_layers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The contracts in pyproject.toml: layers, the oracle's independence, the formats' innocence."""
    command = pytest.importorskip("importlinter.cli", reason="import-linter is not installed")
    monkeypatch.chdir(ROOT)
    status = command.lint_imports(no_cache=True)
    assert status == 0, capsys.readouterr().out


def imported_when_loaded(tree: ast.AST) -> Iterator[str]:
    """What a file's text names while it is being imported: not inside functions, not for the type checker only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (name for child in node.orelse for name in imported_when_loaded(child))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported_when_loaded(node)


def import_graph(root: Path) -> dict[str, set[str]]:
    """By module: those that must be loaded before it, the packages around them among them.

    The packages around the module itself count only where it names them: they are being loaded already.
    """
    places = {file: file.relative_to(root).with_suffix("").parts for file in root.rglob("*.py")}
    names = {file: ".".join(parts[:-1] if parts[-1] == "__init__" else parts) for file, parts in places.items()}
    modules, graph = set(names.values()), {}
    for file, name in names.items():
        loaded = imported_when_loaded(ast.parse(file.read_text(encoding="utf-8")))
        named = {item if item in modules else item.rpartition(".")[0] for item in loaded} & modules
        around = {module.rsplit(".", i)[0] for module in named for i in range(1, module.count(".") + 1)}
        graph[name] = named | {package for package in around if not f"{name}.".startswith(f"{package}.")}
    return graph


def circle(graph: dict[str, set[str]]) -> str:
    """The modules of one circle of imports, in order; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def test_every_module_can_be_the_first_that_is_imported() -> None:
    """Where no imports go in a circle, no module can meet another that is half loaded."""
    graph = import_graph(SOURCES) | import_graph(BENCHMARKS)
    assert "palmette.engine.actor" in graph["palmette.features.checks.base"]
    assert not circle(graph)


def test_a_circle_through_a_package_is_found(tmp_path: Path) -> None:
    """`b.low` itself imports nothing, but the package around it does."""
    files = {
        "a/__init__.py": "from a.one import x\n",
        "a/one.py": "from b.low import y\n",
        "b/__init__.py": "from b.high import z\n",
        "b/high.py": "if True:\n    from a import x\n",
        "b/low.py": "def later():\n    import a\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    graph = import_graph(tmp_path)
    assert set(circle(graph).split(" <- ")) == {"a", "a.one", "b", "b.high"}
    del graph["b.high"]
    assert not circle(graph)


@pytest.mark.parametrize("file", sorted(DRIVER.glob("*.py")), ids=lambda file: file.stem)
def test_the_driver_imports_nothing_of_palmette(file: Path) -> None:
    """It runs beside untrusted code; what it could import, that code could read."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("palmette") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.level == 0 and not (node.module or "").startswith("palmette"))
