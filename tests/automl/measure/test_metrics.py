"""Scores by hand on rows that can be checked in the head, by scikit-learn on random ones, and their intervals."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from palmette.automl.measure.intervals import blocks, difference, interval
from palmette.automl.measure.metrics import METRICS, Predictions, error_reduction, in_order, score, undefined

TRUTH = np.array(["no", "no", "yes", "yes"])
CLASSES = ("no", "yes")
PROBABILITIES = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])
LABELS = Predictions(np.array(["no", "yes", "yes", "yes"]), PROBABILITIES, CLASSES)
NUMBERS = np.array([1.0, 2.0, 4.0])
SAID = Predictions(np.array([1.0, 3.0, 4.0]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", 0.75),
        ("balanced_accuracy", 0.75),
        ("f1", 0.8),
        ("precision", 2 / 3),
        ("recall", 1.0),
        ("roc_auc", 1.0),
        ("log_loss", -(np.log(0.9) + np.log(0.4) + np.log(0.8) + np.log(0.7)) / 4),
    ],
)
def test_classes(name: str, value: float) -> None:
    assert score(METRICS[name], TRUTH, LABELS) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rmse", (1 / 3) ** 0.5),
        ("mae", 1 / 3),
        ("medae", 0.0),
        ("mape", 1 / 6),
        ("r2", 1 - 1 / (14 / 3)),
        ("rmsle", np.log(4 / 3) / 3**0.5),
        ("rmse_log", np.log(1.5) / 3**0.5),
    ],
)
def test_numbers(name: str, value: float) -> None:
    assert score(METRICS[name], NUMBERS, SAID) == pytest.approx(value)


def test_a_metric_of_one_class_is_about_the_one_that_is_asked_for() -> None:
    assert score(METRICS["recall"], TRUTH, LABELS, "no") == 0.5
    assert score(METRICS["roc_auc"], TRUTH, LABELS, "no") == 1.0, "its own probability, not the other one"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_ranking_agrees_with_scikit_learn(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    classes = tuple("abcd"[:count])
    truth = np.array([*classes, *random.choice(classes, 30)])
    probabilities = random.dirichlet(np.ones(count), len(truth))
    predictions = Predictions(np.array(classes)[probabilities.argmax(1)], probabilities, classes)
    expected = (
        sklearn_metrics.roc_auc_score(truth == "b", probabilities[:, 1])
        if count == 2
        else sklearn_metrics.roc_auc_score(truth, probabilities, multi_class="ovr", average="macro")
    )
    assert score(METRICS["roc_auc"], truth, predictions) == pytest.approx(expected)
    tied = Predictions(predictions.values, probabilities.round(1), classes)
    of = [(truth == one, tied.probabilities[:, place]) for place, one in enumerate(classes)][1 if count == 2 else 0 :]
    for name, formula in (("roc_auc", "roc_auc_score"), ("average_precision", "average_precision_score")):
        each = [getattr(sklearn_metrics, formula)(*one) for one in of]
        assert score(METRICS[name], truth, tied) == pytest.approx(np.mean(each)), "ties are one step"
    loss = sklearn_metrics.log_loss(truth, probabilities)
    assert score(METRICS["log_loss"], truth, predictions) == pytest.approx(loss)


def test_a_quadratic_kappa_is_about_the_order_of_the_classes() -> None:
    random = np.random.default_rng(2)
    truth = random.integers(1, 13, 300)
    said = np.clip(truth + random.integers(-1, 2, 300), 1, 12)
    kappa, classes = METRICS["quadratic_kappa"], in_order(map(str, range(1, 13)))
    due = sklearn_metrics.cohen_kappa_score(truth, said, weights="quadratic")
    for made in (Predictions(said.astype(str)), Predictions(said.astype(str), None, classes)):
        assert score(kappa, truth.astype(str), made) == pytest.approx(due)
        assert due in interval(kappa, truth.astype(str), made)
    ranks, names = np.array([0, 1, 2, 2, 0, 1]), np.array(["low", "middle", "high"])
    ordered = Predictions(names[np.array([0, 2, 2, 1, 1, 1])], None, tuple(names))
    due = sklearn_metrics.cohen_kappa_score(ranks, [0, 2, 2, 1, 1, 1], weights="quadratic")
    assert score(kappa, names[ranks], ordered) == pytest.approx(due), "in the order that the model has"


def test_a_class_that_the_model_does_not_know_has_no_probability() -> None:
    truth, due = np.array(["no", "no", "yes", "maybe"]), (0.9, 0.4, 0.8, 1e-15)
    assert score(METRICS["log_loss"], truth, LABELS) == pytest.approx(-np.log(due).mean())


def test_perfect_predictions_have_the_perfect_score() -> None:
    sure = (TRUTH, Predictions(TRUTH, np.eye(2)[[0, 0, 1, 1]], CLASSES))
    numbers = (NUMBERS, Predictions(NUMBERS))
    right = {"classification": sure, "regression": numbers, "clustering": sure, "forecasting": numbers}
    apart = (np.array([[0.0], [0.0], [9.0], [9.0]]), Predictions(TRUTH))
    for metric in METRICS.values():
        if metric.perfect == np.inf:
            continue
        truth, predictions = apart if metric.needs == "distances" else right[metric.task]
        assert metric.error(score(metric, truth, predictions)) == pytest.approx(0, abs=1e-9), metric.name


def test_skill_is_the_share_of_the_dummys_error() -> None:
    assert error_reduction(METRICS["rmse"], 2.0, dummy=8.0) == 0.75
    assert error_reduction(METRICS["accuracy"], 0.9, dummy=0.8) == pytest.approx(0.5)
    assert error_reduction(METRICS["accuracy"], 0.7, dummy=0.8) < 0
    assert METRICS["rmse"].better(1.0, 2.0) and METRICS["f1"].better(2.0, 1.0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 predictions for 4 rows"):
        score(METRICS["rmse"], np.ones(4), SAID)
    with pytest.raises(ValueError, match="needs probabilities"):
        score(METRICS["roc_auc"], TRUTH, Predictions(TRUTH))


def test_an_interval_is_as_wide_as_the_rows_are_few() -> None:
    random = np.random.default_rng(3)
    widths = []
    for size in (100, 2500):
        truth = random.choice(np.array(["a", "b"]), size)
        said = np.where(random.random(size) < 0.8, truth, np.where(truth == "a", "b", "a"))
        found = interval(METRICS["accuracy"], truth, Predictions(said))
        assert 0.8 in found
        widths.append(found.high - found.low)
    assert widths[0] == pytest.approx(5 * widths[1], rel=0.25), "five times the rows' root"


LABEL_METRICS = {
    "accuracy": "accuracy_score", "balanced_accuracy": "balanced_accuracy_score", "mcc": "matthews_corrcoef",
    "kappa": "cohen_kappa_score", "f1_macro": "f1_score", "f1_weighted": "f1_score", "f1": "f1_score",
    "precision": "precision_score", "recall": "recall_score", "quadratic_kappa": "cohen_kappa_score",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")  # of scikit-learn
@pytest.mark.parametrize("name", [one.name for one in METRICS.values() if one.task == "classification"])
def test_a_resample_is_scored_as_rows_are_and_as_scikit_learn_does(name: str) -> None:
    random, classes = np.random.default_rng(7), tuple("abcde")
    truth, probabilities = random.choice(np.array(classes), 60), random.dirichlet(np.ones(5), 60).round(2)
    made = Predictions(np.array(classes)[probabilities.argmax(1)], probabilities, classes)
    scored = METRICS[name].prepared(truth, made, "c")
    of_one, average = name in ("f1", "precision", "recall"), name.partition("_")[2]
    options = {"average": average, "zero_division": 0} if name in ("f1_macro", "f1_weighted") else {}
    options |= {"weights": "quadratic", "labels": list(classes)} if name == "quadratic_kappa" else {}
    for rows in random.integers(0, 60, (20, 30)):
        true, predicted = truth[rows], made.values[rows]
        assert scored(rows) == pytest.approx(score(METRICS[name], true, made.take(rows), "c"))
        if name in LABEL_METRICS:
            compared = (true == "c", predicted == "c") if of_one else (true, predicted)
            assert scored(rows) == pytest.approx(getattr(sklearn_metrics, LABEL_METRICS[name])(*compared, **options))


def test_many_classes_take_seconds() -> None:
    """Of 200 classes one by one, 400 resamples would take minutes."""
    random, classes = np.random.default_rng(1), tuple(f"c{number}" for number in range(200))
    truth, probabilities = random.choice(np.array(classes), 600), random.dirichlet(np.ones(200), 600)
    made = Predictions(np.array(classes)[probabilities.argmax(1)], probabilities, classes)
    started = time.process_time()
    found = interval(METRICS["roc_auc"], truth, made)
    assert found.low < score(METRICS["roc_auc"], truth, made) < found.high
    assert time.process_time() - started < 15


def covered(units: np.ndarray | None) -> float:
    """How often the interval holds the true error, of rows in 40 groups of 10 with an error of their own."""
    groups, found = np.repeat(np.arange(40), 10), []
    for seed in range(60):
        random = np.random.default_rng(seed)
        error = random.normal(size=40)[groups] + random.normal(size=400) * 0.3
        truth = random.normal(size=400)
        found.append(1.09 in interval(METRICS["mse"], truth, Predictions(truth + error), units=units, rounds=100))
    return float(np.mean(found))


def test_rows_that_err_alike_are_drawn_together() -> None:
    groups = np.repeat(np.arange(40), 10)
    assert covered(groups) >= 0.8 and covered(blocks(np.arange(400))) >= 0.8
    assert covered(None) < 0.6, "by single rows the interval is too narrow"


def test_units_of_single_rows_are_rows_and_one_unit_says_nothing_of_others() -> None:
    random = np.random.default_rng(5)
    truth, said = random.normal(size=80), Predictions(random.normal(size=80))
    rows = interval(METRICS["rmse"], truth, said)
    for units in (np.arange(80)[::-1].copy(), np.zeros(80, dtype=np.int64)):
        assert interval(METRICS["rmse"], truth, said, units=units) == rows
    two = interval(METRICS["rmse"], truth, said, units=np.repeat([3, 7], 40))
    halves = [score(METRICS["rmse"], truth[part], said.take(part)) for part in np.split(np.arange(80), 2)]
    assert two.low < min(halves) - 3 * np.ptp(halves) or two.low == 0, "two units vary as Student's t of one degree"
    assert two.high > max(halves) + 3 * np.ptp(halves)
    right = np.array(["a"] * 40)
    sure = interval(
        METRICS["accuracy"], right, Predictions(np.where(np.arange(40) < 24, "a", "b")), units=np.arange(40) // 20
    )
    assert (sure.low, sure.high) == (0.0, 1.0), "no share lies outside 0 and 1"


def test_blocks_are_neighbours_in_the_order_whatever_the_rows_are() -> None:
    order = np.random.default_rng(1).permutation(90)
    found = blocks(order)
    assert len(np.unique(found)) == 9 and (np.diff(found[np.argsort(order)]) >= 0).all()


@pytest.mark.parametrize(
    ("name", "truth", "why"),
    [
        ("roc_auc", np.array(["no"] * 9), "all 9 rows are of the class 'no'"),
        ("average_precision", np.array(["no"]), "the only row is of the class 'no'"),
        ("quadratic_kappa", np.array(["no"] * 9), "all 9 rows are of the class 'no'"),
        ("r2", np.full(9, 2.5), "the target is 2.5 in all 9 rows"),
        ("rmse_log", np.array([1.0, 0.0]), "the target is 0 in a row"),
        ("rmsle", np.array([1.0, -2.0]), "the target is -2 in a row"),
        ("accuracy", np.array(["no"] * 9), ""),
        ("rmse", np.full(9, 2.5), ""),
        ("roc_auc", np.array(["no", "yes"]), ""),
    ],
)
def test_why_a_metric_has_no_value_is_said(name: str, truth: np.ndarray, why: str) -> None:
    assert undefined(METRICS[name], truth).startswith(why) and bool(undefined(METRICS[name], truth)) == bool(why)


def test_a_difference_within_noise_holds_zero() -> None:
    random = np.random.default_rng(5)
    truth = random.normal(size=400)
    close, twin, far = (Predictions(truth + random.normal(size=400) * spread) for spread in (1.0, 1.0, 2.0))
    assert 0.0 in difference(METRICS["rmse"], truth, close, twin)
    assert difference(METRICS["rmse"], truth, close, far).low > 0, "better is positive, also where less is better"


@pytest.mark.parametrize(("positives", "least", "most"), [(1, 1.0, 1.0), (3, 0.2, 0.9), (15, 0.0, 0.35)])
def test_a_ranking_of_few_rows_of_a_class_is_as_uncertain_as_they_are_few(
    positives: int, least: float, most: float
) -> None:
    random = np.random.default_rng(0)
    truth = np.repeat(CLASSES, [60, positives])
    chances = np.clip(random.normal(0.4 + 0.3 * (truth == "yes"), 0.15), 0.01, 0.99)
    made = Predictions(truth, np.column_stack([1 - chances, chances]), CLASSES)
    none = Predictions(truth, np.full((len(truth), 2), 0.5), CLASSES)
    found = interval(METRICS["roc_auc"], truth, made)
    assert least <= found.high - found.low <= most
    assert (difference(METRICS["roc_auc"], truth, made, none).low > 0) == (positives > 1)
