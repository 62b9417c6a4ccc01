"""Classification and regression: what is compared, how rows are divided, what outputs are, what is delivered."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from small_blueprints import COLUMNS, LIGHTGBM, LINEAR, blueprint, guests, numbers, profile, shares, splits

from palmette.automl.calls import build, source
from palmette.automl.candidates import Candidate, Ensembling, Folds, Strategy
from palmette.automl.composition import encoder_of, learner_of
from palmette.automl.measure.metrics import Predictions, score
from palmette.automl.problems.classification import positive_class
from palmette.automl.problems.problem import EnsembleMember, problem_named, problem_of
from palmette.automl.problems.supervised import folds_of, usual_folds
from palmette.automl.profile import Profile
from palmette.automl.samples.tables import keys_of
from palmette.automl.task_spec.spec import Constraint, TaskSpec, Threshold
from palmette.errors import UserError


def test_problems_are_found_by_name() -> None:
    assert problem_named("regression").name == "regression"
    with pytest.raises(UserError, match="no problem 'ranking'"):
        problem_named("ranking")


# Objectives


CREDIT = profile("mood", "classification", classes=shares(good=700, bad=300), class_count=2, entropy=0.88)
RARE = profile("mood", "classification", classes=shares(no=95, yes=5), class_count=2, entropy=0.3)
ROOMS = profile("room", "classification", classes=shares(a=70, b=20, c=10), class_count=3, entropy=0.73)
PRICES = profile("price", "regression", numbers=numbers(skew=4.0), orders=2.5, log_skew=0.1)
GAINS = profile("price", "regression", numbers=numbers(least=-1.0))


@pytest.mark.parametrize(
    ("task", "known", "metric"),
    [
        ({"metric": "mcc"}, CREDIT, "mcc"),
        ({"constraints": (Constraint(quantity="score", metric="f1", comparison=">", value=0.8),)}, CREDIT, "f1"),
        ({}, CREDIT, "accuracy"),
        ({}, RARE, "roc_auc"),
        ({}, ROOMS, "f1_macro"),
        ({}, PRICES, "rmsle"),
        ({}, GAINS, "rmse"),
        ({"metric": "mae"}, GAINS, "mae"),
    ],
)
def test_the_metric_is_the_one_named_or_the_usual_one(task: dict[str, Any], known: Profile, metric: str) -> None:
    assert problem_named(known.split.problem).objective(TaskSpec(**task), known) == metric


@pytest.mark.parametrize("metric", ["rmsle", "rmse_log"])
def test_what_the_target_does_not_allow_for_is_refused(metric: str) -> None:
    with pytest.raises(UserError) as caught:
        problem_named(GAINS.split.problem).objective(TaskSpec(metric=metric), GAINS)
    assert caught.value.code == "metric-unsuited"


@pytest.mark.parametrize(
    ("task", "classes", "positive"),
    [
        ({}, shares(no=90, yes=10), "yes"),
        ({}, shares(yes=90, no=10), "yes"),
        ({}, shares(cat=90, dog=10), "dog"),
        ({"positive": "CAT"}, shares(cat=90, dog=10), "cat"),
        ({"positive": "1.0"}, (*shares(**{"0": 9, "1": 5}),), "1"),
        ({"threshold": Threshold(column="mood", comparison=">", value=5)}, shares(a=9, b=5), "above 5"),
        ({}, shares(a=9, b=5, c=5), None),
        ({"positive": "b"}, shares(a=9, b=5, c=5), "b"),
        ({}, shares(**{"1.0": 9, "2.0": 5}), "2"),
        ({"positive": "1.0"}, shares(**{"1.0": 9, "2.0": 5}), "1"),
    ],
)
def test_the_positive_class(task: dict[str, Any], classes: Any, positive: str | None) -> None:
    target = profile("mood", "classification", classes=classes, class_count=len(classes), entropy=0.9).target
    assert target is not None and positive_class(TaskSpec(**task), target) == positive
    with pytest.raises(UserError, match="has no class 'maybe'"):
        positive_class(TaskSpec(positive="maybe"), target)


# Drafts


def test_a_draft_has_classes_and_folds() -> None:
    made = problem_named("classification").draft(TaskSpec(metric="f1"), CREDIT, guests())
    assert made["classes"] == ("bad", "good") and made["metric"] == "f1"
    assert made["folds"] == Folds(count=8, kind="stratified")
    assert made["positive"] == "good"


@pytest.mark.parametrize(("metric", "low", "high"), [("rmse", 0.63, 109.9), ("rmse_log", 0.63, 158.5)])
def test_predictions_are_bounded_on_the_scale_that_is_learnt(metric: str, low: float, high: float) -> None:
    rows = guests().assign(price=np.geomspace(1, 100, 240))
    made = problem_named("regression").draft(TaskSpec(metric=metric), PRICES, rows)
    assert made["bounds"] == pytest.approx((low, high), rel=0.01)


@pytest.mark.parametrize(
    ("problem", "values", "code"),
    [
        ("classification", ["yes"] * 240, "one-class"),
        ("classification", [f"guest {number}" for number in range(240)], "too-many-classes"),
        ("regression", ["cheap", "dear"] * 120, "target-not-numeric"),
    ],
)
def test_a_target_that_cannot_be_learnt_is_refused(problem: str, values: list[str], code: str) -> None:
    known = CREDIT if problem == "classification" else GAINS
    column = "mood" if problem == "classification" else "price"
    with pytest.raises(UserError) as caught:
        problem_named(problem).draft(TaskSpec(), known, guests().assign(**{column: values}))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("rows", "work", "budget", "count"),
    [(100, 1000, 60, 8), (5_000, 1000, 60, 5), (40_000, 1000, 60, 3), (2_000, 5_000_000, 60, 3), (100, 1000, 10, 3)],
)
def test_fewer_folds_where_each_takes_long(rows: int, work: int, budget: float, count: int) -> None:
    assert usual_folds(rows, work, budget) == count


def test_strategies_suit_target_and_metric() -> None:
    balanced, log = Strategy(balance="weights"), Strategy(target_transform="log1p")

    def found(problem: str, metric: str, known: Profile) -> tuple[Strategy, ...]:
        return problem_named(problem).strategies(TaskSpec(metric=metric), known)

    assert found("classification", "f1", RARE) == (Strategy(), balanced)
    assert found("classification", "roc_auc", RARE) == (Strategy(),)
    assert found("regression", "rmsle", PRICES) == (log,)
    assert found("regression", "mae", PRICES) == (Strategy(), log)
    assert found("regression", "rmse", GAINS) == (Strategy(),)


# Folds


def test_folds_are_stratified_grouped_or_blocks_of_time() -> None:
    rows = guests()
    folds = problem_of(blueprint()).folds(splits(rows))
    per_fold = rows.groupby(folds)["mood"].value_counts().unstack()
    assert (per_fold.max() - per_fold.min()).max() <= 1
    groups = np.arange(240) // 4
    grouped = folds_of(rows, blueprint(), rows["mood"].to_numpy(str), groups)
    assert all(len(np.unique(grouped[groups == one])) == 1 for one in range(60))
    alone = folds_of(rows, blueprint(), None, np.zeros(240, dtype=np.int64))
    assert sorted(np.bincount(alone)) == [80, 80, 80], "rows of a single group are divided at random"
    times = rows.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(240)[::-1], "D"))
    times.loc[5:9, "day"] = pd.NaT
    due = folds_of(times, blueprint(folds=Folds(count=3, kind="time", by="day")), None)
    assert np.bincount(due).tolist() == [80, 80, 80] and set(due[5:10]) == {0}
    assert times["day"][due == 0].max() < times["day"][due == 2].min()


def test_a_class_of_fewer_rows_than_folds_is_divided_at_random() -> None:
    rows = guests().assign(mood=["rare"] + ["usual"] * 239)
    assert sorted(np.bincount(folds_of(rows, blueprint(), rows["mood"].to_numpy(str)))) == [80, 80, 80]


# Outputs and predictions


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2.0"]])
def test_whole_numbers_are_one_class_however_they_are_written(values: list[object]) -> None:
    assert list(keys_of(pd.Series(values))) == ["1", "2"]
    assert list(keys_of(pd.Series(["1.05", "v1.0"]))) == ["1.05", "v1.0"]


def test_a_class_that_a_fold_lacks_has_the_probability_0() -> None:
    problem = problem_of(blueprint("room"))
    model = DummyClassifier().fit(np.zeros((3, 1)), [0, 2, 2])
    made = problem.outputs(model, np.zeros((2, 1)), Strategy())
    assert made.tolist() == pytest.approx(np.array([[1 / 3, 0, 2 / 3]] * 2))
    assert problem.output_error(made) == ""


def test_probabilities_that_are_nan_stay_so_and_are_refused() -> None:
    class Model:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows: np.ndarray) -> np.ndarray:
            return np.array([[np.nan, np.nan], [0.0, 0.0]])

    problem = problem_of(blueprint("mood"))
    made = problem.outputs(Model(), np.zeros((2, 1)), Strategy())
    assert np.isnan(made[0]).all() and made[1].tolist() == [0.5, 0.5] and problem.output_error(made)


@pytest.mark.parametrize(
    ("target", "outputs", "wrong"),
    [
        ("mood", np.full((4, 3), 1 / 3), "of 2 classes"),
        ("mood", np.full((4, 2), 0.4), "sum to 1"),
        ("mood", np.array([[1.5, -0.5]]), "negative"),
        ("price", np.full((4, 2), 0.4), "one for each row"),
        ("price", np.array([1.0, np.nan]), "finite"),
    ],
)
def test_unsound_outputs(target: str, outputs: np.ndarray, wrong: str) -> None:
    assert wrong in problem_of(blueprint(target)).output_error(outputs)


def test_predictions_are_read_by_the_names_of_the_classes() -> None:
    problem = problem_of(blueprint("mood", classes=("0", "1"), positive="1"))
    table = pd.DataFrame({"prediction": [1.0, 0.0], "probability_1.0": [0.8, 0.3], "probability_0.0": [0.2, 0.7]})
    made = problem.predictions(table, 2)
    assert list(made.values) == ["1", "0"] and made.probabilities is not None
    assert made.probabilities.tolist() == [[0.2, 0.8], [0.7, 0.3]]
    for wrong in (table.iloc[:1], table.assign(prediction=2), table.assign(**{"probability_1.0": 0.9})):
        with pytest.raises(ValueError, match=r"predictions for|not one of the classes|sum to 1"):
            problem.predictions(wrong, 2)


def test_regression_outputs_are_in_the_unit_of_the_target_and_within_bounds() -> None:
    class Model:
        def predict(self, _: object) -> np.ndarray:
            return np.array([0.0, np.log1p(10.0), 1000.0, -5.0])

    made = problem_of(blueprint("price")).outputs(Model(), None, Strategy(target_transform="log1p"))
    assert made.tolist() == pytest.approx([0.0, 10.0, 400.0, 0.0])


# The hold-out


@pytest.mark.parametrize(("share", "better"), [(0.9, True), (0.5, False)])
def test_better_than_the_baseline_by_more_than_noise(share: float, better: bool) -> None:
    rows = guests(400)
    problem = problem_of(blueprint(metric="accuracy"))
    truth = problem.truth(rows)  # type: ignore[attr-defined]  # of supervised problems
    right = np.random.default_rng(0).random(400) < share
    labels = np.where(right, truth, np.where(truth == "good", "bad", "good"))
    made = Predictions(labels, np.tile([0.5, 0.5], (400, 1)), ("bad", "good"))
    usual = Predictions(np.full(400, "good"), np.tile([0.5, 0.5], (400, 1)), ("bad", "good"))
    judged = splits(rows, rows)
    assert problem.better(judged, made, usual) is better
    first, *others = problem.scores(judged, made, usual, ["mcc"])
    assert first.metric == "accuracy" and first.low <= first.value <= first.high and first.baseline is not None
    assert "mcc" in {one.metric for one in others}


def test_a_metric_without_a_value_is_unmeasured() -> None:
    rows = guests().assign(mood="good")
    assert problem_of(blueprint()).unmeasured(splits(rows, rows)) == "all 240 rows are of the class 'good'"


# What is delivered


def assembled(target: str, ensembling: Ensembling, candidates: list[Candidate], **options: Any) -> Any:
    """The estimator of candidates with equal weights, fitted and asked; its source."""
    drawn, rows = blueprint(target), guests()
    weight = 1 / len(candidates)
    members = [EnsembleMember(one, weight, encoder_of(one, drawn), learner_of(one, drawn, 20)) for one in candidates]
    problem = problem_of(drawn)
    call = problem.decided(problem.assembled(members, ensembling), options.get("class_weights"))
    labels = rows[target].map(options.get("labels", lambda value: value))
    frame = rows[[one.name for one in COLUMNS]].assign(member=(rows["member"] == "yes").astype(float))
    fitted = build(call).fit(frame, labels)
    return fitted, fitted.predict(frame), source(call), labels, frame


FOREST = Candidate(name="extra_trees", learner="extra_trees")


@pytest.mark.parametrize(
    ("ensembling", "candidates", "path"),
    [
        ("single", [LIGHTGBM], "Pipeline("),
        ("weighted", [LIGHTGBM, LINEAR], 'VotingClassifier(voting="soft", estimators=[("lightgbm", '),
        ("mean", [LIGHTGBM, FOREST], 'Pipeline(steps=[("features", ColumnTransformer('),
        ("stacking", [LIGHTGBM, LINEAR], "StackingClassifier("),
        ("voting", [LIGHTGBM, LINEAR, FOREST], "MajorityClassifier("),
    ],
)
def test_ensembles_are_standard_estimators(ensembling: Ensembling, candidates: list[Candidate], path: str) -> None:
    fitted, found, text, labels, frame = assembled("mood", ensembling, candidates)
    assert text.startswith(path) and list(fitted.classes_) == ["bad", "good"]
    assert (found == labels).mean() > 0.75
    assert np.allclose(fitted.predict_proba(frame).sum(axis=1), 1)
    assert text.count("ColumnTransformer(") == (1 if candidates in ([LIGHTGBM], [LIGHTGBM, FOREST]) else 2)


def test_classes_stay_what_they_are_in_the_frame_and_weights_move_the_decision() -> None:
    fitted, found, text, _, frame = assembled("mood", "weighted", [LIGHTGBM, LINEAR], class_weights=(0.05, 1.0))
    assert 'threshold=0.0476, pos_label="good"' in text
    assert ((fitted.predict_proba(frame)[:, 1] >= 0.0476) == (found == "good")).all()
    plain, *_ = assembled("mood", "weighted", [LIGHTGBM, LINEAR])
    assert np.allclose(plain.predict_proba(frame), fitted.predict_proba(frame))


def test_a_class_weight_is_found_by_the_name_of_the_class() -> None:
    _, weighted, *_ = assembled("mood", "single", [LINEAR], class_weights=(0.01, 1.0))
    _, plain, *_ = assembled("mood", "single", [LINEAR])
    assert (weighted == "good").mean() > (plain == "good").mean() + 0.1


@pytest.mark.parametrize(
    ("ensembling", "candidates", "beginning"),
    [
        ("single", [LINEAR], "TransformedTargetRegressor(regressor=Pipeline("),
        ("weighted", [LIGHTGBM, LINEAR], "TransformedTargetRegressor(regressor=VotingRegressor("),
        ("stacking", [LIGHTGBM, LINEAR], "TransformedTargetRegressor(regressor=StackingRegressor("),
    ],
)
def test_a_logarithm_stands_around_the_whole(
    ensembling: Ensembling, candidates: list[Candidate], beginning: str
) -> None:
    log = Strategy(target_transform="log1p")
    _, found, text, labels, _ = assembled(
        "price", ensembling, [one.model_copy(update={"strategy": log}) for one in candidates]
    )
    assert text.startswith(beginning) and text.endswith("func=np.log1p, inverse_func=np.expm1)")
    assert text.count("ClippedRegressor") == 1, "trees stay within the range by themselves"
    problem = problem_of(blueprint("price"))
    assert score(problem.metric, labels.to_numpy(), Predictions(found)) < 0.3


def test_members_that_learn_on_different_scales_have_a_logarithm_each() -> None:
    log = LINEAR.model_copy(update={"strategy": Strategy(target_transform="log1p")})
    _, _, text, *_ = assembled("price", "weighted", [LIGHTGBM, log])
    assert text.startswith("VotingRegressor(") and text.count("TransformedTargetRegressor(") == 1


def test_a_line_does_not_leave_the_range_of_the_target() -> None:
    fitted, *_, frame = assembled("price", "single", [LINEAR])
    far = fitted.predict(frame.assign(size=1e6))
    assert far.max() <= guests()["price"].max() * 1.1 and far.min() >= 0
