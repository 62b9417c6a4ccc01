"""Ensembles are chosen only where they are better, by the policy of the plan."""

import numpy as np
import pytest

from palmette.automl.candidates import Candidate, Ensembling, Selection, Trial
from palmette.automl.measure.metrics import METRICS, Predictions, score
from palmette.automl.measure.scorer import SupervisedScorer
from palmette.automl.problems.forecasting.problem import ForecastScorer
from palmette.automl.search.results import CandidateResult
from palmette.automl.search.selection import alone, ensemble_outputs, select

POLICIES: tuple[Ensembling, ...] = ("single", "best", "mean", "weighted", "stacking", "voting")


def result(
    name: str, outputs: np.ndarray, rounds: tuple[int | None, ...] = (), learner: str = "lightgbm"
) -> CandidateResult:
    candidate = Candidate(name=name, learner=learner)
    return CandidateResult(Trial(candidate=candidate, status="finished", rounds=rounds, seconds=1.0), outputs)


def names(selection: Selection) -> list[str]:
    return [one.candidate.name for one in selection.members]


def noisy(count: int = 4, rows: int = 400) -> tuple[np.ndarray, list[CandidateResult]]:
    """Numbers, and candidates that err independently, the first least."""
    random = np.random.default_rng(0)
    truth = random.normal(size=rows)
    return truth, [result(f"c{i}", truth + random.normal(size=rows) * (1 + i / 5)) for i in range(count)]


@pytest.mark.parametrize("name", ["rmse", "r2", "mae"])
def test_an_ensemble_of_different_errors_is_better_than_the_best(name: str) -> None:
    truth, several = noisy()
    scorer = SupervisedScorer(METRICS[name], truth)
    chosen = select(several, scorer)
    assert chosen.best_single == "c0" and len(chosen.members) > 2 and chosen.ensembling == "weighted"
    assert METRICS[name].better(chosen.score, alone(several[0], scorer).score)
    assert sum(one.weight for one in chosen.members) == pytest.approx(1)
    together = Predictions(ensemble_outputs(chosen, several, scorer))
    assert chosen.score == pytest.approx(score(METRICS[name], truth, together))
    assert "an ensemble of" in chosen.reason


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_can_be_computed_again(policy: Ensembling) -> None:
    truth, several = noisy()
    scorer = SupervisedScorer(METRICS["rmse"], truth)
    chosen = select(several, scorer, policy)
    assert scorer.score(ensemble_outputs(chosen, several, scorer)) == pytest.approx(chosen.score)
    assert (len(chosen.members) == 1) == (policy == "single")
    if policy in ("mean", "voting"):
        assert len({one.weight for one in chosen.members}) == 1


