"""Constraints and wishes of the request, against measured numbers."""

from typing import Any

import pytest

from palmette.automl.actors.implementation_verifier.actor import judged, overall
from palmette.automl.artefacts import Assessment, Latency, Score
from palmette.automl.task_spec.spec import Constraint, LearnerWish, TaskSpec

SCORES = (Score(metric="f1", value=0.8, low=0.75, high=0.85),)
LATENCY = Latency(p50=10.0, p95=14.0, low=9.0, high=12.0, requests=200, batch_seconds=1.5)


def measured(learners: str = "lightgbm", **more: Any) -> tuple[Assessment, str, tuple[str, ...]]:
    known: dict[str, Any] = {
        "rows": 9, "scores": SCORES, "better": True, "better_reason": "?", "status": "pass", "training_seconds": 30.0,
        "megabytes": 2.0, "latency": LATENCY,
    }  # fmt: skip
    return Assessment(**{**known, **more}), "on the hold-out", tuple(learners.split())


NARROWLY = ", but not by more than the spread"


@pytest.mark.parametrize(("limit", "more", "told"), [
    (("latency", "<=", 0.02), {}, "pass 10 ms (9 ms to 12 ms)"),
    (("latency", "<=", 0.0115), {}, f"partly 10 ms (9 ms to 12 ms); kept{NARROWLY}"),
    (("latency", "<=", 0.0095), {}, f"partly 10 ms (9 ms to 12 ms); missed{NARROWLY}"),
    (("latency", "<", 0.008), {}, "fail 10 ms (9 ms to 12 ms)"),
    (("latency", "<=", 1.0), {"latency": None}, "fail not measured: the endpoint did not start"),
    (("batch_time", "<=", 1.0), {}, "fail 1.5 s for all held-out rows"),
    (("size", "<=", 2e6), {}, "pass 2 MB"),
    (("size", "<", 1e6), {}, "fail 2 MB"),
    (("training_time", "<=", 29.0), {}, "fail 30.0 s"),
    (("parameters", "<=", 1000), {"parameters": 900}, "pass 900 parameters"),
    (("parameters", "<=", 1000), {}, "fail not measured: the model has none that can be counted"),
    (("score", ">=", 0.7), {}, "pass F1 0.800 on the hold-out (95 % interval 0.750 to 0.850)"),
    (("score", ">=", 0.78), {}, f"partly F1 0.800 on the hold-out (95 % interval 0.750 to 0.850); kept{NARROWLY}"),
    (("score", ">=", 0.84), {}, f"partly F1 0.800 on the hold-out (95 % interval 0.750 to 0.850); missed{NARROWLY}"),
    (("score", ">", 0.9), {}, "fail F1 0.800 on the hold-out (95 % interval 0.750 to 0.850)"),
])  # fmt: skip
def test_a_limit_within_the_spread_is_kept_partly(
    limit: tuple[Any, str, float], more: dict[str, Any], told: str
) -> None:
    quantity, comparison, value = limit
    constraint = Constraint.model_validate({"quantity": quantity, "comparison": comparison, "value": value})
    (found,) = judged(TaskSpec(constraints=(constraint,)), *measured(**more))
    assert f"{found.status} {found.measured}" == told


def test_a_score_of_another_metric_is_judged_by_its_own_value() -> None:
    limits = [Constraint(quantity="score", metric=name, comparison=">=", value=0.5) for name in ("f1", "r2")]
    found = list(judged(TaskSpec(constraints=tuple(limits)), *measured()))
    assert [one.status for one in found] == ["pass", "fail"] and overall(found) == "partly"
    assert found[1].measured == "not measured: r2 cannot be computed on these rows"


@pytest.mark.parametrize(("wishes", "members", "told"), [
    ("required gradient_boosting", "lightgbm", "only gradient_boosting: pass"),
    ("required gradient_boosting", "lightgbm linear", "only gradient_boosting: fail"),
    ("required xgboost, required lightgbm", "xgboost lightgbm", "only lightgbm or xgboost: pass"),
    ("forbidden linear", "linear lightgbm", "no linear: fail"),
    ("forbidden linear", "lightgbm", "no linear: pass"),
    ("preferred catboost", "lightgbm", ""),
])  # fmt: skip
def test_families_of_learners_are_judged_by_the_members(wishes: str, members: str, told: str) -> None:
    named = [dict(zip(("level", "name"), wish.split(), strict=True)) for wish in wishes.split(", ")]
    task = TaskSpec(learners=tuple(map(LearnerWish.model_validate, named)))
    assert "; ".join(f"{one.wish}: {one.status}" for one in judged(task, *measured(members))) == told


@pytest.mark.parametrize(("ensemble", "members", "told"), [
    (True, "lightgbm linear", "several models together: 2 models: pass"),
    (True, "lightgbm", "several models together: 1 model: fail"),
    (False, "lightgbm", "a single model: 1 model: pass"),
])  # fmt: skip
def test_the_number_of_models_is_judged(ensemble: bool, members: str, told: str) -> None:
    (found,) = judged(TaskSpec(ensemble=ensemble), *measured(members))
    assert f"{found.wish}: {found.measured}: {found.status}" == told


def test_a_wish_that_cannot_be_met_is_failed() -> None:
    found = list(judged(TaskSpec(unmet=("a notebook: not supported",)), *measured()))
    assert [(one.wish, one.status) for one in found] == [("a notebook: not supported", "fail")]
    assert overall(found) == "fail" and overall([]) == "pass"
