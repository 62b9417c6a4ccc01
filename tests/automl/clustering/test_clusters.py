"""Clusters of tables: what is written, what a project finds, and by what it is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_samples

from palmette.automl.arguments import arguments_of
from palmette.automl.data.load import Loaded, load
from palmette.automl.material import Material
from palmette.automl.measure import METRICS, Predictions
from palmette.automl.modalities import modality_of
from palmette.automl.modalities.clustering import Blueprint, write_project
from palmette.automl.modalities.clustering.draft import draft
from palmette.automl.modalities.clustering.judge import agreement, degenerate, silhouettes
from palmette.automl.modalities.clustering.matrix import FAR, NAMED, Matrix
from palmette.automl.modalities.clustering.modality import _wrong
from palmette.automl.modalities.tabular import Source
from palmette.automl.project import Project
from palmette.automl.selection import Candidate, Selection, Trial, select
from palmette.engine import run_environment
from palmette.errors import UserError
from palmette.sandbox import Sandbox

MOST_LINES = 210
WORDS = ("kind and quick", "slow on a rainy day", "never came back", "asks for more each time", "a friend of the house")


def visitors(rows: int = 150, seed: int = 0) -> pd.DataFrame:
    """Three kinds of visitors, in columns of every kind; `tribe` says which."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "spent in $": np.exp(np.array([1, 3, 5])[kind] + random.normal(0, 0.4, rows)).round(2),
            "Age": np.array([25, 60, 40])[kind] + random.normal(0, 4, rows).round(1),
            "city": np.array(["Rome", "Oslo", "Paris"])[np.where(random.random(rows) < 0.9, kind, 0)],
            "member": np.where(kind == 1, "yes", "no"),
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(400 * kind + random.integers(0, 90, rows), "D")),
            "remark": [f"{WORDS[one % 5]}, {WORDS[(one + 2) % 5]} ({one})" for one in range(rows)],
            "tribe": np.array(["a", "b", "c"])[kind],
        }
    )
    table.loc[random.random(rows) < 0.1, "Age"] = np.nan
    return table


