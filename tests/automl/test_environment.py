"""The whole environment on a small table: a request in, a delivered and measured model out; edited, refused."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("lightgbm", reason="lightgbm is not installed")

import pandas as pd
from planting import KEYS, leaked, plant
from report_cases import Page

import palmette
from palmette.automl.actors.deployer import actor as deploying
from palmette.automl.arguments import arguments_of
from palmette.automl.artefacts import Delivery
from palmette.automl.endpoint.folder import differing, read_manifest
from palmette.automl.environment import TOPOLOGIES, open_automl, topology_file
from palmette.automl.samples import DataSource, TableError
from palmette.automl.task_spec.request import DataSummary, Request
from palmette.automl.task_spec.spec import TaskSpec
from palmette.cli.automl import automl
from palmette.engine import NoHuman, RunResult, lint, load_topology, resume_run
from palmette.errors import InputError, UserError

SENTENCE = (
    "Predict whether a house is expensive. Accuracy of at least 0.6, recall of at least 0.01, model up to 50 MB. "
    "Do not use the column street, as a notebook please, on a hill"
)


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("houses") / "houses.csv"
    sizes = [40 + n * 7 % 90 for n in range(160)]
    rows = [
        f"{n};{size},5;{('north', 'south', 'east')[n % 3]};s{n % 9};{'yes' if size + 10 * (n % 3) > 95 else 'no'}"
        for n, size in enumerate(sizes)
    ]
    path.write_text("\n".join(["id;size;side;street;expensive", *rows, ""]), "utf-8")
    return path


@pytest.fixture(scope="module")
def frame(houses: Path) -> pd.DataFrame:
    return pd.read_csv(houses, sep=";", decimal=",")


@pytest.fixture(scope="module")
def called(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> palmette.AutoMLRun:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, tmp_path_factory.mktemp("home"))
        patch.setenv("PALMETTE_RUNS", str(tmp_path_factory.mktemp("runs")))
        learners = ["linear", "lightgbm"]
        return palmette.automl(SENTENCE, data=frame, budget=2.5, learners=learners, plans=1, human="none")


@pytest.fixture(scope="module")
def run(called: palmette.AutoMLRun) -> RunResult:
    return called.result


def test_no_key_that_was_there_is_in_anything_that_the_run_has_left(run: RunResult) -> None:
    (run.folder.parent / "seen.txt").write_text(next(iter(KEYS.values())))
    assert [*leaked(run.folder.parent)] == ["seen.txt"]


def test_a_run_predicts_explains_and_is_opened_again(called: palmette.AutoMLRun, frame: pd.DataFrame) -> None:
    assert called.task.target == "expensive"
    predicted = called.predict(frame)
    assert (predicted == frame["expensive"]).mean() > 0.8
    explained = called.explain(frame.head(2))
    assert explained["explained"].tolist() == ["yes", "yes"]
    assert [*(explained["prediction"] > 0.5)] == [*(predicted.head(2) == "yes")]
    score = called._verdict.scores[0].value
    assert score in Path(called.report).read_text("utf-8") and score in repr(called)
    again = palmette.AutoMLRun.open(called.result.folder)
    assert again.assessment == called.assessment and again.leaderboard.equals(called.leaderboard)


def test_a_sentence_and_a_frame_become_a_model_that_answers(run: RunResult) -> None:
    assert run.status == "finished", run.reason
    delivery, assessment, task = run.value("delivery"), run.value("assessment"), run.artefact("task", TaskSpec)
    folder = Path(delivery["folder"])
    assert {"train.py", "serve.py", "report.html", "MODEL_CARD.md"} <= {path.name for path in folder.iterdir()}
    assert assessment["rows"] == run.value("profile")["holdout"]["rows"] == 31
    judged = {one["constraint"]["words"]: one["status"] for one in assessment["results"] if one["constraint"]}
    assert judged["model up to 50 MB"] == judged["recall of at least 0.01"] == "pass"
    assert task.exclude == ("street",) and "street" not in [one["name"] for one in run.value("blueprint")["columns"]]
    assert len(task.unread) == len(task.unmet) == 1
    assert all("palmette" not in path.read_text("utf-8") for path in folder.rglob("*.py"))


def test_the_report_says_how_the_request_was_read_and_loads_nothing(run: RunResult) -> None:
    folder = Path(run.value("delivery")["folder"])
    text = (folder / "report.html").read_text("utf-8")
    assert "on a hill" in text and "notebook" in text
    addresses = [
        value for _, one in Page(text).elements for name, value in one.items() if name in ("src", "href", "data")
    ]
    assert not [value for value in addresses if not str(value).startswith("#")]
    manifest = read_manifest(folder)
    assert manifest and "report.html" in manifest.files and not differing(folder, manifest)


def test_in_a_copy_an_edited_limit_is_judged_and_delivered_without_training(
    run: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy has no delivery of its own, like a run that was moved. The package's tests passed in the run."""
    (tests,) = run.artefact("delivery", Delivery).measurements
    monkeypatch.setattr(deploying, "of_tests", lambda *_: (tests, None))
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy, ignore=shutil.ignore_patterns("delivered"))
    file = copy / run.path("task").relative_to(run.folder) / "value.json"
    task = json.loads(file.read_text("utf-8"))
    (limit,) = [one for one in task["constraints"] if one["metric"] == "accuracy"]
    limit |= {"value": 0.010101, "words": ""}
    file.write_text(json.dumps(task), "utf-8")
    again = resume_run(copy)
    assert again.status == "finished", again.reason
    results = [one for one in again.value("assessment")["results"] if one["constraint"]]
    assert {one["constraint"]["value"]: one["status"] for one in results}[0.010101] == "pass"
    unchanged = ("request_verifier", "assembler")
    assert [again.state.actors[name].invocations for name in unchanged] == [1, 1]
    folder = Path(again.value("delivery")["folder"])
    manifest = read_manifest(folder)
    assert folder == copy / "delivered" and manifest and not differing(folder, manifest)


