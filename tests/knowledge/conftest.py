"""The server that every source takes for its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_web import FakeWeb, serving

from palmette.engine.registry import names
from palmette.knowledge import web


@pytest.fixture
def fake_web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeWeb]:
    """With an empty cache and short patience."""
    with serving() as fake:
        for name in names("knowledge_source"):
            monkeypatch.setenv(f"PALMETTE_{name.upper()}_URL", fake.url)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv(web.SWITCH, "all")
        monkeypatch.setattr(web, "SECONDS", 2.0)
        monkeypatch.setattr(web, "FIRST_PAUSE", 0.01)
        yield fake
