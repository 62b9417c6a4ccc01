"""A package for pictures: its own tests, its endpoint with base64 and uploads, and what they refuse."""

from __future__ import annotations

import base64
import http.client
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def test_a_path_is_no_file_for_the_endpoint(service: Service, rows: pd.DataFrame) -> None:
    for cell in (rows["photo"][0], "/etc/hostname", "data:;base64,bm90aGluZw==", 7, ["a"]):
        reply = service.call("POST", "/predict", {"photo": cell})
        assert reply.status == 422 and reply.data()["detail"][0]["loc"][-1] == "photo"


def test_uploads(service: Service, rows: pd.DataFrame) -> None:
    content = Path(rows["photo"][1]).read_bytes()
    assert uploaded(service, content, "image/png") == (200, "blue")
    assert uploaded(service, b"RIFF", "audio/wav")[0] == 415
    assert uploaded(service, b"no picture", "image/png")[0] == 422
    bare = base64.b64encode(content).decode()
    assert service.call("POST", "/predict", {"photo": bare}).data()["prediction"] == "blue"


def uploaded(service: Service, content: bytes, media: str) -> tuple[int, Any]:
    edge, body = "edge", io.BytesIO()
    head = f'--{edge}\r\nContent-Disposition: form-data; name="photo"; filename="a"\r\nContent-Type: {media}\r\n\r\n'
    body.write(head.encode() + content + f"\r\n--{edge}--\r\n".encode())
    connection: http.client.HTTPConnection = service._connection
    service._connection.close()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    connection._bounds.until, connection._bounds.left = time.monotonic() + 60, 1 << 20  # type: ignore[attr-defined]  # of a sandbox
    connection.request("POST", "/predict/file", body.getvalue(), headers)
    with connection.getresponse() as response:
        return response.status, json.loads(response.read()).get("prediction")


def test_the_page_has_what_it_asks_for(service: Service) -> None:
    reply = service.call("GET", "/")
    assert reply.status == 200 and reply.text.startswith("<!doctype html>") and "https:" not in reply.text
    described = service.call("GET", "/openapi.json").data()["paths"]
    parts = described["/predict/file"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    assert parts["photo"] == {"type": "string", "format": "binary", "contentMediaType": "image/"}
    row = described["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "photo" in row["properties"]


def test_files_of_a_folder_are_predicted(package: BuiltPackage, rows: pd.DataFrame) -> None:
    text = answer_file(package.folder, Path(rows["photo"][0]))
    assert text.splitlines()[1].startswith("red")
    assert len(answer_file(package.folder, Path(rows["photo"][0]).parent).splitlines()) == len(rows) + 1
