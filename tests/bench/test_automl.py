"""The AutoML bench: scores by hand, tables from records, medals, and the requests that it writes."""

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from palmette.automl.actors.debugger.actor import _CHANGE as CHANGE
from palmette.automl.environment import topology_file
from palmette.engine import lint, load_topology
from palmette.knowledge.memory import Memory, RunMemory
from palmette_bench.automl import faulty_coder, mle
from palmette_bench.automl.command import _remembered, main
from palmette_bench.automl.mle import grade, medal_ranks, standing
from palmette_bench.automl.prompts import PROMPTS, prompt, stripped
from palmette_bench.automl.records import Cell, Record, open_cells
from palmette_bench.automl.scoring import normalised, score, success
from palmette_bench.automl.sets import bench_set, bench_sets, prepare
from palmette_bench.automl.studies import FIVE, STUDIES, cells
from palmette_bench.automl.tables import table
from palmette_bench.automl.variants import varied
from palmette_bench.record_files import append, read_records


@pytest.mark.parametrize(
    ("metric", "truth", "found", "value"),
    [
        ("accuracy", [1, 0, 1, 1], [1.0, 0.0, 0.0, 1.0], 0.75),
        ("f1", ["good", "bad", "good"], ["good", "good", "good"], 0.8),
        ("rand", [0, 0, 1, 1], ["b", "b", "a", "a"], 1.0),
        ("rmsle", [0.0, 3.0], [0.0, 3.0], 0.0),
        ("rmse", [1.0, 3.0], [2.0, 4.0], 1.0),
        ("mae", [1.0, 3.0], [2.0, 1.0], 1.5),
    ],
)
def test_scores_equal_those_by_hand(metric: str, truth: list[object], found: list[object], value: float) -> None:
    assert score(metric, truth, pd.DataFrame({"prediction": found}), "good") == pytest.approx(value)


def test_predictions_that_do_not_fit_have_no_score() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 rows"):
        score("accuracy", [1, 2], pd.DataFrame({"prediction": [1]}))


@pytest.mark.parametrize(
    ("answered", "served", "constraints", "aware", "rate"),
    [
        (False, True, "", False, 0.0),
        (True, False, "", False, 0.5),
        (True, True, "", False, 1.0),
        (True, False, "pass", True, 0.25),
        (True, True, "fail", True, 0.5),
        (True, True, "partly", True, 0.75),
        (True, True, "pass", True, 1.0),
    ],
)
def test_success_follows_the_published_scale(
    answered: bool, served: bool, constraints: str, aware: bool, rate: float
) -> None:
    assert success(answered, served, constraints, aware) == rate


def test_losses_are_normalised() -> None:
    assert (normalised("rmsle", 1.0), normalised("accuracy", 0.9), normalised("f1", None)) == (0.5, 0.9, 0.0)


def test_every_set_has_five_prompts_and_those_of_agents_a_limit() -> None:
    for one in bench_sets().values():
        assert one.target in stripped(one) or one.clusters
        if one.agent:
            assert len({prompt(one, setting, wording) for setting, wording in PROMPTS}) == len(PROMPTS)


def test_a_study_continues_where_it_was_interrupted(tmp_path: Path) -> None:
    runs, file = list(cells("plans", range(2))), tmp_path / "records.jsonl"
    assert len(runs) == 2 * 3 * len(FIVE)
    append(file, Record(cell=runs[0], outcome="delivered"))
    file.write_text(file.read_text() + '\n{"cell": {"stu')
    append(file, Record(cell=runs[1], outcome="failed"))
    assert open_cells(runs, read_records(file, Record)) == runs[2:]


def test_tables_name_what_was_not_delivered() -> None:
    good = Record(cell=Cell(study="iml", set="titanic"), outcome="delivered", normalised=0.8, better=True)
    bad = Record(cell=Cell(study="iml", set="titanic", wording="stripped"), outcome="refused", reason="no target")
    text = table("iml", [good, bad])
    assert "| full description | 1 | 100% | 0.800 | 100% |" in text
    assert "- titanic, palmette, free, stripped, seed 0: refused; no target" in text


def test_peers_are_ranked_over_the_sets_that_all_have() -> None:
    records = [
        Record(cell=Cell(study="peers", set=name, system=system), outcome="delivered", normalised=value)
        for name in ("titanic", "telco_churn")
        for system, value in (("palmette", 0.8), ("lightgbm", 0.7))
    ]
    text = table("peers", records)
    assert "| lightgbm | -0.1000 (-0.1000 to -0.1000) | 0% | 2.00 |" in text


def test_the_faulty_coder_fails_and_repairs_at_the_published_rates() -> None:
    prompts = [f"The columns:\n\n```\nc{number}\n```\n\nCandidates of the plan:" for number in range(300)]
    modules, right = [faulty_coder.written(prompt, "0") for prompt in prompts], f"{faulty_coder.LINE}\n"
    valid = []
    for _ in range(11):
        failing = [one for one in modules if right not in one]
        valid.append(1 - len(failing) / len(prompts))
        found = [(one, CHANGE.search(faulty_coder.repaired(f"The modules:\n{one}"))) for one in failing]
        modules = [one.replace(*change.groups()) for one, change in found if change]
    assert [valid[0], valid[1], valid[10]] == pytest.approx([0.4, 0.6, 0.85], abs=0.06)