def test_forecasts_are_averaged_over_all_that_do_no_harm() -> None:
    """The third repeats the first, so that the mean of the first two is the best by no more than noise."""
    truth, (first, second, noise) = np.zeros((24, 1)), np.random.default_rng(5).normal(size=(3, 24, 1))
    several = [result("first", first), result("second", second), result("third", 1.2 * first + 0.1 * noise)]
    scorer = ForecastScorer(METRICS["rmse"], truth, np.ones(truth.shape), np.arange(24) // 6)
    assert names(select(several, scorer)) == ["first", "second", "third"]
    gainless = [result("first", first), result("second", 1.4 * second)]
    assert names(select(gainless, scorer)) == ["first", "second"], "one that was picked by few origins is no safer"


def test_forecasts_of_one_learner_weigh_as_much_as_one_forecast() -> None:
    truth, noise = np.zeros((400, 1)), np.random.default_rng(5).normal(size=(3, 400, 1))
    several = [result("long", noise[0], learner="ridge"), result("short", noise[1], learner="ridge")]
    several.append(result("theta", noise[2], learner="theta"))
    scorer = ForecastScorer(METRICS["rmse"], truth, np.ones(truth.shape), np.arange(400) // 10)
    weights = {one.candidate.name: one.weight for one in select(several, scorer).members}
    assert weights == pytest.approx({"long": 0.25, "short": 0.25, "theta": 0.5}, abs=0.05)


def test_many_settings_of_one_learner_leave_room_for_another() -> None:
    truth, (best, other, *_) = noisy()
    alike = [result(f"tuned-{i}", best.outputs * (1 - i / 1000)) for i in range(20)]
    different = result("other", other.outputs, learner="catboost")
    chosen = select([*alike, different], SupervisedScorer(METRICS["rmse"], truth))
    assert "other" in names(chosen)


def test_the_best_stays_alone_where_others_add_nothing() -> None:
    truth = np.arange(100.0)
    best = result("best", truth + np.tile([0.1, -0.1], 50))
    worse = result("worse", truth + np.tile([0.5, -0.5], 50))
    chosen = select([worse, best], SupervisedScorer(METRICS["rmse"], truth), "weighted")
    assert names(chosen) == ["best"] and chosen.ensembling == "single"
    assert chosen.score == chosen.apparent_score == pytest.approx(0.1)


@pytest.mark.parametrize(("metric", "policy"), [("roc_auc", "best"), ("accuracy", "single"), ("mcc", "voting")])
def test_the_best_of_many_that_know_nothing_scores_like_one_that_knows_nothing(metric: str, policy: Ensembling) -> None:
    random = np.random.default_rng(3)
    truth, folds = random.choice(np.array(["no", "yes"]), 300), np.arange(300) % 5
    several = [result(f"c{i}", random.dirichlet(np.ones(2), 300)) for i in range(40)]
    scorer = SupervisedScorer(METRICS[metric], truth, classes=("no", "yes"))
    chosen = select(several, scorer, policy, folds=folds)
    assert chosen.members == select(several, scorer, policy).members, "what is chosen does not depend on it"
    middle = float(np.mean([alone(one, scorer).score for one in several]))
    assert abs(chosen.score - middle) < 0.6 * (chosen.apparent_score - middle)


def test_one_model_is_delivered_where_an_ensemble_gains_no_more_than_noise() -> None:
    """On few rows the greedy search always finds something that seems to gain."""
    alone_count = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.normal(size=60)
        shared = truth + random.normal(size=60)
        several = [result(f"c{i}", shared + 0.05 * random.normal(size=60)) for i in range(6)]
        scorer = SupervisedScorer(METRICS["rmse"], truth)
        chosen = select(several, scorer)
        alone_count += len(chosen.members) == 1
        assert (
            "within noise" in chosen.reason
            or "standard error" in chosen.reason
            or "no ensemble is better" in chosen.reason
        )
        assert len(select(several, scorer, "mean").members) > 1, "a policy that asks for several gets them"
    assert alone_count >= 8


@pytest.mark.parametrize(
    ("room", "expected"),
    [(9.0, "low high"), (6.9, "low flat"), (3.5, "low"), (2.0, "flat"), (0.5, "flat")],
)
def test_members_take_no_more_than_a_limit_while_something_fits(room: float, expected: str) -> None:
    """The mean of low and high is best; in less room the best that fits; where nothing fits, the smallest."""
    truth = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    offset = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    several = [result("low", truth - offset), result("high", truth + 1.1 * offset), result("flat", 0 * truth)]
    seconds = {"low": 3.0, "high": 4.0, "flat": 1.0}
    chosen = select(
        several,
        SupervisedScorer(METRICS["rmse"], truth),
        "weighted",
        lambda some: sum(seconds[name] for name in some) / room,
    )
    assert " ".join(names(chosen)) == expected


def test_a_vote_counts_labels() -> None:
    truth = np.array(["a", "b"] * 50)
    sure = np.where(truth[:, None] == ["a", "b"], 0.6, 0.4)
    wrong = sure[:, ::-1] * 0.2 + np.where(truth[:, None] == ["a", "b"], 0.0, 0.8)
    several = [result("one", sure), result("two", sure), result("off", wrong)]
    scorer = SupervisedScorer(METRICS["accuracy"], truth, classes=("a", "b"))
    assert select(several, scorer, "voting").score == 1.0
    assert scorer.score(np.mean([one.outputs for one in several], axis=0)) == 0.0, (
        "the mean follows the one that is sure"
    )


@pytest.mark.parametrize(
    ("rounds", "expected"), [((10, 20, 31), 20), ((None, None), None), ((), None), ((10, None), None)]
)
def test_the_final_fit_takes_the_steps_of_the_folds(rounds: tuple[int | None, ...], expected: int | None) -> None:
    truth = np.arange(10.0)
    (member,) = alone(result("one", truth, rounds), SupervisedScorer(METRICS["rmse"], truth)).members
    assert member.rounds == expected
