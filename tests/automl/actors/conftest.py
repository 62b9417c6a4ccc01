"""Small tables to plan on, with the same learners on every machine; what they need is imported only for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from small_plans import Given


@pytest.fixture
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installed is what the tests expect, and nothing is looked up outside."""
    from small_plans import HERE

    from palmette.automl import composition
    from palmette.automl.planning import drafting

    for kind in map(type, composition.learners()):
        monkeypatch.setattr(kind, "unavailable", lambda one: "" if one.name in HERE else "It is not installed.")
    monkeypatch.delenv("PALMETTE_KNOWLEDGE", raising=False)
    drafting.drafted.cache_clear()
    yield
    drafting.drafted.cache_clear()


@pytest.fixture(scope="session")
def deals(tmp_path_factory: pytest.TempPathFactory) -> Given:
    from small_plans import deals_in

    return deals_in(tmp_path_factory.mktemp("deals"))


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Given:
    from small_plans import groups_in

    return groups_in(tmp_path_factory.mktemp("groups"))
