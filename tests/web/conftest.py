"""A folder of runs, and the page's server over it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")

from fastapi.testclient import TestClient

from palmette.engine import run_environment
from palmette.web.app import create_app

ROOT = Path(__file__).parents[2]
OWN = ROOT / "examples/own_actor"
ADDRESS = "http://127.0.0.1:8800"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runs, with one: it sends an actor back once."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("PALMETTE_RUNS", str(folder))
    shutil.copytree(OWN, tmp_path / "own")
    text = (OWN / "notes.txt").read_text("utf-8")
    arguments = {"topology": str(tmp_path / "own/digest.yaml"), "given": {"text": text}}
    run_environment("topology", arguments, folder / "digest")
    return folder


@pytest.fixture
def client(runs: Path) -> Iterator[TestClient]:
    """The page itself: its origin, and its token with every change."""
    with TestClient(create_app([runs.parent]), base_url=ADDRESS) as client:
        client.headers.update({"X-Palmette-Token": client.get("/api/session").json()["token"], "Origin": ADDRESS})
        yield client
