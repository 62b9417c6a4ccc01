"""Endpoints of every kind of data: rows as the file has them, uploads, and all that is wrong with a request at once."""

import base64
import importlib
import io
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")
pytest.importorskip("soundfile", reason="soundfile is not installed")
pytest.importorskip("python_multipart", reason="python-multipart is not installed")

import numpy as np
import pandas as pd
import soundfile
from fastapi.testclient import TestClient
from PIL import Image
from small_graphs import graph_blueprint, tables
from small_packages import REMARK, blueprint_of, selection_of

from palmette.automl.candidates import Blueprint, ColumnUse
from palmette.automl.endpoint.delivered import example_request
from palmette.automl.project.reading import in_file_names
from palmette.automl.project.writer import write_package
from palmette.automl.samples import TableFormat, TableJoin

RANDOM = np.random.default_rng(0)
NUMBER = ColumnUse(name="age", kind="number", examples=(1.0, 2.0))
ANSWER = {"prediction", "probabilities"}
JOINED = TableFormat(joins=(TableJoin(table="edges", file="edges.csv", sql="SELECT * FROM main"),))


class Case(NamedTuple):
    """A data set with a request: the row, and the fields that are wrong once a column is absent and a number a word."""

    blueprint: Blueprint
    learner: str
    rows: Callable[[], pd.DataFrame]
    row: dict[str, Any]
    bad: dict[str, Any]
    upload: tuple[str, str, str] = ("", "", "")
    """Column, media type and another media type."""


def picture(colour: int = 200) -> bytes:
    made = io.BytesIO()
    Image.fromarray(np.clip(RANDOM.normal(colour, 20, (20, 30, 3)), 0, 255).astype(np.uint8)).save(made, "PNG")
    return made.getvalue()


def sound(pitch: float = 400.0) -> bytes:
    made = io.BytesIO()
    wave = np.sin(2 * np.pi * pitch * np.arange(4000) / 8000) + RANDOM.normal(0, 0.1, 4000)
    soundfile.write(made, 0.3 * wave, 8000, format="WAV")
    return made.getvalue()


def labelled(name: str, first: Callable[[], Any], second: Callable[[], Any]) -> Callable[[], pd.DataFrame]:
    """24 rows of two classes with a cell of their class."""
    return lambda: pd.DataFrame(
        [{name: (first, second)[at % 2](), "age": float(at), "grade": ("bad", "good")[at % 2]} for at in range(24)]
    )


def files(kind: str, first: Callable[[], bytes], second: Callable[[], bytes]) -> Case:
    columns = (ColumnUse(name="file", kind=kind), NUMBER)
    blueprint = blueprint_of("classification", package=f"of_{kind}", columns=columns, metric="accuracy")
    row = {"file": base64.b64encode(second()).decode(), "age": "2"}
    media = ("image/png", "audio/wav")
    upload = ("file", *(media if kind == "image" else media[::-1]))
    rows = labelled("file", first, second)
    one_without = lambda: rows().assign(file=lambda made: [None, *made["file"][1:]])  # noqa: E731 - as `labelled`
    return Case(blueprint, "svc", one_without, row, {"file": "bm90aGluZw==", "age": "old"}, upload)


def days() -> pd.DataFrame:
    step = np.arange(90.0)
    return pd.DataFrame({"joined": pd.date_range("2024-01-01", periods=90), "paid": 100 + np.sin(step), "age": step})


def series_with_known_values() -> Blueprint:
    made = blueprint_of("forecasting", package="of_series")
    assert made.series is not None
    known = made.series.model_copy(update={"known": ("age",)})
    return made.model_copy(update={"series": known, "columns": (*made.columns, NUMBER)})


CASES = {
    "text": Case(
        blueprint_of("classification", package="of_text", columns=(REMARK, NUMBER), metric="accuracy"),
        "nb_svm",
        labelled("remark", lambda: "bad cold dish", lambda: "very good soup"),
        {"remark": "good soup", "age": "7"},
        {"remark": ["a", "list"], "age": "old"},
    ),
    "image": files("image", picture, lambda: picture(40)),
    "audio": files("audio", sound, lambda: sound(1500.0)),
    "series": Case(
        series_with_known_values(),
        "naive",
        days,
        {"joined": "01/31/2024", "Paid ": "$1,100.50", "age": "31"},
        {"joined": "soon", "Paid ": "much", "age": "old"},
    ),
    "graph": Case(
        graph_blueprint(package="of_graph", format=JOINED),
        "sgc",
        lambda: linked(*tables()),
        {"paper": "new", "size": None, "year": "1995", "neighbours": "p1 p2"},
        {"size": "large", "year": "soon"},
    ),
}


