"""A package for pictures: its own tests, and the same answers by file and by request."""

import importlib
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")
pytest.importorskip("python_multipart", reason="python-multipart is not installed")

import numpy as np
import pandas as pd
from PIL import Image
from small_packages import fitted, selection_of

from palmette.automl import composition, kinds
from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Folds
from palmette.automl.endpoint.checking import answers_of, of_tests, rows_of_requests
from palmette.automl.endpoint.delivered import answer_file
from palmette.automl.endpoint.service import Service
from palmette.automl.measure.metrics import Predictions
from palmette.automl.project import vendoring
from palmette.automl.project.built import BuiltPackage
from palmette.automl.project.reading import file_suffixes_of, in_file_form, input_name
from palmette.automl.samples.load import load
from palmette.engine import registry
from palmette.sandbox import Sandbox

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"

COLOURS = {"red": (200, 30, 30), "blue": (30, 30, 200)}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder, random, made = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0), []
    for place in range(24):
        colour = ("red", "blue")[place % 2]
        path = folder / f"{place}.png"
        pixels = np.array(COLOURS[colour]) + random.integers(-25, 25, (20, 30, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(path)
        made.append({"photo": str(path), "colour": colour})
    return pd.DataFrame(made)


@pytest.fixture(scope="module")
def package(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    blueprint = Blueprint(
        package="colours", title="Colours", problem="classification", target="colour", metric="accuracy",
        classes=("blue", "red"), rows=len(rows), columns=(ColumnUse(name="photo", kind="image"),),
        folds=Folds(count=3), candidates=(Candidate(name="svc", learner="svc"),), seconds=20,
    )  # fmt: skip
    return fitted(tmp_path_factory.mktemp("colours"), Sandbox(), blueprint, selection_of(blueprint, "svc"), rows)


@pytest.fixture(scope="module")
def service(package: BuiltPackage) -> Iterator[Service]:
    with Service(Sandbox(), package.folder) as running:
        assert running.is_healthy(120), running.output()
        yield running


def test_it_answers_the_same_by_file_and_by_request(
    package: BuiltPackage, service: Service, rows: pd.DataFrame, tmp_path: Path
) -> None:
    made = package.predict(rows, tmp_path / "scratch")
    assert isinstance(made, Predictions) and list(made.values) == list(rows["colour"])
    asked = rows_of_requests(in_file_form(rows.drop(columns="colour"), package.blueprint))
    replies = service.call("POST", "/predict/batch", {"rows": asked}).data()
    for reply, answer in zip(replies, answers_of(made), strict=True):
        assert reply["prediction"] == answer["prediction"]


def test_its_own_tests_pass(package: BuiltPackage) -> None:
    measured, wrong = of_tests(Sandbox(), package.folder)
    assert measured.status in ("passed", "skipped"), wrong


def test_files_of_a_folder_are_predicted(package: BuiltPackage, rows: pd.DataFrame) -> None:
    photo = Path(rows["photo"][0])
    assert answer_file(package.folder, photo).splitlines()[1].startswith(f"{photo},red")
    found = pd.read_csv(io.StringIO(answer_file(package.folder, photo.parent)), index_col="file")
    assert dict(found["prediction"]) == dict(zip(rows["photo"], rows["colour"], strict=True))


def test_its_programs_read_folders(package: BuiltPackage, rows: pd.DataFrame, tmp_path: Path) -> None:
    for photo, colour in zip(rows["photo"], rows["colour"], strict=True):
        (tmp_path / "new" / colour).mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, tmp_path / "new" / colour)

    def run(*arguments: str | Path) -> str:
        done = subprocess.run([sys.executable, *arguments], cwd=package.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("predict.py", "--input", tmp_path / "new", "--output", tmp_path / "made.csv")
    made = pd.read_csv(tmp_path / "made.csv")
    assert list(made["file"].map(lambda path: Path(path).parent.name)) == list(made["prediction"]) and len(made) == 24
    assert "fitted on 24 rows" in run("train.py", "--data", tmp_path / "new", "--out", tmp_path / "model")


def test_a_folder_is_read_where_files_are_the_only_column(package: BuiltPackage) -> None:
    photo, text = package.blueprint.columns[0], ColumnUse(name="text", kind="text")

    def read(*columns: ColumnUse, target: str = "label") -> tuple[bool, str]:
        blueprint = package.blueprint.model_copy(update={"columns": columns, "target": target})
        return bool(file_suffixes_of(blueprint)), input_name(blueprint)

    assert read(photo) == read(text) == (True, "FOLDER") and read(photo, target="colour") == (True, "new.csv")
    others = (photo, text), (ColumnUse(name="note", kind="text"),), (ColumnUse(name="text", kind="category"),)
    assert {read(*columns) for columns in others} == {(False, "new.csv")}


@pytest.fixture
def molecules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the how-to pages, word for word, as if it were installed."""
    pages = ((HOW_TO / name).read_text("utf-8") for name in ("add-a-kind-of-data.md", "add-an-encoder.md"))
    kind, reader, extent, encoder = re.findall(r"```python\n(.*?)```", "".join(pages), re.S)
    (tmp_path / "our_package").mkdir()
    for name, text in (("__init__", ""), ("kinds", kind), ("molecules", reader + extent), ("encoders", encoder)):
        (tmp_path / "our_package" / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    kind_class = importlib.import_module("our_package.kinds").Molecules
    monkeypatch.setitem(registry._registered, ("kind", "molecule"), kind_class)
    encoder_class = importlib.import_module("our_package.encoders").Extent
    monkeypatch.setitem(registry._registered, ("encoder", "molecule_extent"), encoder_class)
    cached = (kinds.file_kinds, composition.encoders, composition.encoder_named, vendoring.copied)
    for one in cached:
        one.cache_clear()
    yield
    monkeypatch.undo()
    for one in cached:
        one.cache_clear()


def test_a_kind_of_another_package_is_read_and_delivered(molecules: None, tmp_path: Path) -> None:
    for place in range(24):
        label, atoms = ("small", "large")[place % 2], (2, 9)[place % 2]
        (tmp_path / "data" / label).mkdir(parents=True, exist_ok=True)
        lines = [f"{atoms}", "made", *(f"C {place / 9} {atom} 0" for atom in range(atoms))]
        (tmp_path / "data" / label / f"{place}.xyz").write_text("\n".join(lines), "utf-8")
    (tmp_path / "data" / "large" / "damaged.xyz").write_text("two", "utf-8")
    loaded = load([tmp_path / "data"])
    assert len(loaded.table) == 24 and "damaged.xyz" in loaded.samples.repairs[0].text
    blueprint = Blueprint(
        package="molecules", title="Molecules", problem="classification", target="label", metric="accuracy",
        classes=("large", "small"), rows=24, columns=(ColumnUse(name="molecule", kind="molecule"),),
        folds=Folds(count=3), candidates=(Candidate(name="linear", learner="linear"),), seconds=20,
    )  # fmt: skip
    package = fitted(tmp_path, Sandbox(), blueprint, selection_of(blueprint, "linear"), loaded.table)
    assert not [path for path in package.folder.rglob("*.py") if "our_package" in path.read_text("utf-8")]
    made = package.predict(loaded.table, tmp_path / "answers")
    assert isinstance(made, Predictions) and list(made.values) == list(loaded.table["label"])
