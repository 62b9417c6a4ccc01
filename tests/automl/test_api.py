"""The Python API: what a call hands over, and what a finished run gives back."""

import inspect
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_cases import findings_for

import palmette
from palmette.automl.api import AutoMLOptions
from palmette.automl.artefacts import Delivery
from palmette.automl.candidates import Blueprint
from palmette.automl.delivered import DeliveredPackage, explanation, shapley_values
from palmette.automl.live import LiveProgress
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.task_spec.task_file import TaskFile
from palmette.engine import ArtefactStore, Entry, RunResult, RunState, Verdict
from palmette.engine.events import ActorSucceeded
from palmette.engine.state import Version
from palmette.errors import RunStopped, UserError

PACKAGE = """
import pickle

import pandas as pd
from .parts import Model

def load(folder):
    return pickle.loads((folder / "model.pkl.gz").read_bytes())

def predictions(model, rows):
    return pd.DataFrame({"prediction": model.predict(rows)}, rows.index)
"""
PARTS = """
class Model:
    factor = FACTOR

    def predict(self, rows):
        return self.factor * rows["size"].astype(float) + rows["rooms"].astype(float)
"""
FIT = "import pickle, price.parts; pickle.dump(price.parts.Model(), open('model/model.pkl.gz', 'wb'))"
BLUEPRINT = Blueprint.model_validate(
    {
        "package": "price", "title": "t", "problem": "regression", "target": "price", "metric": "rmse", "rows": 9,
        "columns": [{"name": "size", "kind": "number"}, {"name": "rooms", "kind": "number"}],
        "candidates": [{"name": "ridge", "learner": "ridge"}], "seconds": 9,
    }
)  # fmt: skip


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    before = set(sys.modules)
    yield tmp_path / "runs"
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "price":
            del sys.modules[name]


def delivered(folder: Path, factor: int) -> Path:
    """A delivered package whose model multiplies."""
    for name, text in (("price/__init__.py", PACKAGE), ("price/parts.py", PARTS.replace("FACTOR", str(factor)))):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "model").mkdir()
    subprocess.run([sys.executable, "-c", FIT], cwd=folder, check=True)
    return folder


def finished(folder: Path, project: Path) -> palmette.AutoMLRun:
    """A run with hand-made artefacts that has delivered a project."""
    findings, store = findings_for("regression"), ArtefactStore(folder)
    folder.mkdir(exist_ok=True)
    delivery = Delivery(folder=str(project), package="price", files=(), measurements=())
    values = {
        "task": findings.task, "assessment": findings.assessment, "comparison": findings.comparison,
        "delivery": delivery, "blueprint": BLUEPRINT,
    }  # fmt: skip
    state = RunState(artefacts={name: Version(store.put(value), 1, "actor") for name, value in values.items()})
    return palmette.AutoMLRun(RunResult(folder, state, "finished"))


def test_a_finished_run_gives_model_predictions_and_verdict(tmp_path: Path) -> None:
    run = finished(tmp_path / "run", delivered(tmp_path / "made", 3))
    rows = pd.DataFrame({"size": [1.0, 2], "rooms": [10, 20], "more": ["a", "b"]}, index=[7, 9])
    predicted = run.predict(rows)
    assert predicted.name == "price" and predicted.to_dict() == {7: 13.0, 9: 26.0}
    assert run.model.factor == 3 and pickle.loads(pickle.dumps(run.model)).factor == 3
    assert run.assessment == findings_for("regression").assessment and run.task.target == "plain target"
    assert list(run.leaderboard["name"]) == ["lightgbm", "plain", "dummy"] and run.leaderboard["chosen"].sum() == 1
    first, second, third = repr(run).splitlines()
    assert first == "AutoMLRun price by LightGBM, Linear" and "RMSE 0.812 (120 held-out rows" in second
    assert str(run.folder) in third and run.folder == tmp_path / "made"
    shown = run._repr_html_()
    assert "RMSE 0.812" in shown and "◐ plain fast: 19 ms" in shown and "<table" in shown


