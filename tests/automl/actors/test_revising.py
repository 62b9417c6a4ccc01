"""A plan that was revised for its score is chosen together with what was trained before."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_coding import Shop, candidate
from small_plans import context, round_of

from palmette.automl.actors.assembler.actor import Assembler, store_name, with_earlier
from palmette.automl.artefacts import Assembly, Plans
from palmette.automl.candidates import Trial
from palmette.automl.search.results import CandidateLoad, CandidateResult, write_results
from palmette.automl.task_spec.spec import Constraint


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


def revision(shop: Shop, missed: list[str], **changes: Any) -> Any:
    limits = tuple(Constraint.model_validate({"quantity": one, "comparison": ">=", "value": 1}) for one in missed)
    done = round_of(missed=limits)
    plans: Plans = shop.known["plans"].model_copy(update={"rounds": (done,) if missed else ()})
    blueprint = shop.known["blueprint"].model_copy(update={"candidates": (candidate("knn"),), **changes})
    return shop.input(Assembler, plans=plans, blueprint=blueprint)


@pytest.mark.parametrize(("missed", "changes", "kept"), [
    (["score"], {}, ["lightgbm", "knn", "dummy"]), (["score", "latency"], {}, ["knn", "dummy"]), ([], {}, []),
    (["score"], {"package": "another"}, []),
])  # fmt: skip
def test_what_was_measured_is_not_trained_again(
    missed: list[str], changes: dict[str, Any], kept: list[str], shop: Shop
) -> None:
    given = revision(shop, missed, **changes)
    first = store_name(shop.known["blueprint"], given.samples, ())
    write_results(shop.store.fresh(first), load(shop, "lightgbm", "knn", "dummy"))
    name, asked = store_name(given.blueprint, given.samples, ()), context(last=Assembly(store=first, tracks=()))
    found = Assembler(shop.sandbox, shop.store)._earlier(given, name, asked)
    assert [one.name for one in found] == kept


def test_an_earlier_candidate_whose_name_is_taken_has_a_name_of_its_own(shop: Shop) -> None:
    earlier = load(shop, "lightgbm", "linear", settings={"a": 1}).results
    made = with_earlier(load(shop, "lightgbm", "knn"), earlier)
    assert [one.name for one in made.results] == ["lightgbm", "knn", "lightgbm-before", "linear"]
