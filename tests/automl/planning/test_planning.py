"""What plans are judged by before anything is trained: costs, limits, scores, and what words mean."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from hypothesis import given
from hypothesis import strategies as st

from palmette.automl.data import Aim, HoldOut
from palmette.automl.measure import metric_of
from palmette.automl.modalities import clustering
from palmette.automl.modalities.tabular import modality
from palmette.automl.planning import algorithms
from palmette.automl.planning.costs import Cost, Size, cost, costs
from palmette.automl.planning.limits import SETTINGS, needs, together
from palmette.automl.planning.scores import MEASURED_AS, dummy_score, expected, measured
from palmette.automl.planning.wishes import wishes_of
from palmette.automl.profile import MetaFeature, Profile
from palmette.automl.profile.artefacts import Frequent, NumberFacts, TargetProfile
from palmette.automl.requirements import Constraint, Requirements, read_request

HERE = ("lightgbm", "xgboost", "extra_trees", "random_forest", "linear", "knn", "mlp")
SIZES = st.builds(
    Size, st.integers(10, 10**6), st.integers(1, 1000), st.sampled_from([1, 3, 10]), st.integers(2, 8)
)


def limit(quantity: str, value: float, comparison: str = "<=", per: str | None = None) -> Constraint:
    fields = {"quantity": quantity, "comparison": comparison, "value": value, "per": per, "words": "?"}
    return Constraint.model_validate(fields)


@given(st.sampled_from(sorted(costs().algorithms)), SIZES)
def test_more_rows_columns_or_folds_never_cost_less(name: str, size: Size) -> None:
    less = cost(name, size)
    for more in (size._replace(rows=2 * size.rows), size._replace(features=2 * size.features), size._replace(folds=9)):
        assert all(a >= b > 0 for a, b in zip(cost(name, more), less, strict=True))


def test_an_algorithm_that_was_never_measured_is_taken_for_the_dearest() -> None:
    size = Size(1000, 10, 1, 5)
    assert cost("unheard_of", size).seconds >= max(cost(name, size).seconds for name in ("linear", "knn"))


def test_models_that_answer_together_prepare_a_row_once() -> None:
    one = cost("lightgbm", Size(1000, 10, 1, 5))
    both = together([one, one])
    assert both.megabytes == 2 * SETTINGS * one.megabytes and both.seconds == one.seconds
    assert one.milliseconds < both.milliseconds < 2 * SETTINGS * one.milliseconds


def test_a_limit_is_compared_in_its_own_unit_and_only_from_above() -> None:
    limits = [
        limit("training time", 60), limit("prediction time", 0.01, "<", "row"), limit("model size", 1e6),
        limit("prediction time", 1.0, "<", "set"), limit("model size", 1e6, ">="),
    ]  # fmt: skip
    found = needs(Cost(seconds=30.0, megabytes=2.0, milliseconds=10.0), limits)
    assert [one.times for one in found] == [pytest.approx(0.5), pytest.approx(1.0), pytest.approx(2.0)]
    assert str(found[2]) == "model size <= 1e+06 is asked for, and about 2e+06 is expected"


@pytest.mark.parametrize(("text", "allowed", "preferred"), [
    ("Predict y.", HERE, ()),
    ("Predict y with XGBoost or CatBoost.", ("xgboost",), ("xgboost",)),
    ("Predict y with CatBoost.", (), ()),
    ("Predict y, but no tree ensembles.", ("linear", "knn", "mlp"), ()),
    ("Predict y. Preferably a neural network.", ("mlp", *HERE[:-1]), ("mlp",)),
    ("Predict y with gradient boosting, but not LightGBM.", ("xgboost",), ("xgboost",)),
])  # fmt: skip
def test_names_in_a_request_become_algorithms_that_are_here(
    text: str, allowed: tuple[str, ...], preferred: tuple[str, ...]
) -> None:
    made = wishes_of(read_request(text, None).requirements, HERE)
    assert (made.allowed, made.preferred) == (allowed, preferred)


def test_nothing_is_wished_of_a_request_that_says_nothing() -> None:
    made = wishes_of(Requirements(text=""), HERE)
    assert (made.allowed, made.named, made.ensemble, made.limits, made.lean) == (HERE, (), None, (), frozenset())


def test_tracks_have_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modality, "installed", lambda wanted: tuple(one for one in wanted if one in HERE))
    few, many = (profile("regression", {}, numbers(1.0), rows) for rows in (80, 50_000))
    assert set(algorithms.available(few, ["traditional"])) == set(HERE)
    assert set(HERE) - set(algorithms.available(many, ["traditional"])) == {"knn"}
    assert algorithms.available(few, ["neural", "pretrained"]) == ()
    grouping = profile("clustering", {}, None)
    assert algorithms.available(grouping, ["traditional"]) == clustering.ALGORITHMS
    tracks = [algorithms.track_of(name) for name in ("resnet", "linear", "kmeans")]
    assert tracks == ["neural", "traditional", "traditional"]


def profile(task: str, figures: dict[str, float], target: TargetProfile | None, rows: int = 80) -> Profile:
    aim = Aim.model_validate({"target": "y", "task": task})
    holdout = HoldOut(rows=20, training_rows=rows, strategy="random", seed=0, digest="", reasons=())
    meta = tuple(MetaFeature(name=name, value=value) for name, value in figures.items())
    return Profile(
        aim=aim, rows=rows + 20, holdout=holdout, columns=(), target=target, duplicates=0, memory=0, meta=meta
    )


def classes(*shares: float) -> TargetProfile:
    made = tuple(Frequent(value=str(n), count=int(100 * share), share=share) for n, share in enumerate(shares))
    return TargetProfile(name="y", task="classification", classes=made, class_count=len(made))


def numbers(deviation: float, orders: float = 0.0) -> TargetProfile:
    names = ("mean", "least", "quarter", "median", "three_quarters", "most", "skew", "outliers", "zeros", "negative")
    facts = NumberFacts(**dict.fromkeys(names, 0.0), deviation=deviation, whole=False)
    return TargetProfile(name="y", task="regression", numbers=facts, orders=orders)


@pytest.mark.parametrize(("metric", "target", "score"), [
    ("accuracy", classes(0.7, 0.3), 0.7), ("roc_auc", classes(0.7, 0.3), 0.5), ("log_loss", classes(0.5, 0.5), 0.6931),
    ("f1_macro", classes(0.5, 0.5), 1 / 3), ("balanced_accuracy", classes(0.5, 0.25, 0.25), 1 / 3),
    ("mcc", classes(0.7, 0.3), 0.0), ("precision", classes(0.7, 0.3), None),
    ("rmse", numbers(3.0), 3.0), ("mse", numbers(3.0), 9.0), ("r2", numbers(3.0), 0.0), ("mape", numbers(3.0), None),
    ("rmsle", numbers(3.0), None), ("rmsle", numbers(3.0, 2.02), 1.0),
])  # fmt: skip
def test_what_the_best_constant_scores(metric: str, target: TargetProfile, score: float | None) -> None:
    found = dummy_score(metric_of(metric, target.task), profile(target.task, {}, target))  # type: ignore[arg-type]  # one of the tasks
    assert found == (None if score is None else pytest.approx(score, abs=1e-3))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_guess_is_what_the_nearest_measured_data_showed(task: str) -> None:
    target = classes(0.6, 0.4) if task == "classification" else numbers(2.0)
    for name, one in measured().sets.items():
        if one.task != task:
            continue
        metric = metric_of("accuracy" if task == "classification" else "rmse", task)  # type: ignore[arg-type]  # one of the tasks
        found = expected("lightgbm", profile(task, dict(one.figures), target), metric)
        assert found.skill is not None and found.score is not None, name
        near = sorted(other.skills["lightgbm"][0] for other in measured().sets.values() if other.task == task)
        assert near[0] <= found.skill <= near[-1]
        dummy = 0.6 if task == "classification" else 2.0
        assert metric.error(found.score) == pytest.approx(metric.error(dummy) * (1 - found.skill), rel=0.01, abs=0.002)


def test_nothing_is_guessed_of_what_was_never_measured() -> None:
    target = classes(0.6, 0.4)
    accuracy = metric_of("accuracy", "classification")
    assert expected("tabpfn", profile("classification", {}, target), accuracy).skill is None
    precision = metric_of("precision", "classification")
    assert expected("lightgbm", profile("classification", {}, target), precision).score is None
    assert expected("kmeans", profile("clustering", {}, target), None).skill is None


def test_the_measurements_are_whole() -> None:
    known = {name for names in measured().metrics.values() for name in names}
    assert set(MEASURED_AS.values()) <= known
    for name, one in measured().sets.items():
        metrics = measured().metrics[one.task]
        assert set(HERE) - {"knn"} <= one.skills.keys() <= set(HERE), name
        assert all(len(found) == len(metrics) and max(found) <= 1 for found in one.skills.values()), name
