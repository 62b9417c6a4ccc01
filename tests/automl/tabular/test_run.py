"""Projects that run: they train, predict, serve and refuse, in the sandbox, without palmette."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from small_projects import Trained, training

from palmette.automl.measure import METRICS
from palmette.sandbox import Sandbox

TASKS = ("binary", "multiclass", "regression")
Train = Callable[[str], Trained]


@pytest.mark.parametrize("task", TASKS)
def test_training_leaves_candidates_that_hold(trained: Train, task: str) -> None:
    one = trained(task)
    blueprint = one.project.blueprint
    assert not one.found.violations
    assert {trial.status for trial in one.found.trials} <= {"finished", "stopped"}
    assert {trial.algorithm for trial in one.found.trials} == {"dummy", "linear", *blueprint.algorithms}
    judge, metric = one.project.judge, METRICS[blueprint.metric]
    dummy = next(candidate for candidate in one.found.candidates if candidate.name == "dummy")
    assert metric.error(one.chosen.score) < 0.6 * metric.error(judge.score(dummy.outputs))
    assert {member.algorithm for member in one.chosen.members} <= set(blueprint.algorithms)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_the_chosen_members_repeat_their_score(trained: Train, task: str) -> None:
    """Early stopping, random trees and all: the rounds are written down, and no target of a validation row is told."""
    one = trained(task)
    assert one.is_repeated
    assert [candidate.name for candidate in one.again.candidates] == [member.name for member in one.chosen.members]
    outputs = one.chosen.outputs(one.again.candidates)
    np.testing.assert_array_equal(outputs, one.chosen.outputs(one.found.candidates))
    assert one.project.judge.score(outputs, one.chosen.class_weights) == one.chosen.score
    assert one.told.splitlines()[-1].endswith(f" of all members together: {one.chosen.score:.6g}")
    assert "left" not in one.told, "there is no time to be left of"


def test_a_search_with_time_enough_is_the_same_again(trained: Train) -> None:
    one = trained("binary")
    assert not one.is_repeated
    assert [(trial.name, trial.settings, trial.score) for trial in one.again.trials] == [
        (trial.name, trial.settings, trial.score) for trial in one.found.trials
    ]


def test_without_time_the_baselines_and_one_wanted_model_are_fitted_all_the_same(trained: Train) -> None:
    project = trained("regression").project
    project.run_all((*training("hurried"), "--seconds", "0.01"))
    found = project.found("hurried")
    finished = [one.trial.algorithm for one in found.candidates]
    assert len(finished) >= 3 and {"dummy", "linear"} < set(finished)
    assert finished[1] in project.blueprint.algorithms, "what is wanted comes before a baseline that may take long"


HURRIED = """
import preprocess
from models.boosting import XGBoost
from target import learnt
rows = preprocess.read("train.csv")
features, target = preprocess.features(rows), learnt(rows[preprocess.TARGET])
model = XGBoost(seed=1).fit(features[:200], target[:200], features[200:], target[200:], deadline=0.0)
print(model.rounds, model.predict(features).shape)
"""


def test_trees_have_a_round_where_the_time_is_over_at_once(trained: Train) -> None:
    done = trained("multiclass").project.run("-c", HURRIED)
    assert done.ok and done.stdout.split(maxsplit=1)[0] == "1", done.stderr


@pytest.mark.parametrize("task", TASKS)
def test_predictions_of_new_rows(trained: Train, task: str) -> None:
    one = trained(task)
    said, truth = one.said, one.new["target"]
    if task == "regression":
        error = np.sqrt(np.mean((np.log1p(said["prediction"]) - np.log1p(truth)) ** 2))
        assert error < 0.45, "in the unit of the target"
        assert said["prediction"].between(0.1, 80.0).all()
        return
    classes = one.project.blueprint.classes
    chances = said[[f"probability_{name}" for name in classes]].to_numpy()
    decided = np.array(classes)[(chances * np.array(one.chosen.class_weights or 1.0)).argmax(axis=1)]
    assert list(decided) == list(said["prediction"])
    assert (said["prediction"] == truth).mean() > 0.7


PROBE = """
import pandas as pd, contract, predict, preprocess, sys
rows = preprocess.read("train.csv")
contract.check_rows(rows)
assert [type(value).__name__ for value in rows.iloc[0]] == ["float64", "bool", "Timestamp", "str", "str", "str"]
whole = preprocess.features(rows)
contract.check_features(whole)
some = rows.sample(40, random_state=0)
pd.testing.assert_frame_equal(preprocess.features(some), whole.loc[some.index])
exact = ["0.038075906433423026", "0.05068011873981862", "1e22", "7", "-inf"]
said = {name: [rows[name].dropna().iloc[0]] * len(exact) for name in contract.COLUMNS}
typed = preprocess.typed(pd.DataFrame(said | {"Age (years)": exact}, dtype=object))
assert typed["Age (years)"].tolist() == [float(text) for text in exact]
assert not [name for name in sys.modules if name.startswith("palmette")]

raw = pd.read_csv("train.csv", dtype=str, keep_default_na=False).head()
changes = {
    "City": None, "Age (years)": "old", "joined": "31.31.2024", "member?": "perhaps", "target": "",
}
for name, value in changes.items():
    (raw.drop(columns=name) if value is None else raw.assign(**{name: value})).to_csv("bad.csv", index=False)
    sys.argv = ["predict.py", "--input", "bad.csv", "--output", f"of {name}.csv"]
    try:
        predict.main()
    except contract.ContractError as error:
        print(error)