@dataclass(frozen=True)
class Found:
    """A project that was trained and chosen from."""

    project: Project
    blueprint: Blueprint
    material: Material
    chosen: Selection

    def clusters(self, place: str = "") -> pd.Series:
        """Of the training rows, by their number in the file."""
        name = f"{self.chosen.best_single}.csv"
        return pd.read_csv(self.project.folder / place / "tracks/traditional/out_of_fold" / name)["cluster"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    path = tmp_path_factory.mktemp("visitors") / "visitors.csv"
    visitors().to_csv(path, index=False)
    return load([path])


def drawn(loaded: Loaded, clusters: int | None = None) -> Blueprint:
    return draft([one for one in loaded.dataset.columns if one.name != "tribe"], loaded.table, clusters)


@pytest.fixture(scope="module")
def found(loaded: Loaded, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Found:
    blueprint = drawn(loaded).model_copy(update={"labels": "tribe", "most": 5})
    modality, project = modality_of(blueprint), Project(tmp_path_factory.mktemp("project"), sandbox)
    parts = modality.preparation_files(), modality.track_files("traditional"), modality.shared_files(["traditional"])
    for files in parts:
        project.write(files)
    material = Material(loaded.table, visitors(60, seed=1), None)
    project.lay_out(material, blueprint)
    done = project.train("traditional", blueprint, 3.0)
    assert done.ok, done.stderr
    candidates = modality.candidates(project.folder / "tracks/traditional", material).candidates
    asked = [one for one in candidates if one.trial.algorithm in blueprint.algorithms]
    chosen = select(asked, modality.judge(material))
    members = project.folder / "tracks/traditional/members.json"
    members.write_text(chosen.model_dump_json(), encoding="utf-8")
    return Found(project, blueprint, material, chosen)


def test_a_project_is_clean_and_small_whatever_the_columns(loaded: Loaded, tmp_path: Path) -> None:
    whole = drawn(loaded)
    variants: dict[str, Blueprint] = {"whole": whole, "given": drawn(loaded, 4)}
    for kind in ("numeric", "categorical", "boolean", "datetime"):
        columns = tuple(one for one in whole.columns if one.kind == kind)
        changes = {"columns": columns, "source": Source(format="excel"), "algorithms": ("kmeans",)}
        variants[kind] = whole.model_copy(update=changes)
    for name, blueprint in variants.items():
        for file in write_project(blueprint):
            (tmp_path / name / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file.path).write_text(file.text, encoding="utf-8")
            assert "palmette" not in file.text and file.text.count("\n") <= MOST_LINES, file.path
            assert not file.path.endswith(".py") or "TARGET" not in file.text, file.path
    for arguments in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_blueprint_has_what_distances_can_be_told_of(loaded: Loaded) -> None:
    blueprint = drawn(loaded)
    assert [one.name for one in blueprint.columns] == ["spent in $", "Age", "city", "member", "since"]
    assert [one.name for one in blueprint.dropped] == ["remark"]
    assert blueprint.tried == tuple(range(2, 11)) and drawn(loaded, 4).tried == (4,)
    others = [one for one in loaded.dataset.columns if one.name != "tribe"]
    for least, most, tried in ((3, 6, (3, 4, 5, 6)), (None, 4, (2, 3, 4)), (7, None, tuple(range(7, 15)))):
        assert draft(others, loaded.table, least=least, most=most).tried == tried
    with pytest.raises(UserError, match="100 clusters are asked for, of 150 rows"):
        drawn(loaded, 100)
    one_row = loaded.table.iloc[[0] * 20]
    with pytest.raises(UserError, match="Clusters are asked for, of 20 rows to learn from, 1 of them different"):
        draft([one for one in loaded.dataset.columns if one.name == "Age"], one_row)
    with pytest.raises(UserError, match="No column is left to find clusters by: 'remark' is free words"):
        draft([one for one in loaded.dataset.columns if one.name == "remark"], loaded.table)


def test_the_clusters_that_are_there_are_found(found: Found) -> None:
    kind = found.material.train["tribe"]
    assert found.clusters().nunique() == 3
    assert adjusted_rand_score(kind, found.clusters()) > 0.9
    assert list(found.clusters().value_counts(sort=False).sort_index()) == sorted(kind.value_counts(), reverse=True)
    assert found.chosen.score > 0.3 and len(found.chosen.members) == 1


def test_clusters_of_new_rows_are_scored_against_labels_and_without(found: Found) -> None:
    modality, holdout = modality_of(found.blueprint), found.material.holdout
    right, wrong = pd.factorize(holdout["tribe"])[0], np.arange(len(holdout)) % 3
    scores = {one.metric: one for one in modality.scores(found.material, Predictions(right), Predictions(wrong))}
    assert next(iter(scores)) == "rand" and scores["adjusted_rand"].value == 1.0
    for name in ("rand", "silhouette", "davies_bouldin", "calinski_harabasz"):
        one = scores[name]
        assert one.low <= one.value <= one.high and one.baseline is not None
        assert METRICS[name].better(one.value, one.baseline)


def test_the_order_of_the_rows_changes_nothing(found: Found) -> None:
    """Nor does a second run: of shuffled rows each is in the cluster that it was in."""
    order = np.random.default_rng(3).permutation(len(found.material.train))
    shuffled = Material(found.material.train.iloc[order].reset_index(drop=True), found.material.holdout, None)
    found.project.lay_out(shuffled, found.blueprint, "again")
    given_files = ["--data", "again/train.csv", "--folds", "again/folds.csv", "--out", "again/tracks/traditional"]
    members = ["--members", "tracks/traditional/members.json"]
    done = found.project.python("train.py", *given_files, *members, seconds=60)
    assert done.ok, done.stderr
    assert list(found.clusters("again")) == list(found.clusters().iloc[order])


def test_a_sentence_becomes_clusters_behind_an_endpoint(tmp_path: Path) -> None:
    visitors().to_csv(tmp_path / "visitors.csv", index=False)
    wish = "Cluster these visitors into 3 groups, and compare with tribe. Rand index of at least 0.8."
    arguments = arguments_of(wish, [str(tmp_path / "visitors.csv")], budget=2.0, human="none")
    run = run_environment("automl", arguments, tmp_path / "run")
    assert run.status == "finished", run.reason
    assert "tribe" not in {column["name"] for column in run.value("blueprint")["columns"]}
    assert [(one["wish"], one["status"]) for one in run.value("assessment")["judged"]] == [("rand >= 0.8", "pass")]
    assert run.value("comparison")["measured"] == "on the training rows"
    report = (Path(run.value("delivery")["folder"]) / "report.html").read_text("utf-8")
    assert "Rows in the plane" in report


@pytest.mark.parametrize(
    ("cluster", "wrong"),
    [
        ([0] * 147 + [1] * 3, "147 of 150 rows in one cluster"),
        ([0] * 80 + [1] * 69 + [2], "a cluster of 1 rows"),
        ([0] * 150, "all rows in one cluster"),
        ([-1] * 75 + [1] * 75, "no whole numbers from 0 on"),
        ([0.5] * 75 + [1] * 75, "no whole numbers from 0 on"),
    ],
)
def test_what_is_no_division_is_refused(found: Found, tmp_path: Path, cluster: list[float], wrong: str) -> None:
    """Also where the dummy divides the rows: it is no model."""
    modality = modality_of(found.blueprint)
    folds, rows = modality.folds(found.material), range(150)
    (tmp_path / "out_of_fold").mkdir()
    dummy = np.arange(150) % 3
    for name, made in (("kmeans-1", cluster), ("dummy", dummy)):
        table = pd.DataFrame({"row": rows, "fold": folds, "cluster": made, "other": made})
        table.to_csv(tmp_path / "out_of_fold" / f"{name}.csv", index=False)
    trial = {"algorithm": "kmeans", "settings": {}, "status": "finished", "seconds": 1.0}
    told = json.dumps([trial | {"name": name} for name in ("kmeans-1", "dummy")])
    (tmp_path / "trials.json").write_text(told, encoding="utf-8")
    read = modality.candidates(tmp_path, found.material)
    assert not read.candidates
    assert [one.code for one in read.violations] == ["degenerate"] and wrong in read.violations[0].message


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 3)), min_size=3, max_size=40))
def test_silhouettes_are_those_of_the_formula(points: list[tuple[int, int, int]]) -> None:
    table = np.array(points, dtype=float)
    distances, clusters = pairwise_distances(table[:, :2]), table[:, 2].astype(np.int64)
    made = silhouettes(distances, clusters)
    if 1 < len(set(clusters)) < len(clusters):
        np.testing.assert_allclose(made, np.nan_to_num(silhouette_samples(distances, clusters, metric="precomputed")))
    else:
        assert not made.any()
    order = np.random.default_rng(0).permutation(len(table))
    np.testing.assert_allclose(silhouettes(distances[np.ix_(order, order)], 7 - clusters[order]), made[order])