def linked(nodes: pd.DataFrame, edges: pd.DataFrame) -> pd.DataFrame:
    return nodes.assign(neighbours=nodes["paper"].map(edges.groupby("source")["target"].agg(" ".join)))


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def client(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The endpoint of a package that is fitted in this process."""
    folder, name = tmp_path_factory.mktemp("endpoint"), case.blueprint.package
    for file in write_package(case.blueprint, selection_of(case.blueprint, case.learner)):
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_text(file.text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        package, rows = importlib.import_module(name), in_file_names(case.rows(), case.blueprint)
        given = importlib.import_module(f"{name}.features").split_target(rows) if case.blueprint.target else (rows,)
        package.save(importlib.import_module(f"{name}.model").build_model().fit(*given), folder / "model")
        yield TestClient(importlib.import_module("serve").app)
    finally:
        sys.path.remove(str(folder))
        for one in [one for one in sys.modules if one.partition(".")[0] in (name, "serve")]:
            del sys.modules[one]


def test_the_example_request_is_answered(client: TestClient, case: Case) -> None:
    folder = Path(str(sys.modules["serve"].__file__)).parent
    asked = example_request(folder)
    assert client.post("/predict", json=asked).status_code == 200, asked


def body(case: Case, row: dict[str, Any]) -> dict[str, Any]:
    return {"history": [row] * 3} if case.blueprint.series else row


def wrong_fields(reply: Any) -> set[str]:
    assert reply.status_code == 422, reply.text
    return {one["loc"][-1] for one in reply.json()["detail"]}


def test_a_row_as_the_file_has_it_is_answered(case: Case, client: TestClient) -> None:
    request = body(case, case.row)
    if case.blueprint.series:
        request["history"].append({"joined": "02/01/2024", "age": "32"})  # a value that is known ahead
    reply = client.post("/predict", json=request)
    assert reply.status_code == 200, reply.text
    assert reply.json().keys() == ({"forecast"} if case.blueprint.series else ANSWER)


def test_everything_that_is_wrong_is_listed(case: Case, client: TestClient) -> None:
    assert wrong_fields(client.post("/predict", json=body(case, case.row | case.bad))) == {*case.bad}
    first = next(iter(case.bad))
    row = {name: value for name, value in (case.row | case.bad).items() if name != first}
    reply = client.post("/predict", json=body(case, row))
    assert wrong_fields(reply) == {*case.bad} and f"Column {first!r} is missing." in reply.text
    assert client.post("/predict", content=b"{", headers={"Content-Type": "application/json"}).status_code == 422


def test_a_request_that_is_too_long_is_refused(client: TestClient) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(1 << 40)}
    assert client.post("/predict", content=b"{}", headers=headers).status_code == 413


def test_uploads_are_read_by_their_media_type(case: Case, client: TestClient) -> None:
    name, media, other = case.upload
    if not name:
        assert client.post("/predict/file").status_code in (404, 405)
        return
    row, content = {"age": "2"}, base64.b64decode(case.row[name])

    def sent(content: bytes, media: str, row: dict[str, str] = row) -> Any:
        return client.post("/predict/file", data=row, files={name: ("a", content, media)})

    for known in (media, "application/octet-stream"):
        assert sent(content, known).json()["prediction"] == client.post("/predict", json=case.row).json()["prediction"]
    assert sent(content, other).status_code == 415
    assert client.post("/predict", content=b"\xff\xd8", headers={"Content-Type": media}).status_code == 422
    without = client.post("/predict", json=case.row | {name: None}).json()
    assert client.post("/predict/file", data=row).json() == sent(b"", media).json() == without
    assert wrong_fields(sent(b"nothing", media, {"age": "old"})) == {name, "age"}
    for path in (str(Path(__file__)), "/etc/hostname"):
        assert wrong_fields(client.post("/predict", json=case.row | {name: path})) == {name}
    described = client.get("/openapi.json").json()["paths"]["/predict/file"]["post"]["requestBody"]["content"]
    assert described["multipart/form-data"]["schema"]["properties"][name]["contentMediaType"] in media


@pytest.fixture(scope="module")
def address(client: TestClient) -> Iterator[str]:
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(client.app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield "http://{}:{}/".format(*server.servers[0].sockets[0].getsockname())
    server.force_exit = server.should_exit = True
    thread.join(5)


@pytest.mark.parametrize("case", ["image", "series"], indirect=True)
@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
def test_a_person_asks_on_the_page(case: Case, address: str, tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    (tmp_path / "a.png").write_bytes(picture(40))
    days().rename(columns={"paid": "Paid "}).to_csv(tmp_path / "history.csv", index=False, date_format="%m/%d/%Y")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page, failed = browser.new_page(), list[str]()
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.goto(address)
        page.locator("input[type=file]").set_input_files(
            tmp_path / ("history.csv" if case.blueprint.series else "a.png")
        )
        page.get_by_role("button", name="Forecast" if case.blueprint.series else "Predict").click()
        page.locator("#answer table, #answer .error").first.wait_for()
        text = page.locator("#answer").inner_text()
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        browser.close()
    assert not failed and ("04/0" in text or "2024-04-0" in text if case.blueprint.series else "good" in text), text
