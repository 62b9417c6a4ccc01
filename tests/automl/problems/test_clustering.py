"""Clusters: numbers that are tried, what is not a division, agreement of halves, scores beside labels."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from PIL import Image
from small_blueprints import blueprint, guests, profile, splits

from palmette.automl.calls import build
from palmette.automl.candidates import ColumnUse, Folds
from palmette.automl.composition import embedding_encoder, encoder_of, facts_of, learner_of, reader_of
from palmette.automl.measure.metrics import METRICS, Predictions, score
from palmette.automl.problems.clustering.problem import Clustering, numbers_of_clusters
from palmette.automl.problems.clustering.scorer import agreement, degenerate, matrix_of
from palmette.automl.problems.problem import EnsembleMember, problem_named
from palmette.automl.task_spec.spec import Clusters, TaskSpec
from palmette.errors import UserError

PROBLEM = Clustering(blueprint("", labels="tribe"))
ANYTHING = profile("", "clustering")


def visitors(rows: int = 150, seed: int = 0) -> pd.DataFrame:
    """Three kinds of guests that lie apart; `tribe` names them."""
    kind = np.random.default_rng(seed).integers(0, 3, rows)
    table = guests(rows, seed)
    table["size"] = table["size"] * 0.2 + np.array([0, 4, 8])[kind]
    table["age"] = table["age"] * 0.1 + np.array([20, 80, 50])[kind]
    table["city"] = np.array(["Rome", "Oslo", "Paris"])[kind]
    return table.assign(tribe=np.array(["a", "b", "c"])[kind])


def outputs(*clusters: Any) -> np.ndarray:
    return np.column_stack([np.array(one, dtype=float) for one in (clusters * 2)[:2]])


@pytest.mark.parametrize(
    ("wish", "rows", "tried"),
    [
        ({}, 150, tuple(range(2, 11))),
        ({}, 30, (2, 3, 4, 5)),
        ({"count": 4}, 150, (4,)),
        ({"least": 3, "most": 6}, 150, (3, 4, 5, 6)),
        ({"most": 4}, 150, (2, 3, 4)),
        ({"least": 7}, 150, tuple(range(7, 15))),
    ],
)
def test_numbers_of_clusters(wish: dict[str, int], rows: int, tried: tuple[int, ...]) -> None:
    assert numbers_of_clusters(TaskSpec(clusters=Clusters(**wish)), rows, rows) == tried


@pytest.mark.parametrize(("wish", "different"), [({"count": 100}, 150), ({}, 1)])
def test_too_many_clusters_are_refused(wish: dict[str, int], different: int) -> None:
    with pytest.raises(UserError, match=f"of 150 training rows, {different} of them different"):
        numbers_of_clusters(TaskSpec(clusters=Clusters(**wish)), 150, different)


def test_a_draft_names_labels_and_halves() -> None:
    made = problem_named("clustering").draft(TaskSpec(labels="tribe", metric="rand"), ANYTHING, visitors())
    assert (made["metric"], made["labels"], made["folds"]) == ("rand", "tribe", Folds(count=2))
    with pytest.raises(UserError, match="no column of labels"):
        problem_named("clustering").objective(TaskSpec(metric="rand"))
    text = ANYTHING.model_copy(update={"columns": (ColumnUse(name="note", kind="constant"),)})
    with pytest.raises(UserError, match="No column is left"):
        problem_named("clustering").draft(TaskSpec(), text, visitors())


@pytest.mark.parametrize(
    ("cluster", "wrong"),
    [
        ([0] * 147 + [1] * 3, "147 of 150 rows in one cluster"),
        ([0] * 80 + [1] * 69 + [2], "a cluster of 1 rows"),
        ([0] * 150, "all rows in one cluster"),
        ([-1] * 75 + [1] * 75, "not whole numbers from 0 on"),
        ([0.5] * 75 + [1] * 75, "not whole numbers from 0 on"),
        ([0] * 75 + [1e12] * 75, "not whole numbers from 0 on"),
        (np.arange(150) % 5, "5 clusters, not 2 to 3"),
    ],
)
def test_what_is_no_division_is_refused(cluster: Any, wrong: str) -> None:
    assert wrong in PROBLEM.output_error(outputs(cluster))
    assert not PROBLEM.output_error(outputs(np.arange(150) % 3))


def test_equal_rows_are_dealt_to_both_halves_in_whatever_order() -> None:
    rows = visitors().iloc[[0, 1] * 10 + [2, 3, 4]].reset_index(drop=True)
    halves = PROBLEM.folds(splits(rows))
    for first in (0, 1):
        assert sorted(halves[first:20:2]) == [0] * 5 + [1] * 5
    backwards = PROBLEM.folds(splits(rows.iloc[::-1].reset_index(drop=True)))
    assert list(backwards[:3][::-1]) == list(halves[20:])


def test_halves_agree_where_both_models_divide_alike() -> None:
    folds, clusters = np.arange(40) % 2, np.arange(40) // 10
    assert agreement(outputs(clusters, 3 - clusters), folds) == 1.0
    assert agreement(outputs(clusters, clusters % 2), folds) < 0.6
    assert not degenerate(clusters)


def test_clusters_that_halves_do_not_confirm_rank_last() -> None:
    rows = visitors()
    scorer, kind = PROBLEM.scorer(splits(rows)), pd.factorize(rows["tribe"])[0]
    chance = np.random.default_rng(7).integers(0, 3, 150)
    assert scorer.utility(outputs(kind)) > 0.3 > scorer.utility(outputs(chance)) > scorer.utility(outputs(kind, chance))
    assert scorer.gain(outputs(kind), outputs(chance)).low > 0


def test_a_named_metric_chooses() -> None:
    """Labels choose where the metric compares with them; the search, which has no labels, keeps the silhouette."""
    rows = visitors().assign(tribe=lambda table: table["member"])
    by_tribe, by_city = (outputs(pd.factorize(rows[name])[0]) for name in ("tribe", "city"))
    for metric, hidden, best in (
        ("nmi", [], "tribe"),
        ("homogeneity", [], "tribe"),
        ("nmi", ["tribe"], "city"),
        ("davies_bouldin", [], "city"),
    ):
        problem = Clustering(blueprint("", metric=metric, labels="tribe"))
        scorer = problem.scorer(splits(rows.drop(columns=hidden)))
        assert scorer.metric.name == ("silhouette" if hidden else metric)
        first, second = (by_tribe, by_city) if best == "tribe" else (by_city, by_tribe)
        assert scorer.utility(first) > scorer.utility(second) and scorer.gain(first, second).low > 0
        assert scorer.score(first) in scorer.interval(first)
    assert numbers_of_clusters(TaskSpec(), 150, 150, 12)[-1] == 12


def test_the_matrix_draws_far_rows_in_and_fills_gaps() -> None:
    rows = visitors()
    odd = rows.iloc[:2].copy()
    odd.loc[0, "size"], odd.loc[1, "age"], odd.loc[1, "city"] = 1e12, np.nan, "Lima"
    made = matrix_of(rows, PROBLEM.blueprint, odd)
    assert made.shape == (2, 2 + 1 + 3) and np.isfinite(made).all()
    assert made[0, 0] == 3.0 and abs(made[1, 1]) < 0.5
    assert not made[1, 3:6].any() and made[0, 3:6].sum() == 0.5


def test_clusters_of_new_rows_are_scored_against_labels_and_without() -> None:
    holdout = visitors(60, seed=1)
    judged = splits(visitors(), holdout)
    right, wrong = Predictions(pd.factorize(holdout["tribe"])[0]), Predictions(np.arange(60) % 3)
    scores = {one.metric: one for one in PROBLEM.scores(judged, right, wrong)}
    assert next(iter(scores)) == "silhouette" and scores["adjusted_rand"].value == 1.0
    for name in ("rand", "silhouette", "davies_bouldin", "calinski_harabasz"):
        one = scores[name]
        assert one.low <= one.value <= one.high and one.baseline is not None
        assert METRICS[name].better(one.value, one.baseline)
    assert PROBLEM.better(judged, right, wrong) and not PROBLEM.better(judged, wrong, right)
    by_labels = Clustering(blueprint("", metric="nmi", labels="tribe"))
    assert by_labels.scores(judged, right, wrong)[0].metric == "nmi"


def test_the_delivered_model_finds_the_clusters_of_new_rows() -> None:
    drawn, rows = blueprint("", clusters=(3,)), visitors()
    chosen = drawn.candidates[0].model_copy(update={"settings": {"n_clusters": 3}})
    member = EnsembleMember(chosen, 1.0, encoder_of(chosen, drawn), learner_of(chosen, drawn))
    frame = build(reader_of(drawn)).fit_transform(rows)
    fitted = build(Clustering(drawn).assembled([member], "single")).fit(frame)
    new = visitors(60, seed=1)
    found = fitted.predict(build(reader_of(drawn)).fit_transform(new))
    assert score(METRICS["adjusted_rand"], new["tribe"].to_numpy(), Predictions(found)) == 1.0


def test_predictions_that_are_no_clusters_are_refused() -> None:
    assert list(PROBLEM.predictions(pd.DataFrame({"prediction": ["1", "0"]}), 2).values) == [1, 0]
    for made in (["1"], ["1", "-1"], ["1", "0.5"]):
        with pytest.raises(ValueError, match=r"predictions for|whole number"):
            PROBLEM.predictions(pd.DataFrame({"prediction": made}), 2)


def test_the_report_shows_what_clusters_are_like() -> None:
    rows = visitors()
    two, three = rows["tribe"] == "a", pd.factorize(rows["tribe"])[0]
    data = PROBLEM.report_data(splits(rows), None, {"two": outputs(two), "three": outputs(three)}, "three")
    assert [one.title for one in data.figures] == ["Silhouette", "Rows in the plane"]
    assert sum(data.sizes) == 150 and {one.name for one in data.columns} == {
        "size",
        "age",
        "city",
        "member",
    }
    assert not PROBLEM.report_data(splits(rows), None, {}, "three").sizes


def unlike_files(kind: str) -> list[bytes]:
    """Files of three sorts, in turn."""
    random, made = np.random.default_rng(0), []
    for place in range(60):
        file = io.BytesIO()
        if kind == "image":
            pixels = random.integers(0, 60, (24, 24, 3)).astype(np.uint8)
            pixels[(slice(4, 20, 2), slice(None), slice(8, 16))[place % 3]] = (230, 200, 40 * (place % 3))
            Image.fromarray(pixels).save(file, "PNG")
        else:
            wave = np.sin(2 * np.pi * (300, 700, 1500)[place % 3] * np.arange(4000) / 8000)
            soundfile.write(file, 0.3 * wave + 0.02 * random.normal(size=4000), 8000, format="WAV")
        made.append(file.getvalue())
    return made


def unlike_texts(_: str) -> list[str]:
    words = ("goal team match coach league", "stock market bank price profit", "cell gene protein virus tissue")
    random = np.random.default_rng(0)
    return [" ".join(random.choice(words[place % 3].split(), 8)) for place in range(60)]


def test_short_budgets_compare_pictures_by_quick_features() -> None:
    facts = facts_of(blueprint("", columns=(ColumnUse(name="photo", kind="image"),), rows=500, clusters=(3,)))
    chosen = {seconds: embedding_encoder("image", replace(facts, seconds=seconds)) for seconds in (10.0, 120.0)}
    assert [one and one.once and bool(one.weights) for one in chosen.values()] == [False, True]


def test_later_rounds_compare_pictures_by_the_same_features() -> None:
    made = blueprint("", columns=(ColumnUse(name="photo", kind="image"),), rows=500, clusters=(3,))
    assert facts_of(made.model_copy(update={"seconds": 3.0})) == facts_of(made)


@pytest.mark.parametrize(("kind", "cells"), [("text", unlike_texts), ("image", unlike_files), ("audio", unlike_files)])
def test_texts_and_files_are_divided_by_what_they_are(kind: Any, cells: Any) -> None:
    rows = pd.DataFrame({"cell": pd.Series(cells(kind), dtype=object)})
    columns = (ColumnUse(name="cell", kind=kind, words=8.0),)
    drawn = blueprint("", columns=columns, rows=len(rows), clusters=(3,))
    problem = Clustering(drawn)
    frame, (_, kmeans) = build(reader_of(drawn)).fit_transform(rows), problem.baselines()
    features = build(encoder_of(kmeans, drawn)).fit_transform(frame)
    found = build(learner_of(kmeans, drawn)).fit(features).labels_
    truth = (np.arange(len(rows)) % 3).astype(str)
    assert score(METRICS["adjusted_rand"], truth, Predictions(found)) > 0.9
    assert problem.scorer(splits(rows)).score(outputs(found)) > 0.3
    data = problem.report_data(splits(rows), None, {"kmeans": outputs(found)}, "kmeans")
    assert data.sizes and (kind != "text" or "goal" in " ".join(data.columns[0].values))
    assert Clustering.objective(TaskSpec(labels="tribe")) == "adjusted_rand"
