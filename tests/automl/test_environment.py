"""The whole environment on a small table: a sentence in, a delivered and measured model out; edited, declined."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="lightgbm is not installed")

from planting import KEYS, leaked, plant
from report_cases import Page

import palmette
from palmette.automl.arguments import arguments_of
from palmette.automl.endpoint.folder import differing, read_manifest
from palmette.automl.environment import TOPOLOGIES, open_automl, topology_file
from palmette.engine import RunResult, lint, load_topology, resume_run, run_environment
from palmette.errors import UserError

WISH = (
    "Predict whether a house is expensive. Accuracy of at least 0.6, recall of at least 0.01, model up to 50 MB. "
    "Do not use the column street"
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
def run(houses: Path, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    arguments = arguments_of(WISH, [str(houses)], budget=4.0, human="none")
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, tmp_path_factory.mktemp("home"))
        return run_environment("automl", arguments, tmp_path_factory.mktemp("runs") / "run")


def test_no_key_that_was_there_is_in_anything_that_the_run_has_left(run: RunResult) -> None:
    (run.folder.parent / "seen.txt").write_text(next(iter(KEYS.values())))
    assert [*leaked(run.folder.parent)] == ["seen.txt"]


def test_a_sentence_and_a_file_become_a_model_that_answers(run: RunResult) -> None:
    assert run.status == "finished", run.reason
    delivery, assessment = run.value("delivery"), run.value("assessment")
    folder = Path(delivery["folder"])
    assert {"preprocess.py", "serve.py", "report.html", "MODEL_CARD.md", "contract.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert assessment["rows"] == run.value("profile")["holdout"]["rows"] == 32
    judged = {one["wish"]: one["status"] for one in assessment["judged"]}
    assert judged["model size <= 5e+07"] == judged["recall >= 0.01"] == "pass"
    contract = json.loads((folder / "contract.json").read_text("utf-8"))
    assert "street" not in {column["name"] for column in contract["rows"]}
    assert all("palmette" not in path.read_text("utf-8") for path in folder.rglob("*.py"))


def report_of(run: RunResult) -> Page:
    return Page((Path(run.value("delivery")["folder"]) / "report.html").read_text("utf-8"))


def test_the_report_tells_of_every_actor_and_loads_nothing(run: RunResult) -> None:
    page, told = report_of(run), report_of(run).sections["costs"]
    missing = [name for name in run.state.actors if name.replace("_", " ").capitalize() not in told]
    assert not missing and len(run.state.actors) > 12
    assert "training, traditional track" in told and "0 calls, 0 tokens, $0" in told
    assert all(plan["name"] in page.sections["plans"] for plan in run.value("plans")["plans"])
    addresses = [value for _, one in page.elements for name, value in one.items() if name in ("src", "href", "data")]
    assert not [value for value in addresses if not str(value).startswith("#")]
    folder = Path(run.value("delivery")["folder"])
    manifest = read_manifest(folder)
    assert manifest and "report.html" in manifest.files and not differing(folder, manifest)


def test_a_copy_of_a_run_delivers_to_a_place_of_its_own(run: RunResult, tmp_path: Path) -> None:
    """Like one that was moved, or whose delivery was taken away: only what is gone is made again."""
    before = read_manifest(Path(run.value("delivery")["folder"]))
    shutil.copytree(run.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("delivered"))
    again = resume_run(tmp_path / "copy")
    assert again.status == "finished", again.reason
    folder = Path(again.value("delivery")["folder"])
    manifest = read_manifest(folder)
    assert folder == tmp_path / "copy" / "delivered" and manifest and not differing(folder, manifest)
    assert {name: actor.invocations for name, actor in again.state.actors.items()} == {
        name: actor.invocations + (name == "deployer") for name, actor in run.state.actors.items()
    }
    assert read_manifest(Path(run.value("delivery")["folder"])) == before


def test_an_edited_constraint_is_judged_and_nothing_is_trained_again(run: RunResult) -> None:
    file = run.path("requirements") / "value.json"
    told = json.loads(file.read_text("utf-8"))
    (constraint,) = [one for one in told["problem"]["constraints"] if one["metric"] == "accuracy"]
    constraint |= {"value": 0.999999, "words": ""}
    file.write_text(json.dumps(told), "utf-8")
    again = resume_run(run.folder)
    assert again.status == "finished", again.reason
    statuses = {one["wish"]: one["status"] for one in again.value("assessment")["judged"]}
    assert statuses["accuracy >= 0.999999"] != "pass" and statuses["model size <= 5e+07"] == "pass"
    times = {name: actor.invocations for name, actor in again.state.actors.items()}
    assert times["request_verifier"] == times["assembler"] == 1
    assert times["implementation_verifier"] == 2
    page = report_of(again)
    assert "Accuracy: at least 1" in page.sections["requirements"] and "2 in 2 calls" in page.sections["costs"]


def test_what_is_not_asked_for_a_model_is_declined_with_an_example(
    houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path))
    with pytest.raises(UserError) as caught:
        palmette.automl("Write me a poem about houses", data=houses)
    assert (caught.value.code, caught.value.exit_code) == ("request-irrelevant", 2)
    told = r"The request asks for .+\. A request that works: .+\. \[request-irrelevant\]"
    assert re.fullmatch(told, str(caught.value))


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_topology_can_be_run(path: Path) -> None:
    assert lint(load_topology(path)) == []


def test_arguments_are_checked_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no topology 'imll'.* 'iml'"):
        topology_file("imll")
    with pytest.raises(UserError, match=r"The argument 'budget' is -1"):
        open_automl(arguments_of("Predict a", [], budget=-1.0), tmp_path)
    with pytest.raises(UserError, match=r"'budgt' .* Did you mean 'budget'"):
        open_automl({"budgt": 5}, tmp_path)
    with pytest.raises(UserError, match="'colour'"):
        open_automl({"colour": "red"}, tmp_path)


def test_a_folder_that_is_taken_is_refused_before_anything_is_trained(houses: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(UserError, match="nothing in it was touched"):
        open_automl(arguments_of("Predict whether a house is expensive", [str(houses)], out=tmp_path), tmp_path)
