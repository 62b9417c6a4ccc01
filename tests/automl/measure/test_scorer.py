"""Decisions suit the metric, and are not moved by noise; scores of outputs and of several together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.automl.measure.metrics import FORMULAS, METRICS, MOVED, Predictions, counts, score
from palmette.automl.measure.scorer import GRID, DecisionSearch, SupervisedScorer

CLASSES = ("no", "yes")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(sorted(FORMULAS)))
def test_metrics_from_counts_are_the_metrics(seed: int, classes: int, name: str) -> None:
    random = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(classes), random.integers(0, classes, 40)])
    predicted = random.integers(0, classes, len(truth))
    names = tuple("abcd"[:classes])
    made = Predictions(np.array(names)[predicted], None, names)
    expected = score(METRICS[name], np.array(names)[truth], made, "b")
    assert float(FORMULAS[name](counts(truth, predicted, classes), 1)) == pytest.approx(expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(MOVED)))
def test_the_weight_on_the_grid_is_the_best_one_of_the_grid(seed: int, name: str) -> None:
    random = np.random.default_rng(seed)
    truth = np.concatenate([[0, 1], random.integers(0, 2, 60)])
    outputs = random.dirichlet([2.0, 1.0], len(truth))
    decision = DecisionSearch(name, truth, 2, positive=1)
    found = decision.score(outputs, np.exp(decision.best(outputs)))
    one_by_one = [decision.score(outputs, np.array([1.0, np.exp(weight)])) for weight in GRID]
    assert max(one_by_one) - found <= 0.002 * 6 + 1e-9, "but for the cost of a weight"
    assert found >= decision.score(outputs)


def rare(seed: int = 0, rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Labels with 8 % yes, and honest probabilities of them."""
    random = np.random.default_rng(seed)
    chance = random.beta(0.6, 7, rows)
    return np.where(random.random(rows) < chance, "yes", "no"), np.column_stack([1 - chance, chance])


def test_a_moved_decision_is_better_on_rows_that_it_was_not_found_on() -> None:
    """The best F1 of honest probabilities is at half its own value: far below one half where yes is rare."""
    truth, outputs = rare()
    fresh, fresh_outputs = rare(seed=1)
    weights = SupervisedScorer(METRICS["f1"], truth, classes=CLASSES, positive="yes").class_weights(outputs)
    assert weights is not None and max(weights) == 1.0
    scorer = SupervisedScorer(METRICS["f1"], fresh, classes=CLASSES, positive="yes")
    assert scorer.score(fresh_outputs, weights) > scorer.score(fresh_outputs) + 0.1
    best = max(scorer.score(fresh_outputs, (1.0, 1 / one)) for one in np.linspace(0.02, 1, 50))
    assert scorer.score(fresh_outputs, weights) > best - 0.03


def test_noise_moves_the_decision_less_than_the_best_threshold_of_one_sample() -> None:
    """Here the most probable class is right: every move is noise."""
    moves = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        chance = random.beta(2, 2, 80)
        outputs = np.column_stack([1 - chance, chance])
        decision = DecisionSearch("balanced_accuracy", (random.random(80) < chance).astype(int), 2, positive=1)
        weights = decision.weights(outputs) or (1.0, 1.0)
        moves.append((abs(np.log(weights[1] / weights[0])), abs(decision.best(outputs)[1])))
    kept, best = np.mean(moves, axis=0)
    assert kept < 0.7 * best


def test_rare_classes_of_several_gain_weight() -> None:
    random = np.random.default_rng(2)
    shares = np.array([0.8, 0.15, 0.05])
    chances = np.array([random.dirichlet(6 * shares) for _ in range(3000)])
    names = ("a", "b", "c")
    truth = np.array([random.choice(names, p=one) for one in chances])
    weights = SupervisedScorer(METRICS["f1_macro"], truth[:1500], classes=names).class_weights(chances[:1500])
    assert weights is not None and weights[2] > weights[0] and weights[1] > weights[0]
    other = SupervisedScorer(METRICS["f1_macro"], truth[1500:], classes=names)
    assert other.score(chances[1500:], weights) > other.score(chances[1500:]) + 0.02


@pytest.mark.parametrize("name", ["accuracy", "recall", "precision", "f1_weighted", "log_loss"])
def test_other_metrics_keep_the_most_probable_class(name: str) -> None:
    truth, outputs = rare()
    assert SupervisedScorer(METRICS[name], truth, classes=CLASSES, positive="yes").class_weights(outputs) is None


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_labels_of_a_ranking_metric_find_the_rarer_class(name: str) -> None:
    truth, outputs = rare()
    scorer = SupervisedScorer(METRICS[name], truth, classes=CLASSES, positive="yes")
    macro = SupervisedScorer(METRICS["f1_macro"], truth, classes=CLASSES, positive="yes")
    weights = scorer.class_weights(outputs)
    assert weights == macro.class_weights(outputs) is not None
    assert scorer.score(outputs, weights) == scorer.score(outputs) == scorer.utility(outputs)


def test_numbers_are_blended_on_the_scale_of_the_metric() -> None:
    truth = np.array([1.0, 10.0, 100.0])
    scorer = SupervisedScorer(METRICS["rmse_log"], truth, scale="log")
    made = scorer.blended([truth * 2, truth / 2], [1, 1])
    assert made.tolist() == pytest.approx(truth.tolist())
    assert scorer.utility(truth * np.exp(0.1)) == pytest.approx(-0.1)


def test_a_stack_corrects_its_members_out_of_fold() -> None:
    random = np.random.default_rng(0)
    truth = random.uniform(1, 10, 300)
    scorer = SupervisedScorer(METRICS["rmse"], truth)
    one, other = truth / 2 + random.normal(0, 0.1, 300), truth / 2 + random.normal(0, 0.1, 300)
    assert scorer.score(scorer.stacked([one, other])) < 0.2 < scorer.score(one)
    labels, outputs = rare(rows=600)
    classes = SupervisedScorer(METRICS["log_loss"], labels, classes=CLASSES, positive="yes")
    made = classes.stacked([outputs, np.tile([0.5, 0.5], (600, 1))])
    assert np.allclose(made.sum(axis=1), 1) and classes.score(made) < 0.35


def test_the_same_outputs_have_the_same_decision() -> None:
    truth, outputs = rare(rows=400)
    scorer = SupervisedScorer(METRICS["f1"], truth, classes=CLASSES, positive="yes")
    assert scorer.class_weights(outputs) is scorer.class_weights(outputs)
    assert scorer.class_weights(outputs) == scorer.class_weights(outputs.copy())
