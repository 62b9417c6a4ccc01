"""Small tables to plan on, with the same algorithms on every machine; what they need is imported only for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from small_plans import Given


@pytest.fixture
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed is what the tests expect, and nothing is looked up outside."""
    from small_plans import HERE

    from palmette.automl.modalities.tabular import modality

    monkeypatch.setattr(modality, "installed", lambda wanted: tuple(one for one in wanted if one in HERE))
    monkeypatch.delenv("PALMETTE_LITERATURE", raising=False)


@pytest.fixture(scope="session")
def deals(tmp_path_factory: pytest.TempPathFactory) -> Given:
    from small_plans import deals_in

    return deals_in(tmp_path_factory.mktemp("deals"))


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Given:
    from small_plans import groups_in

    return groups_in(tmp_path_factory.mktemp("groups"))
