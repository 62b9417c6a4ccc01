"""The delivery: what is handed over passed its tests, and is exactly what was measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_delivery import SmallDelivery, small_delivery

from palmette.automl.actors.deployer import actor as deploying
from palmette.automl.artefacts import Delivery
from palmette.automl.endpoint.folder import MANIFEST
from palmette.automl.project.built import FITTED
from palmette.engine import TERMINATE
from palmette.errors import UserError


@pytest.fixture(scope="module")
def small() -> SmallDelivery:
    return small_delivery()


@pytest.fixture
def untested(small: SmallDelivery, monkeypatch: pytest.MonkeyPatch) -> SmallDelivery:
    """The tests of the same package passed before."""
    tests = small.delivery.measurements[0]
    monkeypatch.setattr(deploying, "of_tests", lambda *_: (tests, None))
    return small


def test_a_delivery_is_the_package_that_was_measured(small: SmallDelivery) -> None:
    made, comparison = small.delivery, small.input.comparison
    assert [(one.name, one.status) for one in made.measurements] == [("own tests", "passed")]
    assert made.package == small.input.blueprint.package
    models = {path for path in made.files if path.startswith("model/")}
    assert models == {f"model/{name}" for name in FITTED}
    assert {file.path for file in comparison.files} == set(made.files) - models
    for path in models:
        fitted = small.store.folder(comparison.package) / path
        assert (Path(made.folder) / path).read_bytes() == fitted.read_bytes()
    assert not [one for one in Path(made.folder).parent.iterdir() if one.name.startswith(".delivered")]
    verdict = small.deployer().check(small.input, made, small.context("check"))
    assert verdict.ok and verdict.measurements == made.measurements


def test_a_delivery_stands_while_it_is_where_it_was_put(small: SmallDelivery, tmp_path: Path) -> None:
    deployer, made = small.deployer(), small.delivery
    assert deployer.stands(small.input, made)
    assert not deployer.stands(small.input, made.model_copy(update={"folder": str(tmp_path)}))
    deployer.delivered = tmp_path / "copy" / "delivered"
    assert not deployer.stands(small.input, made), "a copy of a run delivers to a folder of its own"


def test_the_request_names_the_folder(untested: SmallDelivery, tmp_path: Path) -> None:
    task = untested.input.task.model_copy(update={"out": str(tmp_path / "mine")})
    made = untested.deployer().run(untested.input.model_copy(update={"task": task}), untested.context("deployer"))
    assert made.output and made.output.folder == str(tmp_path / "mine") and (tmp_path / "mine" / MANIFEST).is_file()
    (tmp_path / "mine" / "train.py").write_text("mine")
    with pytest.raises(UserError) as refused:
        untested.deployer().run(untested.input.model_copy(update={"task": task}), untested.context("deployer"))
    assert refused.value.code == "folder-changed"


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "code": (lambda folder: (folder / "train.py").write_text("print(1)"), "delivery-differs"),
    "model": (lambda folder: (folder / "model/model.pkl.gz").write_bytes(b""), "delivery-differs"),
    "more": (lambda folder: (folder / "notes.txt").write_text("mine"), "delivery-differs"),
    "less": (lambda folder: (folder / "serve.py").unlink(), "delivery-differs"),
    "all": (lambda folder: (folder / MANIFEST).unlink(), "delivery-missing"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_that_was_changed_is_refused(untested: SmallDelivery, tmp_path: Path, change: str) -> None:
    deployer = untested.deployer()
    deployer.delivered = tmp_path / "delivered"
    made = deployer.run(untested.input, untested.context("deployer")).output
    assert made
    act, code = CHANGES[change]
    act(Path(made.folder))
    verdict = deployer.check(untested.input, made, untested.context("check"))
    assert {one.code for one in verdict.violations} == {code}


def test_tests_that_fail_or_are_missing_are_no_delivery(
    small: SmallDelivery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untested: Delivery = small.delivery.model_copy(update={"measurements": ()})
    verdict = small.deployer().check(small.input, untested, small.context("check"))
    assert [one.code for one in verdict.violations] == ["delivery-unmeasured"]
    failing = "def test_it() -> None:\n    assert 1 == 2\n"
    store = tmp_path / "store"
    monkeypatch.setattr(small.store, "root", store)
    folder = small.store.folder(small.input.comparison.package)
    for file in small.input.comparison.files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_text(file.text, encoding="utf-8")
    (folder / "tests/test_package.py").write_text(failing, encoding="utf-8")
    attempt = small.deployer().run(small.input, small.context("deployer"))
    assert attempt.output is None and [one.code for one in attempt.violations] == ["delivery-differs"]
    files = tuple(
        one.model_copy(update={"text": failing}) if one.path == "tests/test_package.py" else one
        for one in small.input.comparison.files
    )
    comparison = small.input.comparison.model_copy(update={"files": files})
    attempt = small.deployer().run(small.input.model_copy(update={"comparison": comparison}), small.context("deployer"))
    assert attempt.output is None and attempt.fix == TERMINATE
    assert [one.code for one in attempt.violations] == ["tests-failed"]
    assert "assert 1 == 2" in attempt.violations[0].evidence
