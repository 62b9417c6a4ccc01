"""A package for pictures: its own tests, and the same answers by file and by request."""

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

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Folds
from palmette.automl.endpoint.checking import answers_of, of_tests, rows_of_requests
from palmette.automl.endpoint.delivered import answer_file
from palmette.automl.endpoint.service import Service
from palmette.automl.measure import Predictions
from palmette.automl.project import BuiltPackage, in_file_form
from palmette.sandbox import Sandbox

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
    text = answer_file(package.folder, Path(rows["photo"][0]))
    assert text.splitlines()[1].startswith("red")
    assert len(answer_file(package.folder, Path(rows["photo"][0]).parent).splitlines()) == len(rows) + 1
