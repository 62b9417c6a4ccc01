"""What plans are judged by before anything is trained: costs, limits, timestamps, and what a round measures."""

from dataclasses import astuple, replace
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from small_plans import round_of

from palmette.automl.artefacts import DataPlan, MeasuredCandidate, MeasuredRound, Plan, Treatment
from palmette.automl.candidates import LEFT_OUT, Candidate, Cost, Derived
from palmette.automl.composition import encoder_for, learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.planning.columns import (
    ColumnEdits,
    ColumnNote,
    KindEdit,
    drift_of,
    edited,
    elapsed,
    objections,
    parts_of,
)
from palmette.automl.planning.constraints import REQUEST, Costs, constraints_of, digest, needs, shares
from palmette.automl.planning.drafting import on_columns_alone
from palmette.automl.planning.rounds import better_before
from palmette.automl.samples import DataFile, Reading, SampleColumn, Samples
from palmette.automl.task_spec.spec import Constraint, TaskSpec

FACTS = DataFacts(1000, 10, "regression", 1, 0, "rmse", 5, ("number",))
LEARNERS = ("lightgbm", "linear", "extra_trees", "knn", "mlp")


def limit(quantity: str, value: float, comparison: str = "<=") -> Constraint:
    return Constraint.model_validate({"quantity": quantity, "comparison": comparison, "value": value})


def candidate(learner: str, **fields: Any) -> Candidate:
    return Candidate(name=learner, learner=learner, **fields)


# Costs


@given(st.sampled_from(LEARNERS), st.integers(10, 10**5), st.integers(1, 500))
def test_more_rows_or_columns_never_cost_less(name: str, rows: int, columns: int) -> None:
    def cost(rows: int, columns: int) -> Cost:
        facts = DataFacts(rows, columns, "regression", 1, 0, "rmse", 5, ("number",))
        return Costs(facts).of(candidate(name))

    less = cost(rows, columns)
    for more in (cost(2 * rows, columns), cost(rows, 2 * columns)):
        assert all(one >= other > 0 for one, other in zip(astuple(more), astuple(less), strict=True))


def test_measured_numbers_take_the_place_of_estimates() -> None:
    light, linear = candidate("lightgbm"), candidate("linear")
    before = Costs(FACTS)
    done = round_of(
        [light],
        candidates=(MeasuredCandidate(candidate=light, score=1.0, seconds=7.0),),
        milliseconds=3 * before.of(light).milliseconds,
        megabytes=2 * before.of(light).megabytes,
        seconds=9.0,
    )
    after = Costs(FACTS, (done,))
    assert after.of(light).seconds == 7.0
    assert after.of(light).milliseconds == pytest.approx(done.milliseconds or 0, rel=0.1)
    assert after.of(linear).megabytes == pytest.approx(2 * before.of(linear).megabytes, rel=0.2)
    assert after.of(linear).milliseconds == pytest.approx(3 * before.of(linear).milliseconds, rel=0.2)


def test_one_slow_candidate_does_not_change_the_estimates_of_others() -> None:
    slow = MeasuredCandidate(candidate=candidate("mlp"), score=1.0, seconds=1000.0)
    done = round_of([slow.candidate], candidates=(slow,))
    costs, before = Costs(FACTS, (done,)), Costs(FACTS)
    assert costs.of(candidate("linear")).seconds == before.of(candidate("linear")).seconds
    assert costs.of(candidate("mlp", settings={"width": 8})).seconds > 100 * before.of(candidate("mlp")).seconds


def test_an_ensemble_handles_a_request_once() -> None:
    light, linear = candidate("lightgbm"), candidate("linear")
    costs = Costs(FACTS)
    both = costs.together([light, linear])
    assert both.milliseconds < costs.of(light).milliseconds + costs.of(linear).milliseconds - REQUEST / 2


def test_plans_are_equal_by_what_they_train_and_deliver() -> None:
    one = Plan(name="a", idea="?", candidates=(candidate("linear"), candidate("knn", settings={"n": 3})))
    same = one.model_copy(update={"name": "b", "candidates": one.candidates[::-1]})
    assert digest(one) == digest(same) != digest(one.model_copy(update={"ensembling": "single"}))


# Constraints