def test_a_report_is_a_path_and_a_page(tmp_path: Path) -> None:
    run = finished(tmp_path / "run", tmp_path)
    (tmp_path / "report.html").write_text('<p class="x">', encoding="utf-8")
    assert Path(run.report) == tmp_path / "report.html" and "&lt;p class=&quot;x&quot;&gt;" in run.report._repr_html_()


def test_packages_of_one_name_live_in_one_process(tmp_path: Path) -> None:
    rows = pd.DataFrame({"size": [1.0], "rooms": [0]})
    folders = [delivered(tmp_path / str(factor), factor) for factor in (2, 5)]
    first, second = (DeliveredPackage.load(folder, BLUEPRINT) for folder in folders)
    assert [one.predictions(rows)["prediction"][0] for one in (first, second, first)] == [2, 5, 2]
    assert sys.modules["price"] is first.module and pickle.loads(pickle.dumps(first.model)).factor == 2
    again = DeliveredPackage.load(folders[0], BLUEPRINT)
    assert again.module is first.module
    with pytest.raises(UserError, match="no package 'price'"):
        DeliveredPackage.load(tmp_path, BLUEPRINT)


def test_explanations_add_up_and_are_exact_for_a_sum() -> None:
    random = np.random.default_rng(0)
    background = pd.DataFrame({"size": random.normal(size=40), "rooms": random.normal(size=40), "idle": 1.0})
    rows = pd.DataFrame({"size": ["2.5", "-1"], "rooms": [4.0, 0.0], "idle": [3.0, 1.0]})

    def predict(frame: pd.DataFrame) -> np.ndarray:
        size, rooms = frame["size"].astype(float), frame["rooms"].astype(float)
        return np.stack([3 * size + rooms, size * 0], axis=1)

    base, values = shapley_values(predict, rows, background, 400, 0)
    expected = np.array([[3 * (2.5 - background["size"].mean()), 4 - background["rooms"].mean(), 0]])
    assert values[:1, :, 0] == pytest.approx(expected, abs=0.3) and not values[:, :, 1].any()
    assert base + values.sum(axis=1) == pytest.approx(predict(rows))


