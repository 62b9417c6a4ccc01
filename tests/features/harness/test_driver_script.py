"""The name under which a script is imported, variants under any name, and what is timed."""

import importlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palmette.features.harness.palmette_driver import session, suite
from palmette.features.harness.palmette_driver.script import ScriptVariant, module_name, run_main


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
def variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptVariant]:
    file = tmp_path / "lib_of_test" / "spend_of_test.py"
    file.parent.mkdir()
    file.write_text("answer = 'file'", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(file.parent)
    variant = ScriptVariant(file.resolve())
    monkeypatch.setattr(sys, "meta_path", [variant, *sys.meta_path])
    yield variant
    for name in ("spend_of_test", "lib_of_test.spend_of_test", "lib_of_test"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["spend_of_test", "lib_of_test.spend_of_test"])
def test_a_variant_replaces_its_file_under_any_name(variant: ScriptVariant, name: str) -> None:
    variant.text = "answer = 'variant'"
    module = importlib.import_module(name)
    assert module.answer == "variant" and module.__file__ and module.__file__.endswith("spend_of_test.py")


class Hung:
    """A session whose server answers nobody any more, and a clock that knows who waits for it."""

    spark = SimpleNamespace(conf=SimpleNamespace())
    waits = False

    def __init__(self) -> None:
        self.spark.conf._set_all = self.reset
        self.asked: list[bool] = []

    @contextmanager
    def timed(self, index: int) -> Iterator[None]:
        self.waits = True
        yield
        self.waits = False

    def write(self, index: int, answer: object) -> None:
        """Nothing is judged here."""

    def reset(self, **_: object) -> None:
        self.asked.append(self.waits)

    renew = reset


def test_whatever_is_asked_of_spark_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be at work for somebody who has ended, and answer nobody."""
    hung: Any = Hung()
    (tmp_path / "script.py").touch()
    items = [(0, {"text": "", "hints": [], "most": None, "argv": []})]
    job = {"root": str(tmp_path), "script": str(tmp_path / "script.py"), "items": items}
    job |= {"few_rows": True, "function": "", "tests": str(tmp_path / "script.py")}
    monkeypatch.setattr(suite, "_run", lambda *_: suite.OutcomeRecorder(len, None, {}))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "argv", [])
    suite.run_variants(job, hung, hung)
    run_main(job, hung, hung)
    assert hung.asked == [True, True]


def test_a_server_that_lets_go_of_nobody_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    warm: Any = session.WarmSession.__new__(session.WarmSession)
    warm.spark, warm._stop = None, lambda _: is_over.wait(30)
    monkeypatch.setattr(session, "_GOODBYE", 0.05)
    started = time.monotonic()
    warm.__exit__(None, None, None)
    is_over.set()
    assert time.monotonic() - started < 10


def test_tests_about_the_words_of_a_variant_run_early() -> None:
    text = 'CASES = {"late": [order(at=1)], "later": [visit(at=2)]}\n\ndef test_cities(): city()\n'
    assert {"late", "order"} <= suite._words(text, "test_cases[late]")
    assert "order" not in suite._words(text, "test_cases[later]")
    assert "city" in suite._words(text, "TestAll::test_cities")
    assert suite._words(text, "test_unknown[7]") == set()