def test_what_is_not_asked_for_a_model_is_refused_with_an_example(
    houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path))
    with pytest.raises(UserError, match="A request that works: ") as caught:
        palmette.automl("Write me a poem about houses", data=houses)
    assert (caught.value.code, caught.value.exit_code) == ("request-irrelevant", 2)


def test_a_dry_run_ends_with_the_task_and_the_plans(
    houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "task.yaml"
    file.write_text(f"data: {houses}\ntarget: expensive\nexclude: street\nlearners: [linear, lightgbm]\n", "utf-8")
    command = ["--task", str(file), "--exclude", "id", "--human", "none", "--dry-run"]
    shown = CliRunner().invoke(automl, command)
    assert shown.exit_code == 0, shown.output
    assert "Nothing was trained" in shown.output and "→" in shown.output
    made = json.loads(CliRunner().invoke(automl, [*command, "--json"]).stdout)
    assert (made["task"]["target"], made["task"]["exclude"]) == ("expensive", ["id", "street"])
    learners = {one["candidate"]["learner"] for one in made["choice"]["proposal"]["estimates"]}
    assert learners == {"linear", "lightgbm"}


def opened(tmp_path: Path, request: str = "", *data: str, **options: Any) -> TaskSpec:
    """The task that a run is given."""
    setup = open_automl(arguments_of(request, data, **options), tmp_path / "run")
    given = setup.given["given_task"]
    assert isinstance(given, TaskSpec)
    return given


def test_data_come_from_flags_the_file_or_the_sentence(
    houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(houses.parent)
    file = tmp_path / "task.yaml"
    file.write_text("data: [houses.csv]\nsentence: Predict expensive\nout: there\n", "utf-8")
    shutil.copy(houses, tmp_path)
    task = opened(tmp_path, task=file)
    assert task.data == (str(tmp_path / "houses.csv"),) and task.sentence == "Predict expensive"
    assert task.out == str(tmp_path / "there")
    assert opened(tmp_path, "Predict size", str(houses), task=file).data == (str(houses),)
    assert opened(tmp_path, "Predict expensive in houses.csv").data == (str(houses),)
    assert opened(tmp_path, "Predict the species of sklearn:iris.").data == ("sklearn:iris",)
    assert opened(tmp_path, "Predict something").data == ()


def test_a_run_is_given_what_its_actors_read(houses: Path, tmp_path: Path) -> None:
    setup = open_automl(arguments_of("Predict expensive", [str(houses)], tracks=["traditional"]), tmp_path)
    assert setup.given["request"] == Request(text="Predict expensive", files=("houses.csv",))
    columns = setup.given["columns"]
    assert isinstance(columns, DataSummary) and columns.names == ("id", "size", "side", "street", "expensive")
    assert setup.given["tracks"] == ["traditional"]
    everything = open_automl(arguments_of("", [str(houses)]), tmp_path).given["tracks"]
    assert isinstance(everything, list) and "traditional" in everything


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_topology_can_be_run(path: Path) -> None:
    assert lint(load_topology(path)) == []


def test_arguments_are_checked_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no topology 'imll'.* 'iml'"):
        topology_file("imll")
    with pytest.raises(UserError, match=r"The argument 'budget' is -1.* write for example 90"):
        opened(tmp_path, "Predict a", budget=-1.0)
    with pytest.raises(UserError, match=r"'budgt' .* Did you mean 'budget'"):
        opened(tmp_path, budgt=5)
    with pytest.raises(UserError, match=r"The argument 'constraints' is .*latency<=20ms"):
        opened(tmp_path, constraints=["latency<=20 bananas"])
    with pytest.raises(UserError, match="'colour'"):
        open_automl({"colour": "red"}, tmp_path)
    with pytest.raises(UserError) as caught:
        opened(tmp_path, "long " * 2001)
    assert caught.value.code == "request-too-long"
    with pytest.raises(InputError, match="no-such-file"):
        opened(tmp_path, task=tmp_path / "none.yaml")


def test_a_command_without_anything_asks_for_something(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path))
    outcome = CliRunner().invoke(automl, [])
    assert isinstance(outcome.exception, UserError) and outcome.exception.code == "nothing-asked"


def test_a_folder_that_is_taken_is_refused_before_anything_is_trained(houses: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(UserError, match="nothing in it was changed"):
        opened(tmp_path, "Predict expensive", str(houses), out=tmp_path)


def test_which_table_is_meant_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id, 2.5 AS total")
        connection.execute("CREATE TABLE users AS SELECT 'x' AS name, 3 AS age")
    arguments = arguments_of("", [str(path)], target="age")
    with pytest.raises(TableError):
        open_automl(arguments, tmp_path)
    asked: list[str] = []
    monkeypatch.setattr(NoHuman, "ask", lambda self, question: asked.append(question) or "users")
    places = DataSource.model_validate(open_automl(arguments, tmp_path).given["places"])
    assert places.table == "users" and len(asked) == 1 and "'orders'" in asked[0]


def test_a_folder_that_is_to_hold_the_run_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is to hold this run") as caught:
        open_automl(arguments_of("", ["nothing.csv"], out=tmp_path), tmp_path / "palmette-runs" / "r")
    assert caught.value.code == "folder-taken" and not any(tmp_path.iterdir())