"""
REFUSED = [
    "rows: column 'City' is missing",
    "rows: column 'Age (years)' is 'old' in row 0: no number",
    "rows: column 'joined' is '31.31.2024' in row 0: no date",
    "rows: column 'member?' is 'perhaps' in row 0: neither yes nor no",
]


def test_features_depend_on_their_row_alone_and_bad_rows_are_refused_by_column_and_value(trained: Train) -> None:
    project = trained("binary").project
    done = project.run("-c", PROBE)
    assert done.ok, done.stderr
    assert done.stdout.splitlines() == REFUSED
    assert [path.name for path in project.folder.glob("of *.csv")] == ["of target.csv"], "the target is not asked for"


def test_the_projects_own_tests_pass(trained: Train) -> None:
    done = trained("binary").project.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error::UserWarning")
    assert done.ok and "skipped" not in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def service(trained: Train, sandbox: Sandbox) -> Iterator[httpx.Client]:
    """The binary project's service, over HTTP."""
    project = trained("binary").project
    port = sandbox.free_port()
    argv, env = project.command("serve.py", "--port", str(port))
    process, relay = sandbox.start(argv, cwd=project.folder, env=env), sandbox.publish("127.0.0.1", port)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
        for _ in range(600):
            try:
                client.get("/health")
                break
            except httpx.TransportError:
                assert process.alive, process.output()
                time.sleep(0.1)
        yield client
    process.stop()
    if relay:
        relay.close()


ROW = {"Age (years)": 31.5, "City": "Rome", "joined": "2024-02-03", "remark": "bad cold dish", "member?": True}


def test_the_service_answers_as_the_file_does(trained: Train, service: httpx.Client) -> None:
    project = trained("binary").project
    assert service.get("/health").json() == {"status": "ok", "members": len(trained("binary").chosen.members)}
    rows = [ROW, ROW | {"City": "Bonn"}, ROW | {"City": None, "Age (years)": None}, {"remark": "good"}]
    pd.DataFrame(rows).reindex(columns=list(ROW)).to_csv(project.folder / "asked.csv", index=False)
    assert project.run("predict.py", "--input", "asked.csv", "--output", "answers.csv").ok
    in_file = pd.read_csv(project.folder / "answers.csv")
    batch = service.post("/predict/batch", json={"rows": rows}).json()
    single = [service.post("/predict", json=row).json() for row in rows]
    assert [one["prediction"] for one in batch] == list(in_file["prediction"])
    for answer, alone, (_, filed) in zip(batch, single, in_file.iterrows(), strict=True):
        expected = {name: filed[f"probability_{name}"] for name in ("bad", "good")}
        assert answer["probabilities"] == pytest.approx(expected, abs=1e-12)
        assert alone["probabilities"] == pytest.approx(expected, abs=1e-12)
    assert service.post("/predict/batch", json={"rows": []}).json() == []


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (ROW | {"Age (years)": "old"}, "Age (years)"),
        (ROW | {"Age (years)": True}, "Age (years)"),
        (ROW | {"Age (years)": "3_0"}, "Age (years)"),
        (ROW | {"joined": "yesterday"}, "joined"),
        (ROW | {"joined": "20240315"}, "joined"),
        (ROW | {"joined": 45366}, "joined"),
        (ROW | {"member?": "perhaps"}, "member?"),
        (ROW | {"city": "Rome"}, "city"),
        (ROW | {"remark": ["a", "b"]}, "remark"),
    ],
)
def test_a_bad_request_gets_422_with_the_field(service: httpx.Client, row: dict[str, Any], field: str) -> None:
    answer = service.post("/predict", json=row)
    assert answer.status_code == 422
    assert [one["loc"][-1] for one in answer.json()["detail"]] == [field]


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud800"', "9" * 4000])
def test_values_that_no_answer_can_hold_get_422(service: httpx.Client, value: str) -> None:
    body, kind = f'{{"no such column": {value}}}', {"content-type": "application/json"}
    reply = service.post("/predict", content=body, headers=kind)
    assert reply.status_code == 422 and reply.json()["detail"][0]["msg"]


@pytest.mark.parametrize("way", ["with its length", "in chunks"])
def test_a_body_that_is_longer_than_most_rows_gets_413(service: httpx.Client, way: str) -> None:
    part, most = b" " * 1_000_000, 10_000 * len(ROW) * 1_000
    parts = [json.dumps(ROW).encode(), *[part] * (most // len(part))]
    body = b"".join(parts) if way == "with its length" else iter(parts)
    assert service.post("/predict", content=body, headers={"content-type": "application/json"}).status_code == 413
    assert service.get("/health").status_code == 200


def test_a_date_that_nanoseconds_cannot_tell_is_a_missing_one(service: httpx.Client) -> None:
    answers = [service.post("/predict", json=ROW | {"joined": day}) for day in ("9999-12-31", "0001-01-01", None)]
    assert {answer.status_code for answer in answers} == {200} and len({answer.text for answer in answers}) == 1


def test_the_api_describes_its_rows(service: httpx.Client) -> None:
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    assert list(schemas["Row"]["properties"]) == list(ROW)
    assert "probabilities" in json.dumps(schemas["Prediction"])
