"""The verdict: measured once, on what is delivered; what is missed goes back to the plans while time is left."""

from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_coding import codes
from small_delivery import SmallDelivery, small_delivery

from palmette.automl.actors.implementation_verifier import actor as verifying
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.implementation_verifier.evaluation import Evaluator
from palmette.automl.artefacts import Assessment, MeasuredRound
from palmette.automl.task_spec.spec import Constraint, TaskSpec


@pytest.fixture(scope="module")
def small() -> SmallDelivery:
    return small_delivery()


def test_everything_that_is_delivered_is_measured(small: SmallDelivery) -> None:
    made: Assessment = small.shop.known["assessment"]
    assert made.rows == len(made.answers.text.splitlines()) - 1 if made.answers else False
    assert made.scores[0].metric == small.shop.known["blueprint"].metric and made.scores[0].baseline is not None
    assert "the best baseline" in made.better_reason
    assert made.latency and made.latency.low <= made.latency.p50 <= made.latency.high
    assert made.megabytes > 0 and made.training_seconds > 1
    assert {one.column for one in made.importances} == {one.name for one in small.shop.known["blueprint"].columns}
    latency, parameters = made.results
    assert (latency.status, parameters.status) == ("pass", "pass") and made.status == "pass"
    assert made.parameters and parameters.measured == f"{made.parameters:,} parameters"


def test_a_second_attempt_measures_nothing(small: SmallDelivery) -> None:
    made, actor = small.shop.known["assessment"], small.shop.make(ImplementationVerifier)
    before = small.sandbox.started
    again = actor.run(small.shop.input(ImplementationVerifier), small.shop.context(attempt=2, last=made)).output
    assert again is made and small.sandbox.started == before


def judged_by(small: SmallDelivery, can_revise: bool, monkeypatch: pytest.MonkeyPatch, **limit: Any) -> Any:
    """The verdict on the same assessment where a limit is missed."""
    monkeypatch.setattr(verifying, "can_revise", lambda *_: can_revise)
    constraint = Constraint.model_validate(limit)
    task: TaskSpec = small.shop.known["task"].model_copy(update={"constraints": (constraint,)})
    found: Assessment = small.shop.known["assessment"]
    wrong = found.results[0].model_copy(update={"constraint": constraint, "status": "fail"})
    asked = small.shop.input(ImplementationVerifier, task=task)
    output = found.model_copy(update={"results": (wrong,)})
    return small.shop.make(ImplementationVerifier).check(asked, output, small.shop.context())


def test_a_missed_limit_goes_back_with_its_numbers_while_plans_can_be_revised(
    small: SmallDelivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = {"quantity": "latency", "comparison": "<=", "value": 1e-6}
    verdict = judged_by(small, True, monkeypatch, **limit)
    assert codes(verdict) == ["constraint-missed"]
    done = MeasuredRound.model_validate_json(verdict.violations[0].evidence)
    assert done.missed == (Constraint.model_validate(limit),) and done.selection.members and done.milliseconds
    assert judged_by(small, False, monkeypatch, **limit).ok


def test_a_score_goes_back_by_its_value_out_of_fold(small: SmallDelivery, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = {"quantity": "score", "comparison": ">=", "value": small.shop.known["comparison"].selection.score - 0.01}
    assert judged_by(small, True, monkeypatch, **reached).ok
    verdict = judged_by(small, True, monkeypatch, **{**reached, "value": 0.9999})
    assert codes(verdict) == ["score-missed"] and "out of fold" in verdict.violations[0].message


def test_without_a_hold_out_scores_are_out_of_fold(small: SmallDelivery) -> None:
    shop = small.shop
    split = shop.known["profile"].split.model_copy(update={"test_share": 0.0})
    assert split.test_share == 0.0
    selection = shop.known["comparison"].selection
    scratch = shop.context().workspace / "evaluation"
    asked = shop.input(ImplementationVerifier)
    made = Evaluator(asked, without_holdout(shop), shop.store, shop.sandbox, scratch).evaluated()
    assert isinstance(made, tuple)
    assert made[0]["scores"][0].value == pytest.approx(selection.score) and "answers" not in made[0]
    assert "baseline" in made[0]["better_reason"]
    update = {"baseline": asked.comparison.package, "selection": selection.model_copy(update={"reason": "no time"})}
    same = asked.model_copy(update={"comparison": asked.comparison.model_copy(update=update)})
    compared = Evaluator(same, without_holdout(shop), shop.store, shop.sandbox, scratch)._compared((), "")
    assert compared == "The delivered model is the best baseline: no time."


def without_holdout(shop: Any) -> Any:
    from dataclasses import replace

    from palmette.automl.splitting.data_splits import DataSplits

    splits = DataSplits.of(shop.known["samples"], shop.known["profile"].split)
    return replace(splits, holdout=splits.holdout.iloc[:0], holdout_units=None)


def test_a_package_that_cannot_predict_is_a_failure(small: SmallDelivery) -> None:
    shop = small.shop
    comparison = shop.known["comparison"]
    folder = shop.store.fresh("package-broken")
    for file in comparison.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise SystemExit('no')" if file.path == "predict.py" else file.text, "utf-8")
    broken = comparison.model_copy(update={"package": "package-broken"})
    attempt = shop.make(ImplementationVerifier).run(
        shop.input(ImplementationVerifier, comparison=broken), shop.context()
    )
    assert attempt.output is None and codes(attempt) == ["prediction-failed"]
