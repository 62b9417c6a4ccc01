"""Out-of-fold predictions are verified, decisions suit the metric, ensembles are chosen only where they are better."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.automl.measure import METRICS, Predictions, score
from palmette.automl.measure.confusion import FORMULAS, MOVED, counts
from palmette.automl.selection import Candidate, Expected, Judge, Trial, read_candidates, select
from palmette.automl.selection.decision import GRID, Decision

CLASSES = ("no", "yes")
FOLDS = np.array([0, 1, 0, 1])
EXPECTED = Expected(FOLDS, CLASSES, probabilities=True)


def trial(name: str = "a", algorithm: str = "lightgbm", status: str = "finished") -> Trial:
    return Trial(name=name, algorithm=algorithm, settings={}, status=status, seconds=1.0)  # type: ignore[arg-type]  # a word


def candidate(name: str, outputs: np.ndarray, algorithm: str = "lightgbm") -> Candidate:
    return Candidate(trial(name, algorithm), outputs)


def written(folder: Path, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table) -> Path:
    table = pd.DataFrame({"row": range(4), "fold": FOLDS, "no": [0.9, 0.2, 0.5, 0.6], "yes": [0.1, 0.8, 0.5, 0.4]})
    (folder / "out_of_fold").mkdir()
    change(table).to_csv(folder / "out_of_fold" / "a.csv", index=False)
    (folder / "trials.json").write_text(json.dumps([trial().model_dump()]), encoding="utf-8")
    return folder


def test_predictions_are_read_in_the_order_of_the_rows(tmp_path: Path) -> None:
    found = read_candidates(written(tmp_path, lambda table: table.iloc[::-1]), EXPECTED)
    assert not found.violations
    assert found.candidates[0].outputs.tolist() == [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4]]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda table: table.iloc[:3], "out-of-fold-rows"),
        (lambda table: table.assign(row=[0, 1, 1, 3]), "out-of-fold-rows"),
        (lambda table: table.assign(fold=0), "out-of-fold-folds"),
        (lambda table: table.rename(columns={"yes": "maybe"}), "out-of-fold-columns"),
        (lambda table: table[["row", "fold", "yes", "no"]], "out-of-fold-columns"),
        (lambda table: table.assign(yes=0.9), "out-of-fold-values"),
        (lambda table: table.assign(yes=-0.1, no=1.1), "out-of-fold-values"),
        (lambda table: table.assign(yes=np.nan), "out-of-fold-values"),
        (lambda table: table.assign(yes="many"), "out-of-fold-unreadable"),
        (lambda table: pd.concat([table] * 100), "out-of-fold-unreadable"),
    ],
)
def test_predictions_that_do_not_hold_are_left_out(
    tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame], code: str
) -> None:
    found = read_candidates(written(tmp_path, change), EXPECTED)
    assert [one.code for one in found.violations] == [code]
    assert not found.candidates and len(found.trials) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[]", "no-candidate"),
        ("{", "trials-unreadable"),
        (json.dumps([trial(status="failed").model_dump() | {"note": "no memory"}]), "no-candidate"),
        (json.dumps([trial("../../a").model_dump()]), "trials-unreadable"),
        (json.dumps([trial("absent").model_dump()]), "out-of-fold-unreadable"),
        (json.dumps([trial(f"a{n}", status="failed").model_dump() for n in range(1001)]), "trials-unreadable"),
        ("[" + "0," * 100_000 + "0]", "trials-unreadable"),
        ("[" + " " * 5_000_000 + "]", "trials-unreadable"),
    ],
)
def test_trials_that_do_not_hold_are_said_to_be_so(tmp_path: Path, text: str, code: str) -> None:
    (written(tmp_path) / "trials.json").write_text(text, encoding="utf-8")
    assert [one.code for one in read_candidates(tmp_path, EXPECTED).violations] == [code]


@pytest.mark.parametrize(
    "text",
    ["", "\0", "x" * 200_000, "row,fold,no,yes\n0\n1\n2\n3\n", "row,fold,no,yes\n0,0,1,0,1\n", "row,fold,no,yes\n\xff"],
)
def test_files_of_any_content_are_left_out(tmp_path: Path, text: str) -> None:
    (written(tmp_path) / "out_of_fold" / "a.csv").write_text(text, encoding="latin-1")
    found = read_candidates(tmp_path, EXPECTED)
    assert len(found.violations) == 1 and not found.candidates


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(sorted(FORMULAS)))
def test_metrics_from_counts_are_the_metrics(seed: int, classes: int, name: str) -> None:
    random = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(classes), random.integers(0, classes, 40)])
    said = random.integers(0, classes, len(truth))
    names = tuple("abcd"[:classes])
    expected = score(METRICS[name], np.array(names)[truth], Predictions(np.array(names)[said], None, names), "b")
    assert float(FORMULAS[name](counts(truth, said, classes), 1)) == pytest.approx(expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(MOVED)))
def test_the_weight_on_the_grid_is_the_best_one_of_the_grid(seed: int, name: str) -> None:
    random = np.random.default_rng(seed)
    truth = np.concatenate([[0, 1], random.integers(0, 2, 60)])
    outputs = random.dirichlet([2.0, 1.0], len(truth))
    decision = Decision(name, truth, 2, positive=1)
    found = decision.score(outputs, np.exp(decision.best(outputs)))
    one_by_one = [decision.score(outputs, np.array([1.0, np.exp(weight)])) for weight in GRID]
    assert max(one_by_one) - found <= 0.002 * 6 + 1e-9, "but for what a weight costs"
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
    weights = Judge(METRICS["f1"], truth, classes=CLASSES, positive="yes").class_weights(outputs)
    assert weights is not None and max(weights) == 1.0
    judge = Judge(METRICS["f1"], fresh, classes=CLASSES, positive="yes")
    assert judge.score(fresh_outputs, weights) > judge.score(fresh_outputs) + 0.1
    best = max(judge.score(fresh_outputs, (1.0, 1 / one)) for one in np.linspace(0.02, 1, 50))
    assert judge.score(fresh_outputs, weights) > best - 0.03


def test_noise_moves_the_decision_less_than_the_best_threshold_of_one_sample() -> None:
    """Here the most probable class is right: every move is noise."""
    moves = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        chance = random.beta(2, 2, 80)
        outputs = np.column_stack([1 - chance, chance])
        decision = Decision("balanced_accuracy", (random.random(80) < chance).astype(int), 2, positive=1)
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
    judge = Judge(METRICS["f1_macro"], truth[:1500], classes=names)
    weights = judge.class_weights(chances[:1500])
    assert weights is not None and weights[2] > weights[0] and weights[1] > weights[0]
    other = Judge(METRICS["f1_macro"], truth[1500:], classes=names)
    assert other.score(chances[1500:], weights) > other.score(chances[1500:]) + 0.02


@pytest.mark.parametrize("name", ["accuracy", "recall", "precision", "f1_weighted", "roc_auc", "log_loss"])
def test_other_metrics_keep_the_most_probable_class(name: str) -> None:
    truth, outputs = rare()
    assert Judge(METRICS[name], truth, classes=CLASSES, positive="yes").class_weights(outputs) is None


@pytest.mark.parametrize("name", ["rmse", "r2", "mae"])
def test_an_ensemble_of_different_errors_is_better_than_the_best(name: str) -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=400)
    several = [candidate(f"c{i}", truth + random.normal(size=400) * (1 + i / 5)) for i in range(4)]
    chosen = select(several, Judge(METRICS[name], truth))
    assert chosen.best_single == "c0" and len(chosen.members) > 2
    assert METRICS[name].better(chosen.score, chosen.single_score)
    assert sum(member.weight for member in chosen.members) == pytest.approx(1)
    assert chosen.score == pytest.approx(score(METRICS[name], truth, Predictions(chosen.outputs(several))))


def test_the_best_stays_alone_where_others_add_nothing() -> None:
    truth = np.arange(100.0)
    best = candidate("best", truth + np.tile([0.1, -0.1], 50))
    worse = candidate("worse", truth + np.tile([0.5, -0.5], 50))
    chosen = select([worse, best], Judge(METRICS["rmse"], truth))
    assert [(member.name, member.weight) for member in chosen.members] == [("best", 1.0)]
    assert chosen.score == chosen.single_score == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("room", "names"),
    [(9.0, "low high"), (6.9, "low flat"), (3.5, "low"), (2.0, "flat"), (0.5, "low high")],
)
def test_what_is_delivered_takes_no_more_room_while_something_fits(room: float, names: str) -> None:
    """The mean of low and high is best; in less room it is the best that fits, and of no room nothing is taken."""
    truth = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    offset = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    several = [candidate("low", truth - offset), candidate("high", truth + 1.1 * offset), candidate("flat", 0 * truth)]
    taken = {"low": 3.0 / room, "high": 4.0 / room, "flat": 1.0 / room}
    chosen = select(several, Judge(METRICS["rmse"], truth), taken)
    assert " ".join(member.name for member in chosen.members) == names


def test_values_are_judged_in_the_unit_of_the_target() -> None:
    truth = np.array([1.0, 10.0, 100.0])
    one = candidate("one", np.log(truth) + 0.1)
    chosen = select([one], Judge(METRICS["rmse_log"], truth, restore=np.exp))
    assert chosen.score == pytest.approx(0.1)
