"""A model as ONNX predicts as the model does, or is refused."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_packages import COLUMNS, REMARK, blueprint_of, fitted, guests, selection_of

from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint import onnx_export
from palmette.automl.endpoint.onnx_export import export_onnx
from palmette.automl.splitting.data_splits import DataSplits
from palmette.errors import MachineError, UserError
from palmette.sandbox import Sandbox


@pytest.mark.parametrize(
    ("problem", "learners", "inverse"),
    [
        ("regression", ("lightgbm",), "expm1"),
        ("classification", ("linear",), ""),  # with a text
        ("classification", ("tabm",), ""),
        ("classification", ("random_forest",), None),  # the converter knows no missing values
        ("regression", ("lightgbm", "linear"), None),
    ],
)
def test_a_converted_model_predicts_as_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str, learners: tuple[str, ...], inverse: str | None
) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    if learners == ("tabm",):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    blueprint = blueprint_of(problem, columns=(*COLUMNS, REMARK) if learners == ("linear",) else COLUMNS)
    package = fitted(tmp_path, Sandbox(), blueprint, selection_of(blueprint, *learners), guests(problem))
    rows = guests(problem, 100, seed=1)
    monkeypatch.setattr(onnx_export, "delivered", lambda _: package.folder)
    of_run(blueprint, monkeypatch)
    monkeypatch.setattr(DataSplits, "of", lambda *_: DataSplits(rows, rows, None))
    if inverse is None:
        with pytest.raises(UserError) as refused:
            export_onnx("run", tmp_path / "model.onnx")
        assert refused.value.code == "no-onnx" and not (tmp_path / "model.onnx").exists()
        return
    found = export_onnx("run", tmp_path / "model.onnx")
    assert (found.rows, found.differing, found.inverse) == (100, 0, inverse) and found.features >= 5
    assert (tmp_path / "model.onnx").stat().st_size > 400


def of_run(blueprint: Blueprint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run of a package, without its data."""
    run = SimpleNamespace(artefact=lambda *_: SimpleNamespace(split=None))
    monkeypatch.setattr(onnx_export, "opened", lambda _: run)
    monkeypatch.setattr(onnx_export, "delivered_blueprint", lambda _: blueprint)


def test_what_depends_on_other_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "delivered", lambda _: tmp_path)
    blueprint = blueprint_of("forecasting")
    of_run(blueprint, monkeypatch)
    with pytest.raises(UserError, match="depends on a history of rows"):
        export_onnx("run", tmp_path / "model.onnx")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint, rows = blueprint_of("regression", columns=COLUMNS), guests("regression", 20)
    monkeypatch.setattr(onnx_export, "PROGRAM", "import no_such_converter")
    monkeypatch.setattr(onnx_export, "delivered", lambda _: tmp_path)
    of_run(blueprint, monkeypatch)
    monkeypatch.setattr(DataSplits, "of", lambda *_: DataSplits(rows, rows, None))
    with pytest.raises(MachineError, match="no_such_converter"):
        export_onnx("run", tmp_path / "model.onnx")
