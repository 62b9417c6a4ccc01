"""Imports run one way, stay quick, and keep out of the sandboxed driver."""

from __future__ import annotations

import ast
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DRIVER = ROOT / "src" / "palmette" / "features" / "harness" / "palmette_driver"
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


@pytest.mark.parametrize("file", sorted(DRIVER.glob("*.py")), ids=lambda file: file.stem)
def test_the_driver_imports_nothing_of_palmette(file: Path) -> None:
    """It runs beside untrusted code; what it could import, that code could read."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("palmette") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.level == 0 and not (node.module or "").startswith("palmette"))