def test_a_row_is_explained_for_its_likeliest_class(tmp_path: Path) -> None:
    blueprint = BLUEPRINT.model_copy(update={"classes": ("a", "b", "c"), "problem": "classification"})

    def predictions(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
        a = 1 / (1 + np.exp(-rows["size"].astype(float)))
        return pd.DataFrame({"prediction": "a", "probability_a": a, "probability_b": 1 - a, "probability_c": 0.0})

    package = DeliveredPackage(SimpleNamespace(predictions=predictions), None, blueprint)  # type: ignore[arg-type]  # has what is used
    rows = pd.DataFrame({"rooms": [1, 1], "size": [3.0, -3.0]}, index=["x", "y"])
    background = pd.DataFrame({"size": [0.0, 0.1], "rooms": [1.0, 2.0]})
    found = explanation(package, rows, background, 4)
    assert list(found.columns) == ["explained", "base", "size", "rooms", "prediction"]
    assert list(found.index) == ["x", "y"]
    assert list(found["explained"]) == ["a", "b"]
    assert found[["base", "size", "rooms"]].sum(axis=1).tolist() == pytest.approx(found["prediction"].tolist())
    assert found["prediction"].tolist() == pytest.approx([1 / (1 + np.exp(-3)), 1 / (1 + np.exp(-3))])
    forecast = SimpleNamespace(blueprint=SimpleNamespace(series=True), predictions=lambda rows: rows.assign(low=0))
    run = palmette.AutoMLRun(RunResult(tmp_path, RunState(), "finished"))
    vars(run)["_package"] = forecast
    assert list(run.predict(rows)) == ["rooms", "size", "low"], "the next rows with their bands"
    with pytest.raises(UserError, match="not clusters or forecasts"):
        explanation(replace(package, blueprint=blueprint.model_copy(update={"target": ""})), rows, background, 4)


def called(monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> tuple[dict[str, Any], Path]:
    """The arguments of the environment, and the run's folder."""
    found: list[Any] = []

    def run_environment(name: str, arguments: dict[str, Any], folder: Path, observer: Any) -> RunResult:
        found.extend((arguments, folder))
        (folder / "artefacts").mkdir(parents=True)
        return RunResult(folder, RunState(), "finished")

    monkeypatch.setattr("palmette.engine.run_environment", run_environment)
    palmette.automl(*arguments, **options)
    return found[0], found[1]


def test_a_frame_is_written_to_the_folder_of_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cat.png").touch()
    cells = {"a": [1, "x", None], 2: [1.5, 2.5, None], "photo": ["cat.png", "no.png", None]}
    frame = pd.DataFrame(cells, index=pd.Index([3, 4, 5], name="id"))
    arguments, folder = called(monkeypatch, data=frame, target="a", budget=30)
    (path,) = arguments["flags"]["data"]
    assert Path(path) == folder / "data/frame1.parquet" and (folder / "data").stat().st_mode & 0o077 == 0
    written = pd.read_parquet(path)
    assert list(written.columns) == ["id", "a", "2", "photo"] and list(written["a"]) == ["1", "x", None]
    assert list(written["photo"]) == [str(tmp_path / "cat.png"), "no.png", None]
    assert frame.columns.tolist() == ["a", 2, "photo"]
    several = pd.DataFrame({"day": [1], "sales": [2.0]}).set_index("day", drop=False).assign(shop="x")
    (path,) = called(monkeypatch, data=several.set_index(["shop", "day"]).assign(day=3))[0]["flags"]["data"]
    assert list(pd.read_parquet(path).columns) == ["shop", "sales", "day"], "a level that is a column is not written"
    arguments, folder = called(monkeypatch, data=[frame, "more.csv"])
    assert [Path(one).name for one in arguments["flags"]["data"]] == ["frame1.parquet", "more.csv"]


def test_mistakes_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(UserError, match="cannot be written as Parquet"):
        palmette.automl(data=twice)
    with pytest.raises(UserError, match="The first argument is the request in words"):
        palmette.automl(twice)  # type: ignore[arg-type]  # the mistake
    assert not list(runs.glob("*/data"))


def test_a_run_that_stops_raises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stopped = RunResult(tmp_path, RunState(), "stopped", "budget reached")
    monkeypatch.setattr("palmette.engine.run_environment", lambda *_: stopped)
    with pytest.raises(RunStopped, match="budget reached"):
        palmette.automl(data="x.csv")


def test_the_signature_has_the_fields_of_a_task_file() -> None:
    parameters = set(inspect.signature(palmette.automl).parameters)
    assert {"sentence", "data", "target", "observer", *AutoMLOptions.__annotations__} == parameters
    assert not set(TaskFile.model_fields) - parameters


def test_a_notebook_has_one_block_of_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: list[str] = []
    block = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    shell = type("ZMQInteractiveShell", (), {})()
    display = SimpleNamespace(display=lambda *_, **__: block)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    digest = ArtefactStore(tmp_path).put(TaskSpec(target="price", unread=("quickly",)))
    done = ActorSucceeded(
        actor="requirement_parser", artefact="task", key="", inputs={}, output=digest, verdict=Verdict(ok=True),
        seconds=1,
    )  # fmt: skip
    progress = LiveProgress(tmp_path)
    progress.opened("offline rules")
    progress.event(Entry(seq=1, at=0, event=done))
    progress.progress("assembler", "training ridge")
    lines = shown[-1].splitlines()
    assert lines[0] == "offline rules" and lines[1].endswith("✓ requirement_parser")
    assert "target  price  default" in lines[2] and "? not understood, without effect: quickly" in lines[3]
    assert lines[-1].strip() == "assembler: training ridge"
