"""A plan that was revised for its score is chosen together with what was trained before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_coding import Shop, candidate

from palmette.automl.actors.assembler.actor import revises_a_score, store_name, with_earlier
from palmette.automl.artefacts import Assembly, MeasuredRound, Plans
from palmette.automl.search.results import CandidateLoad, CandidateResult, write_results
from palmette.automl.task_spec.spec import Constraint
from palmette.automl.trials import Trial


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


def load(shop: Shop, *names: str, **fields: Any) -> CandidateLoad:
    outputs = np.full((shop.known["blueprint"].rows, 2), 0.5)
    results = tuple(
        CandidateResult(Trial(candidate=candidate(name, **fields), status="finished", seconds=1.0), outputs)
        for name in names
    )
    return CandidateLoad(tuple(one.trial for one in results), results)


def test_candidates_of_the_round_before_stay_to_be_chosen(shop: Shop) -> None:
    blueprint, samples = shop.known["blueprint"], shop.known["samples"]
    first = store_name(blueprint, samples, ())
    other = blueprint.model_copy(update={"ensembling": "single"})
    second, third = store_name(other, samples, ()), store_name(other.model_copy(update={"rows": 5}), samples, ())
    write_results(shop.store.fresh(first), load(shop, "lightgbm", "linear", settings={"a": 1}))
    now, last = load(shop, "lightgbm", "knn"), Assembly(store=first, tracks=())
    made = with_earlier(now, second, last, shop.store, other)
    assert [one.name for one in made.results] == ["lightgbm", "knn", "lightgbm-before", "linear"]
    assert with_earlier(now, third, last, shop.store, other) == now == with_earlier(now, first, last, shop.store, other)


@pytest.mark.parametrize(("missed", "due"), [(["score"], True), (["score", "latency"], False), ([], False)])
def test_only_a_missed_score_brings_them_back(missed: list[str], due: bool, shop: Shop) -> None:
    limits = tuple(Constraint.model_validate({"quantity": one, "comparison": ">=", "value": 1}) for one in missed)
    done = MeasuredRound(plan="p", candidates=(), members=(), megabytes=1.0, seconds=1.0, missed=limits)
    plans: Plans = shop.known["plans"].model_copy(update={"rounds": (done,)})
    assert revises_a_score(plans) is due and not revises_a_score(None)
