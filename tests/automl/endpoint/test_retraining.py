"""A model that is fitted again replaces the old one only where it is better by more than noise, on unseen rows."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

import pandas as pd
from small_delivery import SmallDelivery, dishes, small_delivery

from palmette.automl.candidates import LEFT_OUT, ColumnUse
from palmette.automl.endpoint import retraining
from palmette.automl.endpoint.folder import differing, read_manifest
from palmette.automl.endpoint.retraining import Retraining, retrain
from palmette.errors import UserError


@pytest.fixture(scope="module")
def small() -> SmallDelivery:
    return small_delivery()


@pytest.fixture
def folder(small: SmallDelivery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The delivery of a run, whose model leaves out a column of pictures."""
    shutil.copytree(small.delivery.folder, tmp_path / "delivered")
    monkeypatch.setattr(retraining, "delivered", lambda _: tmp_path / "delivered")
    blueprint, comparison = small.shop.known["blueprint"], small.shop.known["comparison"]
    columns = (*blueprint.columns, ColumnUse(name="photo", kind="image"))
    (member,) = comparison.selection.members
    candidate = member.candidate.model_copy(update={"encoders": {"image": LEFT_OUT}})
    member = member.model_copy(update={"candidate": candidate})
    selection = comparison.selection.model_copy(update={"members": (member,)})
    known = {
        **small.shop.known,
        "blueprint": blueprint.model_copy(update={"columns": columns}),
        "comparison": comparison.model_copy(update={"selection": selection}),
    }
    run = SimpleNamespace(artefact=lambda name, _: known[name])
    monkeypatch.setattr(retraining, "opened", lambda _: run)
    return tmp_path / "delivered"


def new_dishes(path: Path, swapped: bool) -> Path:
    """Other rows, of a world in which grades may mean the opposite."""
    rows = dishes().sample(frac=1.0, random_state=1)
    rows["price (EUR)"] = (rows["price (EUR)"] + 0.003).round(3)
    if swapped:
        rows["grade"] = rows["grade"].map({"good": "poor", "poor": "good"})
    rows.to_csv(path, index=False)
    return path


def test_a_better_model_replaces_the_old_one(folder: Path, tmp_path: Path) -> None:
    before = (folder / "model/model.pkl.gz").read_bytes()
    found = retrain("run", new_dishes(tmp_path / "new.csv", swapped=True))
    assert found.replaced and found.new > 0.7 > 0.4 > found.old and found.low <= found.new <= found.high
    assert (found.rows, found.held_out, found.repeated) == (160, 40, 0)
    assert (folder / "model/model.pkl.gz").read_bytes() != before
    facts = json.loads((folder / "model/metadata.json").read_text(encoding="utf-8"))
    assert (facts["score"], facts["score_before"], facts["rows"]) == (found.new, found.old, 160)
    manifest = read_manifest(folder)
    assert manifest and not differing(folder, manifest)


def test_an_equal_model_does_not_and_rows_that_the_old_one_has_learnt_are_not_held_out(
    folder: Path, tmp_path: Path
) -> None:
    before = (folder / "model/model.pkl.gz").read_bytes()
    new_dishes(tmp_path / "new.csv", swapped=False)
    rows = pd.concat([dishes(), pd.read_csv(tmp_path / "new.csv")])
    rows.to_csv(tmp_path / "new.csv", index=False)
    found: Retraining = retrain("run", tmp_path / "new.csv")
    assert not found.replaced and (folder / "model/model.pkl.gz").read_bytes() == before
    assert 100 < found.repeated < 160 and found.held_out == round((320 - found.repeated) / 4)
    dishes().to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(UserError) as refused:
        retrain("run", tmp_path / "new.csv")
    assert refused.value.code == "too-few-rows"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda rows: rows.drop(columns=["place", "grade"]), "columns-missing"),
        (lambda rows: rows.assign(grade=rows["grade"].where(rows.index > 9, "odd")), "target-differs"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder: Path, tmp_path: Path, change, code: str) -> None:
    change(dishes()).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(UserError) as refused:
        retrain("run", tmp_path / "new.csv")
    assert refused.value.code == code