def test_a_limit_is_compared_in_its_own_unit_and_only_from_above() -> None:
    task = TaskSpec(
        constraints=(
            limit("training_time", 60),
            limit("latency", 0.01, "<"),
            limit("size", 1e6),
            limit("size", 1, ">="),
        )
    )
    limits = constraints_of(task, FACTS).limits
    found = needs(Cost(seconds=30.0, megabytes=2.0, milliseconds=10.0), limits)
    assert [one.ratio for one in found] == [pytest.approx(0.5), pytest.approx(1.0), pytest.approx(2.0)]
    assert str(found[2]) == "size <= 1e+06 is required, and about 2e+06 is expected"


@pytest.mark.parametrize(("wishes", "allowed", "preferred"), [
    ([], set(LEARNERS), ()),
    ([("linear", "required"), ("nothing_like_it", "required")], {"linear"}, ("linear",)),
    ([("tree_ensemble", "forbidden")], {"linear", "knn", "mlp"}, ()),
    ([("mlp", "preferred")], set(LEARNERS), ("mlp",)),
    ([("lightgbm", "required"), ("gradient_boosting", "forbidden")], set(), ()),
])  # fmt: skip
def test_names_in_a_request_become_learners_that_are_here(
    wishes: list[tuple[str, str]], allowed: set[str], preferred: tuple[str, ...]
) -> None:
    fields = [{"name": name, "level": level} for name, level in wishes]
    made = constraints_of(TaskSpec.model_validate({"learners": fields}), FACTS)
    assert set(made.allowed) & set(LEARNERS) == allowed and made.preferred == preferred
    assert made.allowed[: len(preferred)] == preferred


@pytest.mark.parametrize(("kind", "is_before"), [("image", True), ("text", False)])
def test_files_and_texts_beside_columns_are_left_out_by_a_candidate(kind: Any, is_before: bool) -> None:
    facts = replace(FACTS, kinds=("number", kind))
    usual, (alone,) = learner_named("lightgbm").portfolio(facts)[0], on_columns_alone("lightgbm", facts)
    assert alone.encoders == {kind: LEFT_OUT} and (alone.rank < usual.rank) is is_before
    assert encoder_for(candidate("lightgbm", encoders=alone.encoders), kind, facts) is None
    assert not [*on_columns_alone("lightgbm", FACTS), *on_columns_alone("lightgbm", replace(facts, kinds=(kind,)))]


def test_tracks_share_the_time() -> None:
    assert shares(["traditional", "traditional", "neural"], []) == {"traditional": 0.75, "neural": 0.25}
    assert shares(["traditional", "neural"], ["neural", "traditional"]) == {"traditional": 0.5, "neural": 0.5}


# Rounds


def finished(plan: str, missed: int, score: float, store: str = "search-a-1") -> MeasuredRound:
    limits = (limit("latency", 0.01), limit("size", 1.0))[:missed]
    named = Plan(name=plan, idea="?", candidates=(candidate("linear"),))
    return round_of(plan=named, missed=limits, score=score, store=store)


@pytest.mark.parametrize(("before", "best"), [
    ([finished("a", 1, 5.0)], "a"), ([finished("a", 2, 5.0)], ""),
    ([finished("a", 2, 3.0), finished("b", 1, 9.0)], "b"),
    ([finished("a", 2, 3.0)], "a"), ([finished("a", 1, 3.0, "search-b-1")], ""), ([], ""),
])  # fmt: skip
def test_an_earlier_round_is_better_by_limits_then_by_score(before: list[MeasuredRound], best: str) -> None:
    found = better_before(before, finished("last", 2, 4.0), greater=False)
    assert (found.plan.name if found else "") == best


# Columns


def samples(**kinds: Any) -> Samples:
    columns = tuple(
        SampleColumn(
            name=name,
            source=name,
            kind=kind,
            dtype="?",
            missing=0,
            distinct=9,
            examples=(),
            reading=Reading(form="number"),
        )
        for name, kind in kinds.items()
    )
    file = DataFile(path="t.csv", role="train", sha256="", format="csv", rows=9)
    return Samples(sources=("t.csv",), files=(file,), columns=columns, rows=9)


PLAN = DataPlan(
    treatments=(
        Treatment(column="a", kind="number", reason=""),
        Treatment(column="b", kind="number", reason=""),
        Treatment(column="c", kind="category", reason=""),
        Treatment(column="d", kind="drop", reason="It is excluded."),
        Treatment(column="e", kind="datetime", reason=""),
    ),
    derived=(Derived(name="a_by_b", operation="ratio", columns=("a", "b"), reason="?"),),
)
TABLE = samples(a="number", b="number", c="category", d="number", e="datetime")


