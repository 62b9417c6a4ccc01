"""Node classification: what is visible, what stays hidden, and the package with its endpoint."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from small_graphs import PLAIN, SGC, graph_blueprint, graph_splits, tables, written

from palmette.automl.calls import build
from palmette.automl.candidates import Candidate, ChosenMember, Selection
from palmette.automl.composition import available_learners, encoder_of, learner_of, reader_of
from palmette.automl.endpoint.checking import answers_of, check_endpoint, of_tests, row_exchanges, rows_of_requests
from palmette.automl.endpoint.retraining import _visible
from palmette.automl.endpoint.service import Service
from palmette.automl.measure.metrics import Predictions
from palmette.automl.problem_traits import problems_of
from palmette.automl.problems.graph.problem import homophily
from palmette.automl.problems.problem import EnsembleMember, problem_of
from palmette.automl.project.built import BuiltPackage
from palmette.automl.project.reading import in_file_form
from palmette.automl.project.writer import write_package
from palmette.automl.samples.load import load
from palmette.automl.search.job import CONTEXT, ROWS
from palmette.automl.search.runs import Search
from palmette.automl.splitting.data_splits import DataSplits, SplitRequest, _splits
from palmette.sandbox import Sandbox


def test_a_target_of_classes_in_a_graph_is_a_node_classification() -> None:
    graph = {"node", "number", "edges"}
    assert problems_of(("classification",), {"number"}) == ("classification",)
    assert problems_of(("regression", "classification"), graph) == ("node_classification",)  # type: ignore[arg-type]  # a set of literals
    learners = available_learners("node_classification", ("node", "number", "edges"))
    assert {"sgc", "neighbourhood", "label_smoothing", "linear", "lightgbm"} <= {*learners}
    assert not {"sgc", "gcn"} & {*available_learners("classification", ("number",))}


def test_hidden_classes_are_hidden_and_all_nodes_visible(tmp_path: Path) -> None:
    samples = load([written(tmp_path)]).samples
    splits = _splits(samples, SplitRequest(target="area", problem="node_classification"))
    assert splits.context is not None and "area" not in splits.context
    assert len(splits.train) + len(splits.context) == samples.rows
    assert {*splits.holdout["paper"]} <= {*splits.context["paper"]}
    shown = splits.visible
    assert shown["area"].isna().sum() == len(splits.context) and shown["paper"].is_unique
    part = splits.sample(50, 0)
    assert len(part.train) == 50 and part.context is not None and len(part.visible) == samples.rows
    plain = _splits(samples, SplitRequest(target="area", problem="classification"))
    assert plain.context is None


def test_a_column_of_parts_leaves_rows_without_a_part_out_of_both(tmp_path: Path) -> None:
    nodes, edges = tables()
    parts = np.array(["train", "test", "unused"])[np.arange(len(nodes)) % 3]
    nodes.assign(split=np.where(np.arange(len(nodes)) % 9 == 2, "", parts)).to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    samples = load([tmp_path]).samples
    assert samples.split_column == "split"
    splits = _splits(samples, SplitRequest(target="area", problem="node_classification", column="split"))
    assert {*splits.train["split"]} == {"train"} and {*splits.holdout["split"]} == {"test"}
    assert splits.context is not None and "unused" in {*splits.context["split"]}


def test_a_fold_learns_from_columns_of_all_nodes_and_classes_of_some(tmp_path: Path) -> None:
    splits, blueprint = graph_splits(tmp_path), graph_blueprint()
    problem = problem_of(blueprint)
    assert splits.context is not None
    reader = build(reader_of(blueprint))
    nodes = problem.inputs(reader.fit_transform(splits.train.drop(columns="area")), reader.transform(splits.context))
    assert len(nodes) == len(splits.train) and nodes.links.shape[0] == 240
    fold = problem.folds(splits) == 0
    sees, plain = (build(encoder_of(one, blueprint)) for one in (SGC, PLAIN))
    target = problem.encoded_target(splits.train, SGC.strategy)
    assert target is not None
    assert sees.fit_transform(nodes[~fold], target[~fold]).rows.shape[0] == 240
    assert len(sees.transform(nodes[fold])) == fold.sum()
    assert plain.fit_transform(nodes[~fold], target[~fold]).shape[0] == (~fold).sum()


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, DataSplits, Search]:
    folder = tmp_path_factory.mktemp("graph")
    splits, blueprint = graph_splits(folder), graph_blueprint()
    search = Search(folder / "search", blueprint, splits, Sandbox())
    return search.run(20.0), splits, search


def test_the_search_prefers_the_graph_where_neighbours_are_alike(searched: tuple[Any, DataSplits, Search]) -> None:
    run, splits, search = searched
    assert not run.failures
    scorer = problem_of(search.blueprint).scorer(splits)
    scores = {one.name: scorer.utility(one.outputs) for one in run.results}
    assert scores["sgc"] > scores["linear"] + 0.1 and scores["sgc"] > 0.8


def test_no_job_holds_a_hidden_class(
    searched: tuple[Any, DataSplits, Search], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, splits, search = searched
    seen: dict[str, pd.DataFrame] = {}

    def look(_: Sandbox, __: str, folder: Path, ___: float) -> None:
        seen.update(rows=pd.read_parquet(folder / ROWS), context=pd.read_parquet(folder / CONTEXT))

    monkeypatch.setattr("palmette.automl.search.runs.run_module", look)
    from palmette.automl.search.job import SearchJob

    job = SearchJob(blueprint=search.blueprint, candidates=(SGC,), seconds=1.0, started=0.0, workers=1)
    search.drive(job, (), splits.train, "job")
    assert "area" not in seen["context"] and not {*splits.holdout["paper"]} & {*seen["rows"]["paper"]}


def test_homophily_is_the_share_of_edges_inside_a_class(tmp_path: Path) -> None:
    for alike, words in ((0.95, "neighbours are alike"), (0.0, "edges tell little")):
        splits, problem = graph_splits(tmp_path, alike=alike), problem_of(graph_blueprint())
        frame = build(reader_of(problem.blueprint)).fit_transform(splits.train)
        assert words in homophily(problem.inputs(frame, None), splits.train["area"].to_numpy())
    facts = problem.report_data(splits, None, {}, "")
    assert any(one.startswith("Homophily") for one in facts.limits)


def test_nodes_without_columns_are_known_by_their_neighbours(tmp_path: Path) -> None:
    table, edges = tables()
    table[["paper", "area"]].to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    columns = tuple(one for one in graph_blueprint().columns if one.kind != "number")
    blueprint = graph_blueprint(columns=columns)
    rows = load([tmp_path]).table
    member = EnsembleMember(SGC, 1.0, encoder_of(SGC, blueprint), learner_of(SGC, blueprint))
    typed = build(reader_of(blueprint)).fit_transform(rows)
    known = rows["area"].where(np.arange(len(rows)) % 2 == 0, None)
    problem = problem_of(blueprint)
    model = build(problem.decided(problem.assembled((member,), "single"), None)).fit(typed, known)
    hidden = np.flatnonzero(known.isna() & rows["area"].notna())
    assert (model.predict(typed)[hidden] == rows["area"].to_numpy()[hidden]).mean() > 0.8
    assert model.predict(typed.head(1).assign(paper="new")).tolist() == [model.predict(typed.head(1))[0]]
    (package,) = (one for one in write_package(blueprint, selected(SGC)) if one.path.endswith("features.py"))
    assert "ColumnTransformer(transformers=[])" in package.text


def test_nodes_are_clustered_by_their_columns_and_those_of_their_neighbours(tmp_path: Path) -> None:
    assert problems_of(("clustering",), {"node", "number", "edges"}) == ("node_clustering",)
    found = graph_splits(tmp_path, alike=1.0)
    assert found.context is not None
    splits = replace(found, train=found.train.drop(columns="area"), holdout=found.holdout.drop(columns="area"))
    kmeans = Candidate(name="kmeans", learner="kmeans", settings={"n_clusters": 3})
    fields = {"problem": "node_clustering", "target": "", "metric": "silhouette", "classes": (), "clusters": (3,)}
    blueprint = graph_blueprint(**fields, candidates=(kmeans,))
    problem, reader = problem_of(blueprint), build(reader_of(blueprint))
    member = EnsembleMember(kmeans, 1.0, encoder_of(kmeans, blueprint), learner_of(kmeans, blueprint))
    model = build(problem.decided(problem.assembled([member], "single"), None)).fit(
        reader.fit_transform(splits.visible)
    )
    made = model.predict(reader.transform(splits.holdout))
    assert adjusted_rand_score(found.holdout["area"], made) > 0.5
    assert model[:-1].transform(reader.transform(splits.holdout)).shape == (60, 2)
    outputs = np.column_stack([model.predict(reader.transform(splits.train))] * 2).astype(float)
    assert problem.scorer(splits).score(outputs) > 0.2
    (silhouette, *_) = problem.scores(splits, Predictions(made), None)
    assert silhouette.metric == "silhouette" and silhouette.value > 0.2


# The package


def selected(candidate: Any) -> Selection:
    member = ChosenMember(candidate=candidate, weight=1.0)
    return Selection(
        metric="accuracy", score=0.9, members=(member,), ensembling="single", best_single=candidate.name,
        apparent_score=0.9,
    )  # fmt: skip


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuiltPackage, DataSplits]:
    folder = tmp_path_factory.mktemp("package")
    splits, blueprint = graph_splits(folder), graph_blueprint()
    package = BuiltPackage(folder / "package", Sandbox(), blueprint)
    package.write(write_package(blueprint, selected(SGC)))
    done = package.fit(splits.visible, folder / "fit", 120)
    assert done.ok, done.stderr
    return package, splits


def test_the_package_and_its_endpoint_answer_for_known_and_new_nodes(
    delivered: tuple[BuiltPackage, DataSplits], tmp_path: Path
) -> None:
    package, splits = delivered
    code = [one for one in package.folder.rglob("*.py") if "tests" not in one.parts]
    assert sum(len(one.read_text().splitlines()) for one in code) <= 600
    assert not [one for one in code if "import palmette" in one.read_text() or "from palmette" in one.read_text()]
    made = package.predict(splits.holdout, tmp_path / "new")
    assert isinstance(made, Predictions), made
    assert (made.values == splits.holdout["area"].to_numpy()).mean() > 0.75
    rows = rows_of_requests(in_file_form(splits.holdout.drop(columns="area"), package.blueprint))
    with Service(Sandbox(), package.folder) as service:
        assert service.is_healthy()
        assert not check_endpoint(service, row_exchanges(rows, answers_of(made), ("size", "year")))
        by_id = service.call("GET", f"/nodes/{rows[0]['paper']}").data()
        assert by_id == service.call("POST", "/predict", rows[0]).data()
        new = {"paper": "new", "size": None, "year": 1995, "neighbours": str(rows[0]["paper"])}
        answer = service.call("POST", "/predict", new)
        listed = service.call("POST", "/predict", {**new, "neighbours": [rows[0]["paper"]]})
        assert answer.status == 200 and answer.data() == listed.data()
        first, second = ({**new, "paper": name} for name in ("new", "other"))
        linked = [{**first, "neighbours": [rows[0]["paper"], "other"]}, {**second, "neighbours": "new"}]
        together = service.call("POST", "/predict/batch", {"rows": linked})
        alone = service.call("POST", "/predict/batch", {"rows": [first, second]})
        assert together.status == 200 and together.data()[0] != alone.data()[0] == answer.data()
        one_side = [linked[0], {**second, "neighbours": ""}]  # an edge counts for both nodes if either lists it
        assert service.call("POST", "/predict/batch", {"rows": one_side}).data() == together.data()
        strange = service.call("POST", "/predict", {**new, "neighbours": "p1 nobody"})
        assert strange.status == 422 and "'nobody' is not in the graph" in strange.text
        absent = service.call("GET", "/nodes/nobody")
        assert absent.status == 422 and "'nobody' is not in the graph" in absent.text


def test_a_package_adds_neighbours_and_refits_on_nodes_that_the_old_model_does_not_know(tmp_path: Path) -> None:
    loaded, blueprint = load([written(tmp_path)]), graph_blueprint()
    package = BuiltPackage(
        tmp_path / "package", Sandbox(), blueprint.model_copy(update={"format": loaded.samples.format})
    )
    package.write(write_package(package.blueprint, selected(SGC)))

    def run(program: str, *given: str) -> str:
        command = [sys.executable, str(package.folder / program), *given]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    run("join.py", "--data", "nodes.csv", "--related", ".", "--output", "joined.parquet")
    joined = pd.read_parquet(tmp_path / "joined.parquet")
    for found, known in zip(joined["neighbours"], loaded.table["neighbours"], strict=True):
        assert sorted(json.loads(found or "[]")) == sorted((known or "").split())
    known = joined.head(150)
    inside = [
        json.dumps([one for one in json.loads(cell) if one in set(known["paper"])]) for cell in known["neighbours"]
    ]
    known.assign(neighbours=inside).to_parquet(tmp_path / "known.parquet")
    run("train.py", "--data", "known.parquet", "--no-compare", "--replace")
    assert "held-out rows (greater is better): old 0." in run("train.py", "--data", "joined.parquet")


def test_the_package_passes_its_own_tests(delivered: tuple[BuiltPackage, DataSplits]) -> None:
    package, _ = delivered
    measured, wrong = of_tests(package.sandbox, package.folder)
    assert wrong is None, wrong
    assert measured.status == "passed"


def test_a_new_fit_sees_held_out_nodes_without_their_class(tmp_path: Path) -> None:
    splits, blueprint = graph_splits(tmp_path), graph_blueprint()
    assert splits.context is not None
    shown = _visible(splits.train, [splits.holdout], blueprint)
    assert len(shown) == len(splits.train) + len(splits.holdout)
    assert shown["area"].isna().sum() == len(splits.holdout)
