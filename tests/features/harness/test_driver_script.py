"""The name under which a script is imported, and variants under any name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from palmette.features.harness.palmette_driver.script import Variant, module_name


@pytest.mark.parametrize(
    ("packages", "path", "name"),
    [
        (["src/shop", "src/shop/features"], ["src", "."], "shop.features.spend"),
        (["src/shop", "src/shop/features"], [".", "src"], "shop.features.spend"),
        (["src/shop", "src/shop/features"], ["src/shop/features", "src"], "shop.features.spend"),
        (["src/shop", "src/shop/features"], ["."], "src.shop.features.spend"),
        ([], [".", "src"], "shop.features.spend"),
        ([], ["src/shop/features"], "spend"),
        ([], ["elsewhere"], ""),
    ],
)
def test_a_script_has_the_name_by_which_the_team_imports_it(
    tmp_path: Path, packages: list[str], path: list[str], name: str
) -> None:
    file = tmp_path / "src/shop/features/spend.py"
    file.parent.mkdir(parents=True)
    for package in packages:
        (tmp_path / package / "__init__.py").touch()
    assert module_name(file, [str(tmp_path / entry) for entry in path]) == name


@pytest.fixture
def variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Variant]:
    file = tmp_path / "lib_of_test" / "spend_of_test.py"
    file.parent.mkdir()
    file.write_text("answer = 'file'", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(file.parent)
    variant = Variant(file.resolve())
    monkeypatch.setattr(sys, "meta_path", [variant, *sys.meta_path])
    yield variant
    for name in ("spend_of_test", "lib_of_test.spend_of_test", "lib_of_test"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["spend_of_test", "lib_of_test.spend_of_test"])
def test_a_variant_replaces_its_file_under_any_name(variant: Variant, name: str) -> None:
    variant.text = "answer = 'variant'"
    module = importlib.import_module(name)
    assert module.answer == "variant" and module.__file__ and module.__file__.endswith("spend_of_test.py")
