"""Shared by the engine's tests."""

import pytest

from palmette.engine import journal
from palmette.engine.storage import os as storage_os


@pytest.fixture(autouse=True, scope="session")
def without_sync() -> None:
    """Nothing is synced to the disk: that only matters when the power fails, which no test does."""
    patch = pytest.MonkeyPatch()
    patch.setattr(journal, "SYNCED", frozenset())
    patch.setattr(storage_os, "fsync", lambda descriptor: None)