@pytest.mark.parametrize(
    "fields",
    [
        {"knowledge": "none"},
        {"knowledge": "noise"},
        {"topology": "iml", "faults": True},
        {"topology": "iml_mono", "faults": True},
        {"topology": "iml", "faults": True, "repairs": 3},
    ],
    ids=str,
)
def test_a_variant_is_another_topology_memory_or_model(fields: dict[str, Any], tmp_path: Path) -> None:
    cell = Cell(study="knowledge", set="titanic", **fields)
    one = RunMemory(run="r1", ended=datetime(2026, 1, 1, tzinfo=UTC), environment="automl")
    variant = varied(cell, tmp_path, [one])
    topology = load_topology(topology_file(variant.topology))
    assert not lint(topology)
    assert ("knowledge_retriever" in topology.value.actors) == (cell.knowledge != "none")
    assert bool(Memory(tmp_path / "memory.sqlite").all()) == (cell.knowledge == "noise")
    assert any("debugger=command:" in option for option in variant.options) == cell.faults


def test_a_memory_holds_the_other_sets_only() -> None:
    ended = datetime(2026, 1, 1, tzinfo=UTC)
    records = [
        Record(cell=Cell(study="knowledge", set=name, seed=seed), outcome="delivered",
               remembered=RunMemory(run=f"{name}{seed}", ended=ended, environment="automl"))
        for name in ("titanic", "telco_churn") for seed in (0, 1)
    ]  # fmt: skip
    asked = Cell(study="knowledge", set="titanic", knowledge="memory")
    assert [one.run for one in _remembered(asked, records)] == ["telco_churn0"]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_runs(name: str) -> None:
    assert len({*cells(name, range(1))}) == len(STUDIES[name].sets) * len(STUDIES[name].varied)


def test_a_submission_is_graded_and_ranked(tmp_path: Path) -> None:
    answers = pd.DataFrame({"id": [1, 2, 3], "y": ["a", "b", "a"]})
    value = grade(pd.DataFrame({"id": [3, 1, 2], "y": ["a", "a", "a"]}), answers, "y", "accuracy")
    pd.DataFrame({"score": [0.9, 0.5, 0.4, 0.3, 0.2]}).to_csv(tmp_path / "leaderboard.csv", index=False)
    assert value == pytest.approx(2 / 3)
    assert standing(value, tmp_path, "accuracy") == {
        "rank": 2, "teams": 5, "medal": "bronze", "above_median": True, "leaderboard": "as published",
    }  # fmt: skip
    assert medal_ranks(500) == (11.0, 50.0, 100.0)


def test_a_competition_may_be_in_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {"public/train": "id,x,y\n1,0,a\n", "public/test": "id,x\n2,0\n", "private/test": "id,y\n2,a\n"}
    tables |= {"public/sample_submission": "id,y\n2,b\n", "../leaderboard": "score\n0.5\n"}
    for name, text in tables.items():
        file = tmp_path / "one" / "prepared" / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        options = dict(pairwise(command))
        assert (cwd / options["--data"]).is_dir()
        (cwd / options["--out"]).mkdir()
        (cwd / options["--out"] / "submission.csv").write_text("id,y\n2,a\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(mle, "run_command", run)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(mle.main, ["one", "--metric", "accuracy"], catch_exceptions=False)
    assert json.loads(done.output)["score"] == 1.0


@pytest.mark.parametrize("options", [("--metric", "roc_auc"), ("--metric", "accuracy", "--rebuild", "titanic")])
def test_options_that_need_another_one_are_refused_without_it(options: tuple[str, ...]) -> None:
    done = CliRunner().invoke(mle.main, ["one", *options])
    assert done.exit_code == 2 and " needs --" in done.output


def test_an_unknown_set_is_named_before_anything_runs(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["agent", "--data", str(tmp_path), "--sets", "cora,coral"])
    assert done.exit_code == 2 and "no set coral" in done.output


def test_answers_are_hidden_from_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "sets" / "titanic"
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("files: [titanic.csv]")
    rows = pd.DataFrame({"PassengerId": range(6), "Survived": [0, 1] * 3, "Age": range(20, 26)})
    rows.to_csv(folder / "titanic.csv", index=False)
    parts = pd.DataFrame({"row": range(6), "split": ["train", "train", "valid", "train", "test", "test"]})
    parts.to_csv(folder / "split.csv.gz", index=False)
    made = prepare(bench_set("titanic"), tmp_path / "sets", tmp_path / "made")
    assert list(made.questions[0].truth) == [0, 1]
    assert list(pd.read_csv(made.questions[0].file)) == ["Age"]
    assert len(pd.read_csv(made.data[0])) == 4
