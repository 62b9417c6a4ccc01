"""Data sets by request: which are offered, which is chosen and why, and what is fetched."""

import json
from typing import Any

import pytest
from fake_web import CASES, FakeWeb
from toys import ScriptedHuman

from palmette.automl.environment import with_found_data
from palmette.automl.samples.load import load
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import NoHuman
from palmette.errors import MachineError, UserError
from palmette.knowledge.datasets import _concerns, fetched
from palmette.knowledge.source import Record

STUDENTS = next(case for case in CASES if case["source"] == "uci")["answers"]
ROWS = b"Age,OUTPUT Grade\n" + b"".join(b"%d,%d\n" % (18 + row % 9, row % 3) for row in range(60))


@pytest.mark.parametrize(("sentence", "data", "left"), [
    ("Find data about iris flowers and predict the species.", "sklearn:iris", "predict the species."),
    ("Search for a dataset on wine cultivars", "sklearn:wine", ""),
    ("Predict the species of iris flowers", "sklearn:iris", "Predict the species of iris flowers"),
    ("Predict churn", "", "Predict churn"), ("Predict unicorns of California", "", "Predict unicorns of California"),
])  # fmt: skip
def test_a_request_without_data_finds_some(sentence: str, data: str, left: str) -> None:
    task = with_found_data(TaskSpec(sentence=sentence), NoHuman())
    assert ("".join(task.data), task.sentence) == (data, left)
    assert not data or ("fit 100%" in task.sources["data"].words and "licence CC BY 4.0" in task.sources["data"].words)


def test_a_request_for_data_that_nobody_has_is_refused() -> None:
    with pytest.raises(UserError, match=r"No data set fits 'unicorns'.*Name one with --data"):
        with_found_data(TaskSpec(sentence="Find data about unicorns."), NoHuman())


@pytest.mark.parametrize(
    ("answer", "data"), [("2", "sklearn:wine"), ("openml:31", "openml:31"), (None, "sklearn:iris")]
)
def test_a_person_chooses(answer: str | None, data: str) -> None:
    human = ScriptedHuman([answer])
    task = with_found_data(TaskSpec(sentence="Find data about three species of flowers of iris, or wines."), human)
    assert "sklearn:iris: Iris plants; 150 rows, 4 columns; licence CC BY 4.0; fit" in human.questions[0]
    assert task.data == (data,)


@pytest.mark.parametrize(("fields", "concern"), [
    ({"rows": 20}, "its size is outside"), ({"tasks": ("regression",)}, "it is made for regression"),
    ({"columns": ("a", "b")}, "it has no column 'price'"), ({"licence": "CC BY-NC 4.0"}, "excludes commercial use"),
    ({"rows": 500, "tasks": ("tabular-classification",), "columns": ("Price",)}, ""),
])  # fmt: skip
def test_what_speaks_against_a_set_is_stated(fields: dict[str, Any], concern: str) -> None:
    record = Record(source="openml", kind="dataset", id="1", title="House prices", **fields)
    concerns = [*_concerns(record, "classification", "price")]
    assert concern in "; ".join(concerns) and bool(concerns) == bool(concern)


def test_a_set_is_fetched_once_with_checksum_licence_and_target(fake_web: FakeWeb) -> None:
    fake_web.answers, fake_web.files["/856.csv"] = STUDENTS, ROWS
    loaded = load(["uci:856"])
    assert loaded.samples.rows == 60 and loaded.samples.targets == ("OUTPUT Grade",)
    asked = len(fake_web.asked)
    data = fetched("uci:856")
    note = json.loads(data.folder.with_suffix(".json").read_text())
    assert (
        len(fake_web.asked) == asked
        and list(data.files) == ["Students.csv"]
        and len(note["files"]["Students.csv"]) == 64
    )
    assert note["record"]["licence"].startswith("CC BY 4.0") and len(note["files"]["Students.csv"]) == 64
    assert fetched("uci:Students").folder == data.folder, "a name leads to the set of its id"
    asked = len(fake_web.asked)
    (data.folder / "Students.csv").write_text("changed")
    assert fetched("uci:856").files == data.files and len(fake_web.asked) == asked + 1, "fetched again"


def test_a_set_that_is_too_large_or_gone_leaves_nothing(fake_web: FakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    from palmette.knowledge.sources import tables

    fake_web.answers, fake_web.files["/856.csv"] = STUDENTS, ROWS
    monkeypatch.setattr(tables, "MOST_BYTES", 100)
    with pytest.raises(MachineError, match="has more than"):
        fetched("uci:856")
    with pytest.raises(UserError, match="no such entry"):
        fetched("uci:857")


def test_a_graph_by_name_is_read_as_one(fake_web: FakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_sources import GRAPH, arrays

    from palmette.knowledge.sources import tables

    fake_web.files["/photo.npz"] = arrays(**GRAPH)
    photo = tables.bundled()["pyg"]["Photo"] | {"url": f"{fake_web.url}/photo.npz"}
    monkeypatch.setattr(tables, "bundled", lambda: {"pyg": {"Photo": photo}})
    samples = load(["pyg:Photo"]).samples
    assert samples.rows == 3 and "label" in samples.targets


def test_a_table_of_a_hub_is_read(fake_web: FakeWeb) -> None:
    detail = {
        "id": "org/houses",
        "tags": ["license:cc0-1.0"],
        "siblings": [{"rfilename": "train.csv"}, {"rfilename": "load.py"}],
    }
    fake_web.answers = [{"path": "/api/datasets/org/houses", "json": detail}]
    fake_web.files["/datasets/org/houses/resolve/main/train.csv"] = ROWS
    assert load(["huggingface:org/houses"]).samples.rows == 60
    assert not any(one.endswith("load.py") for one in fake_web.asked), "no code is fetched"


def test_a_set_of_kaggle_comes_with_its_licence(fake_web: FakeWeb) -> None:
    view = {"ref": "ada/crabs", "title": "Crabs", "licenseName": "CC0-1.0"}
    fake_web.answers = [{"path": "/datasets/view/ada/crabs", "json": view}]
    fake_web.files["/datasets/download/ada/crabs"] = b"PK"
    data = fetched("kaggle:ada/crabs")
    assert data.record.licence == "CC0-1.0" and list(data.files) == ["Crabs.zip"]


def test_every_place_is_a_path_or_a_name() -> None:
    with pytest.raises(UserError, match=r"no set 'irsi'.* Did you mean 'iris'"):
        fetched("sklearn:irsi")
