"""The example notebooks run from top to bottom."""

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

import nbclient
import nbformat

import palmette

LONG = frozenset({"model", "verification"})
"""They train a model, or start Spark."""
FOLDER = Path(__file__).parents[2] / "examples/notebooks"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["features", "model", "own_actor", "verification"])
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in LONG and not os.environ.get("PALMETTE_NOTEBOOKS"):
        pytest.skip("it takes a minute: set PALMETTE_NOTEBOOKS=1")
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=240, resources={"metadata": {"path": str(FOLDER)}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown) == (name in LONG)


def test_a_function_without_source_is_refused() -> None:
    made: dict[str, Any] = {}
    exec("def build(orders, customers, as_of): ...", made)
    with pytest.raises(palmette.UserError, match=r"source of 'build' is not known.*\[no-source\]"):
        palmette.check_features(made["build"], FOLDER / "activity.yaml", FOLDER / "registry.yaml")