def test_equal_rows_are_dealt_to_both_halves_in_whatever_order(loaded: Loaded) -> None:
    modality, rows = modality_of(drawn(loaded)), loaded.table.iloc[[0, 1] * 10 + [2, 3, 4]]
    halves = modality.folds(Material(rows.reset_index(drop=True), rows, None))
    for first in (0, 1):
        assert sorted(halves[first:20:2]) == [0] * 5 + [1] * 5
    backwards = modality.folds(Material(rows.iloc[::-1].reset_index(drop=True), rows, None))
    assert list(backwards[:3][::-1]) == list(halves[20:])


def test_halves_agree_where_both_models_divide_alike() -> None:
    folds, clusters = np.arange(40) % 2, np.arange(40) // 10
    assert agreement(np.column_stack([clusters, 3 - clusters]), folds) == 1.0
    assert agreement(np.column_stack([clusters, clusters % 2]), folds) < 0.6
    assert not degenerate(clusters)


def test_the_matrix_of_the_harness_draws_far_rows_in_and_fills_gaps(loaded: Loaded) -> None:
    rows, columns = loaded.table, drawn(loaded).columns
    seen = Matrix(rows, columns)
    odd = rows.iloc[:2].copy()
    odd.loc[0, "spent in $"], odd.loc[1, "Age"], odd.loc[1, "city"] = 1e12, np.nan, "Lima"
    made = seen.of(odd)
    assert made.shape == (2, 3 + 3 + 2) and np.isfinite(made).all()
    assert made[0, 0] == FAR and made[1, 1] == 0.0
    assert not made[1, 3:6].any() and made[0, 3:6].sum() == NAMED
    np.testing.assert_array_equal(seen.of(rows)[:2, 2], made[:, 2])


def test_predictions_that_are_no_clusters_are_refused(loaded: Loaded) -> None:
    modality = modality_of(drawn(loaded))
    assert list(modality.predictions(pd.DataFrame({"prediction": ["1", "0"]}), 2).values) == [1, 0]
    for said in (["1"], ["1", "-1"], ["1", "0.5"]):
        with pytest.raises(ValueError, match=r"answers|whole number"):
            modality.predictions(pd.DataFrame({"prediction": said}), 2)
    assert isinstance(modality.predictions(pd.DataFrame({"prediction": ["0"]}), 1), Predictions)


@pytest.mark.parametrize("number", [1e300, 1e12, -1.0, 0.5])
def test_numbers_up_to_which_nobody_could_count_are_no_clusters(number: float) -> None:
    tried = Trial(name="a", algorithm="kmeans", settings={}, status="finished", seconds=1.0)
    outputs = np.array([[0.0, 0.0], [number, 1.0]] * 10)
    assert "whole numbers" in _wrong(Candidate(tried, outputs), (2,))