def derived(name: str, operation: Any, *columns: str) -> Derived:
    return Derived(name=name, operation=operation, columns=columns, reason="?")


@pytest.mark.parametrize(("edits", "words"), [
    (ColumnEdits(), ""),
    (ColumnEdits(drop=(ColumnNote(column="d", reason="?"),)), "'d' is not a column that is used"),
    (ColumnEdits(notes=(ColumnNote(column="z", reason="?"),)), "'z' is not a column that is used"),
    (ColumnEdits(kinds=(KindEdit(column="a", kind="category", reason="?"),), without=("a_by_b",)), ""),
    (ColumnEdits(kinds=(KindEdit(column="a", kind="text", reason="?"),)), "cannot be taken for text"),
    (ColumnEdits(drop=tuple(ColumnNote(column=one, reason="?") for one in "abce")), "No column is left"),
    (ColumnEdits(derived=(derived("a_b", "sum", "a", "c"),)), "'c' is not a used column of kind number or boolean"),
    (ColumnEdits(derived=(derived("a_d", "sum", "a", "d"),)), "'d' is not a used column"),
    (ColumnEdits(derived=(derived("a b", "square", "a"),)), "cannot be a feature's name"),
    (ColumnEdits(derived=(derived("C", "square", "a"),)), "is taken"),
    (ColumnEdits(derived=(derived("f", "ratio", "a", "a"),)), "2 to 2 different columns"),
    (ColumnEdits(derived=(*(derived(f"{one}_log", "log", one) for one in "ab"),
                          derived("all", "sum", "a", "b", "a_by_b", "a_log", "b_log"))), ""),
    (ColumnEdits(derived=(derived("hour", "hour", "e"), derived("left", "difference", "a", "hour"))), ""),
    (ColumnEdits(derived=(derived("left", "difference", "a", "hour"), derived("hour", "hour", "e"))), "'hour' is not"),
    (ColumnEdits(derived=(derived("hour", "hour", "a"),)), "'a' is not a used column of kind datetime"),
    (ColumnEdits(without=("nothing",)), "no derived feature 'nothing'"),
])  # fmt: skip
def test_edits_of_a_data_plan_are_held_to_the_columns(edits: ColumnEdits, words: str) -> None:
    found = " ".join(objections(edits, PLAN, TABLE))
    assert words in found and bool(found) == bool(words)


def test_a_feature_that_loses_its_column_is_removed() -> None:
    made = edited(PLAN, ColumnEdits(drop=(ColumnNote(column="b", reason="It repeats a."),)))
    assert not made.derived and made.treatments[1] == Treatment(column="b", kind="drop", reason="It repeats a.")


# Timestamps


def test_parts_that_recur_are_features() -> None:
    days = pd.Series(pd.date_range("2024-01-01", periods=500, freq="D"))
    assert parts_of(days)[0] == ("month", "day", "weekday", "days")
    hours = pd.Series(pd.date_range("2024-01-01", periods=60, freq="h"))
    assert parts_of(hours)[0] == ("hour", "days")
    assert "days" not in parts_of(days, drift=0.02)[0] and "days" in parts_of(days, drift=0.5)[0]


def test_drift_is_told_where_rows_to_predict_are_later() -> None:
    rows = pd.DataFrame({"at": pd.date_range("2024-01-01", periods=50), "y": range(50)})
    assert drift_of("at", rows, "y", time="at") == pytest.approx(1.0)
    assert drift_of("at", rows, "y", time="") is None
    named = rows.assign(y=["low"] * 25 + ["high"] * 25)
    assert abs(drift_of("at", named, "y", time="at") or 0) > 0.8


def test_days_between_timestamps_are_a_feature_where_they_tell_more() -> None:
    first = pd.Series(pd.date_range("2024-01-01", periods=60))
    last = first + pd.to_timedelta([n % 7 for n in range(60)], unit="D")
    (made,) = elapsed(["sold", "made"], pd.DataFrame({"sold": last, "made": first}), ["days_made_to_sold"])
    assert (made.name, made.operation, made.columns) == ("days_made_to_sold_2", "elapsed", ("made", "sold"))
    assert not list(elapsed(["a", "b"], pd.DataFrame({"a": first, "b": first + pd.Timedelta(days=3)}), []))
