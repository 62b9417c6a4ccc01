"""The test-case generator: few cases that tell a view from what could be built instead."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.engine.actor import Context, TextFile, Violation
from palmette.features.actors.testcase_coder.placeholders import stand_in
from palmette.features.actors.testcase_generator.actor import GeneratorInput, TestcaseGenerator
from palmette.features.actors.testcase_generator.changes import expression_changes
from palmette.features.actors.testcase_generator.cover import cover
from palmette.features.actors.testcase_generator.offline import CaseSelector
from palmette.features.artefacts import Conventions, FunctionShape, Parameter, RunRequest, TestCase, TestCases
from palmette.features.oracle import expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.view import View
from palmette_bench.featbench.suite import HERE, WORLD

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
EMPTY = TextFile(path="x", text="")
INPUT = GeneratorInput(request=RunRequest(fsc=EMPTY, dfr=EMPTY, run=EMPTY))
CONTEXT = Context("testcase_generator", Path())
REGISTRY = yaml.safe_load((OFFERS / "registry.yaml").read_text(encoding="utf-8"))
PAIR = ("user_id", "offer_id")
VIEW = load_view(OFFERS / "specs" / "offer_daily.yaml", OFFERS / "registry.yaml")
ACTOR = TestcaseGenerator(VIEW)


@cache
def right_cases() -> TestCases:
    return ACTOR.run(INPUT, CONTEXT).output or TestCases(cases=())


def test_another_column_has_the_type_that_the_right_one_has_after_the_steps() -> None:
    view = load_view(HERE / "tasks" / "usr_rdm_tier_ftrs" / "fsc.yaml", WORLD / "registry.yaml")
    types = {column.name: column.type for column in view.tables["redemptions"].columns}
    assert types["amount"] == types["cashback"] == "string", "`amount` is converted, the other is not"
    assert not [one.what for one in CaseSelector(view).deviants if one.what.endswith("the column is cashback")]


def suite_of(
    step: dict[str, object], feature: dict[str, Any], registry: object = REGISTRY, keys: Sequence[str] = PAIR
) -> CaseSelector:
    """Of one feature, of one source with one step."""
    return suite_with([step], feature, registry, keys)


def suite_with(
    steps: Sequence[dict[str, object]],
    feature: dict[str, Any],
    registry: object = REGISTRY,
    keys: Sequence[str] = PAIR,
) -> CaseSelector:
    fsc = {
        "fsc": 1,
        "feature_view": "one_feature",
        "entities": [{"name": "entity", "keys": list(keys)}],
        "sources": [{"name": feature["aggregate"]["source"], "steps": steps}],
        "features": [feature],
    }
    return CaseSelector(resolve(FeatureSpec.model_validate(fsc), Registry.model_validate(registry)))


def test_the_cases_meet_the_criterion() -> None:
    verdict = ACTOR.check(INPUT, right_cases(), CONTEXT)
    assert verdict.violations == ()
    assert 1 <= len(right_cases().cases) <= 10


def test_a_case_states_only_the_features_that_it_is_about() -> None:
    features = {feature.name for feature in VIEW.features}
    stated = [features & row.keys() for case in right_cases().cases for row in case.expect]
    assert set().union(*stated) == features
    assert sum(map(len, stated)) < len(features) * len(stated) / 2


def without_features(cases: Sequence[TestCase]) -> tuple[TestCase, ...]:
    """The cases, which expect the right rows and no values."""
    rows = [[{key: row[key] for key in VIEW.identity} for row in case.expect] for case in cases]
    return tuple(case.model_copy(update={"expect": tuple(each)}) for case, each in zip(cases, rows, strict=True))


@pytest.mark.parametrize(("change", "code"), [
    (lambda cases: cases[:1], "boundary-not-covered"),
    (without_features, "boundary-not-covered"),
    (without_features, "feature-not-covered"),
    (lambda cases: (), "case-count"),
    (lambda cases: (cases[0].model_copy(update={"expect": ()}), *cases[1:]), "wrong-expectation"),
])  # fmt: skip
def test_worse_cases_do_not(change, code: str) -> None:
    worse = TestCases(cases=change(right_cases().cases))
    found = ACTOR.check(INPUT, worse, CONTEXT).violations
    assert code in {violation.code for violation in found} and all(ACTOR.implicated(one, worse) for one in found)


def test_rows_in_which_surviving_mutants_differ_become_cases() -> None:
    suite, features = ACTOR.suite(), {feature.name for feature in VIEW.features}
    unseen = suite.candidates[-1]
    (row, *_) = expected(VIEW, suite.factory.frames(unseen.part.rows, unseen.cutoff), unseen.cutoff).rows
    where = ", ".join(f"{name}={row[name]!r}" for name in VIEW.identity)
    change = f"in scenario {unseen.scenario!r}:\n{where} · viewers_7d: expected 1, got 2"
    survivor = Violation(code="mutant-survived", subject="build", message="count became sum", evidence=change)
    assert ACTOR.implicated(survivor, right_cases())
    again = ACTOR.run(INPUT, Context("testcase_generator", Path(), evidence=(survivor,))).output
    assert again is not None and ACTOR.check(INPUT, again, CONTEXT).ok
    whole = [case for case in again.cases if all(features <= row.keys() for row in case.expect)]
    assert [row[name] for case in whole for row in case.expect for name in VIEW.grain] == [
        row[name] for name in VIEW.grain
    ]
    assert not [case for case in right_cases().cases if all(features <= row.keys() for row in case.expect)]


def test_changes_of_an_expression() -> None:
    found = {sql for _, sql in expression_changes("a > 1 AND b = 'x'")}
    assert {"a >= 1 AND b = 'x'", "a > 2 AND b = 'x'", "a > 1", "b = 'x'", "a > 1 OR b = 'x'"} <= found


def test_the_stand_in_is_a_module_with_the_teams_functions() -> None:
    conventions = Conventions(
        script_path="s.py", test_path="t.py", config_path="c.yaml",
        functions=(FunctionShape(name="build", role="build", parameters=(
            Parameter(name="tables", annotation="dict[str, DataFrame]"),
            Parameter(name="as_of", annotation="datetime"))),
                   FunctionShape(name="main", role="main")))  # fmt: skip
    module: dict[str, object] = {}
    exec(compile(stand_in(VIEW, right_cases(), conventions), "stand_in", "exec"), module)
    assert callable(module["build"])
    assert callable(module["main"])


def test_no_case_expects_what_the_order_of_adding_doubles_decides(user_offers: Callable[..., View]) -> None:
    total = {"function": "sum", "source": "redemptions", "of": "amount", "where": "amount = 0.1"}
    view = user_offers(features=[
        {"name": "total", "dtype": "double", "internal": True, "aggregate": total},
        {"name": "tenths", "dtype": "bigint", "derive": "ceil(total * 10)"}])  # fmt: skip
    suite = TestcaseGenerator(view).suite()
    chosen = [candidate.part for candidate in suite.candidates]
    chancy = []
    for builder in (staged.builder for staged in suite.staged):
        for part in builder.parts:
            right = expected(view, suite.factory.frames(part.rows, builder.cutoff), builder.cutoff)
            chancy += [part] if any(other.rows != right.rows for other in right.nudged()) else []
    assert chancy
    assert not [part for part in chancy if part in chosen]


def test_the_smallest_date_or_text_has_cases(user_offers: Callable[..., View]) -> None:
    smallest = {"function": "min", "source": "redemptions", "window": "7d"}
    view = user_offers(features=[
        {"name": "first_day", "dtype": "date", "aggregate": {**smallest, "of": "day"}},
        {"name": "first_text", "dtype": "string", "aggregate": {**smallest, "of": "cast(id AS string)"}}])  # fmt: skip
    actor = TestcaseGenerator(view)
    cases = actor.run(INPUT, CONTEXT).output
    assert cases is not None
    assert actor.check(INPUT, cases, CONTEXT).violations == ()


def test_a_derived_condition_over_what_is_looked_up_is_told_apart(user_offers: Callable[..., View]) -> None:
    """The rows know the countries and the amount that the condition is about, and both sides of it."""
    condition = "country in ('de', 'at') and amount_7d >= 250"
    view = user_offers(features=[
        {"name": "amount_7d", "dtype": "double",
         "aggregate": {"function": "sum", "source": "redemptions", "of": "amount", "window": "7d"}},
        {"name": "country", "dtype": "string", "lookup": {"table": "users", "column": "country"}},
        {"name": "is_at_home", "dtype": "boolean", "derive": condition},
        {"name": "discount", "dtype": "int", "derive": "case when is_at_home then 2 when country = 'fr' then 1 end"},
    ])  # fmt: skip
    suite = CaseSelector(view)
    wrong = {f"is_at_home: {what}" for what in (
        "and became or", "a condition was dropped", "a condition was dropped (2)", "'de' is forgotten",
        "'at' is forgotten", "gte became gt", "250 became 251")}  # fmt: skip
    assert wrong | {"discount: eq became neq"} <= suite.detected(suite.cases())


def test_a_feature_is_told_from_the_same_one_of_another_window(user_offers: Callable[..., View]) -> None:
    """Also where a feature that is derived from it shows every other mistake."""
    count = {"function": "count", "source": "redemptions"}
    view = user_offers(features=[
        {"name": "redemptions_30d", "dtype": "bigint", "default": 0, "aggregate": {**count, "window": "30d"}},
        {"name": "redemptions_90d", "dtype": "bigint", "default": 0, "aggregate": {**count, "window": "90d"}},
        {"name": "redemptions", "dtype": "bigint", "internal": True, "default": 0, "aggregate": count},
        {"name": "recent_share", "dtype": "double", "derive": "redemptions_90d / redemptions"},
    ])  # fmt: skip
    suite = CaseSelector(view)
    mixed_up = {"redemptions_90d: the window is 30d", "redemptions_30d: the window is 90d"}
    assert mixed_up <= suite.detected(suite.cases())


def test_windows_of_other_features_medians_and_nulls_as_values_are_told_apart(user_offers: Callable[..., View]) -> None:
    aggregates = {
        "n": ("count", None, "30d"),
        "mean": ("avg", "amount", "90d"),
        "kinds": ("count_distinct", "amount", "90d"),
    }
    features = [
        {"name": name, "dtype": "double" if function == "avg" else "bigint",
         "aggregate": {"function": function, "source": "redemptions", "of": of, "window": window}}
        for name, (function, of, window) in aggregates.items()
    ]  # fmt: skip
    suite = CaseSelector(user_offers(features=features))
    wanted = {"mean: avg became the median", "mean: the window is 30d", "kinds: null is a value"}
    assert wanted - suite.detected(suite.cases()) == set()


def test_conditions_that_are_not_the_features_are_told_apart() -> None:
    """Those of other features, those that accept another value, and those on columns that it does not read."""
    week = {"function": "count", "source": "redemptions", "window": "7d"}
    top = {"function": "top_k", "source": "redemptions", "of": "channel", "k": 2, "window": "30d"}
    before = {"previous": {"column": "before", "of": "channel", "by": ["user_id"]}}
    fsc = {
        "fsc": 1,
        "feature_view": "v",
        "entities": [{"name": "user", "keys": ["user_id"]}],
        "sources": [{"name": "redemptions", "steps": [{"filter": "channel != 'app'"}, before]}],
        "features": [
            {"name": "shop", "dtype": "bigint", "default": 0, "aggregate": {**week, "where": "channel = 'store'"}},
            {"name": "moved", "dtype": "bigint", "default": 0, "aggregate": {**week, "where": "before = 'store'"}},
            {"name": "top", "dtype": "array<string>", "aggregate": top},
            {"name": "half", "dtype": "double", "derive": "shop / 2"},
        ],
    }
    suite = CaseSelector(resolve(FeatureSpec.model_validate(fsc), Registry.model_validate(REGISTRY)))
    wanted = {"shop: the condition is before = 'store'", "shop: 'online', too", "half: the result is whole",
              "top: the condition is channel = 'store'", "top: only rows with `amount` IS NOT NULL",
              "moved: the window is 8d", "top: sum(amount) ranks", "shop: the window is 30d",
              "moved: only rows with `amount` IS NOT NULL",
              "redemptions: in the filter, 'online', too"}  # fmt: skip
    assert wanted - suite.detected(suite.cases()) == set()


def test_a_deviation_of_a_feature_moves_no_rows() -> None:
    """Or rows that are there by mistake would hide that no case shows another value."""
    suite = ACTOR.suite()
    scenario = suite.staged[0].scenario()
    right = expected(VIEW, scenario.frames, scenario.as_of)
    of_features = [other for other in suite.deviants if other.what.split(":")[0] in VIEW.output]
    assert len({other.what.split(":")[0] for other in of_features}) > 3
    for other in of_features:
        wrong = other.output(scenario.frames, scenario.as_of, right)
        assert wrong is not None
        assert [row["offer_id"] for row in wrong.rows] == [row["offer_id"] for row in right.rows], other.what


def test_other_rows_than_the_right_ones_are_told_apart() -> None:
    rows = [other for other in ACTOR.suite().deviants if other.what.startswith("the rows")]
    assert {"the rows: rows exactly at the cut-off count"} <= {other.what for other in rows}
    possible = frozenset[str]().union(*(candidate.detects for candidate in ACTOR.suite().candidates))
    detected = ACTOR.suite().detected(right_cases().cases)
    assert {other.what for other in rows} & possible <= detected


def test_the_same_deviation_in_two_places_is_two() -> None:
    feature = {
        "name": "spent",
        "dtype": "decimal(18,2)",
        "aggregate": {"function": "sum", "source": "redemptions", "of": "amount", "window": "7d"},
    }
    steps: list[dict[str, object]] = [{"filter": "channel = 'app'"}, {"filter": "amount > 5"}]
    suite = suite_with(steps, feature)
    names = [deviant.what for deviant in suite.deviants]
    assert len(names) == len({*names})
    dropped = {name for name in names if "the filter was dropped" in name}
    assert len(dropped) == 2 and dropped <= suite.detected(suite.cases())


def test_looking_back_is_told_apart() -> None:
    """A null of the event before, and the events of a neighbour."""
    before = {"previous": {"column": "before", "of": "coalesce(amount, 0)", "by": ["user_id", "offer_id"]}}
    mean = {"function": "avg", "source": "redemptions", "of": "before", "window": "7d"}
    suite = suite_of(before, {"name": "amount_before", "dtype": "double", "aggregate": mean})
    names = ("in of, coalesce was dropped", "user_id is not a key", "offer_id is not a key")
    assert {f"redemptions: before: {name}" for name in names} <= suite.detected(suite.cases())


def test_the_edges_of_the_longest_window_are_told_apart_by_values() -> None:
    """The window decides which rows there are, too; another event brings the row."""
    total = {"function": "sum", "source": "redemptions", "of": "amount", "window": "7d"}
    suite = suite_of({"filter": "amount > 0"}, {"name": "total", "dtype": "double", "aggregate": total})
    readings = (
        "the window is 8d",
        "rows exactly at the start of the window do not count",
        "windows go by availability",
    )
    assert {f"total: {reading}" for reading in readings} <= suite.detected(suite.cases())


def test_days_without_a_time_are_told_apart_at_the_start_of_a_window() -> None:
    registry = {"dfr": 1, "tables": [{
        "name": "tickets", "kind": "event", "path": "tickets", "keys": ["id"], "event_time": "opened_on",
        "columns": [{"name": "id", "type": "bigint"}, {"name": "user_id", "type": "bigint"},
                    {"name": "opened_on", "type": "date"}]}]}  # fmt: skip
    count = {"function": "count", "source": "tickets", "window": "7d"}
    suite = suite_of(
        {"filter": "id > 0"}, {"name": "tickets", "dtype": "bigint", "aggregate": count}, registry, ["user_id"]
    )
    assert "tickets: rows exactly at the start of the window do not count" in suite.detected(suite.cases())


def test_the_order_by_time_is_told_from_the_order_by_keys(user_offers: Callable[..., View]) -> None:
    last = {"function": "last", "source": "redemptions", "of": "amount", "order": ["redeemed_at", "id"]}
    suite = CaseSelector(user_offers(features=[{"name": "amount", "dtype": "decimal(12,2)", "aggregate": last}]))
    assert "amount: the order begins with id" in suite.detected(suite.cases())


def test_conditions_on_ages_and_counts_are_told_apart(user_offers: Callable[..., View]) -> None:
    """There are as many events, and events as long ago, as conditions name; also where an age in whole days is 0."""
    events = {"source": "redemptions", "window": "30d"}
    view = user_offers(features=[
        {"name": "days", "dtype": "int",
         "aggregate": {"function": "days_since_last", "where": "amount >= 50", **events}},
        {"name": "small", "dtype": "bigint", "aggregate": {"function": "count", "where": "amount < 50", **events}},
        {"name": "amounts", "dtype": "bigint", "aggregate": {"function": "count_distinct", "of": "amount", **events}},
        {"name": "state", "dtype": "string", "derive": "case when days < 5 then 'new' when days >= 20 then 'old' end"},
        {"name": "is_regular", "dtype": "boolean", "derive": "small >= 4 and not amounts > 6"},
    ])  # fmt: skip
    suite = CaseSelector(view)
    edges = ("rows exactly at the cut-off count", "rows exactly at the start of the window do not count")
    ages = (
        "the first event counts, not the last",
        "days are counted from availability",
        "days are rounded",
        "the window is 31d",
    )
    wrong = {f"days: {what}" for what in (*edges, *ages)}
    wrong |= {f"state: {what}" for what in ("lt became lte", "gte became gt", "5 became 6", "20 became 21")}
    wrong |= {f"is_regular: {what}" for what in ("gte became gt", "gt became gte", "4 became 5", "6 became 7")}
    assert wrong - suite.detected(suite.cases()) == set()


def test_what_rows_find_in_other_tables_is_told_apart() -> None:
    """States that change between an event and the cut-off, different ones of an entity, and none beside one."""
    states = {"table": "offer_snapshots", "on": ["offer_id"], "cardinality": "many_to_one"}
    then = {"join": {**states, "columns": {"status_then": "status", "budget": "budget_left"}}}
    now = {"join": {**states, "columns": {"status_now": "status"}, "at": "cutoff"}}
    where = "status_then != status_now"
    least = {"function": "min", "source": "redemptions", "of": "budget", "window": "7d", "where": where}
    feature = {"name": "least", "dtype": "decimal(12,2)", "aggregate": least}
    suite = suite_with([then, now], feature, keys=["user_id"])
    wrong = {f"least: {what}" for what in (
        "rows exactly at the start of the window do not count", "min became max", "the window is 8d",
        "windows go by availability", "nulls are 0")}  # fmt: skip
    wrong.add("redemptions: rows known exactly at the cut-off count")
    wrong.add("redemptions: offer_snapshots at the time when the event was known")
    assert wrong - suite.detected(suite.cases()) == set()


def test_the_newest_state_is_told_from_the_one_that_was_known_last() -> None:
    registry = deepcopy(REGISTRY)
    (table,) = (each for each in registry["tables"] if each["name"] == "offer_snapshots")
    table["available_time"] = "loaded_at"
    table["columns"].append({"name": "loaded_at", "type": "timestamp", "nullable": False})
    join = {"table": "offer_snapshots", "on": ["offer_id"], "cardinality": "many_to_one", "columns": ["budget_left"]}
    least = {"function": "min", "source": "redemptions", "of": "budget_left", "window": "7d"}
    feature = {"name": "least", "dtype": "decimal(12,2)", "aggregate": least}
    suite = suite_with([{"join": join}], feature, registry, keys=["user_id"])
    assert "offer_snapshots: the state that was known last" in suite.detected(suite.cases())


def test_cases_hold_no_rows_that_they_were_not_chosen_for(user_offers: Callable[..., View]) -> None:
    """A part that is there for one feature brings no rows of the tables of others."""
    suite = CaseSelector(user_offers())
    chosen = cover(suite.candidates)
    other = [each for each in chosen if not any("country" in what for what in each.detects)]
    assert other and any("users" in each.part.rows for each in other)
    assert not any(suite.trimmed(each).get("users") for each in other)


@pytest.mark.parametrize("keys", [["kind"], ["who", "kind"]])
def test_entities_of_a_closed_set_and_of_a_join_are_told_apart(keys: list[str]) -> None:
    """A key with three values has more entities than that; one that comes by a join is in no table with the others."""
    kind = {"name": "kind", "type": "string", "values": ["a", "b", "c"]}
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "clicks", "kind": "event", "path": "clicks", "keys": ["id"], "event_time": "at", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "who", "type": "bigint"}, {"name": "item", "type": "bigint"},
            {"name": "at", "type": "timestamp"}]},
        {"name": "items", "kind": "dimension", "path": "items", "keys": ["item"], "columns": [
            {"name": "item", "type": "bigint"}, kind]}]})  # fmt: skip
    join = {"table": "items", "on": ["item"], "cardinality": "many_to_one", "columns": ["kind"]}
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "v", "entities": [{"name": "e", "keys": keys}],
        "sources": [{"name": "clicks", "steps": [{"join": join}]}],
        "features": [{"name": "n", "dtype": "bigint", "nullable": False, "default": 0,
                      "aggregate": {"function": "count", "source": "clicks", "window": "7d"}},
                     {"name": "m", "dtype": "bigint", "nullable": False, "default": 0,
                      "aggregate": {"function": "count", "source": "clicks", "window": "30d"}}]})  # fmt: skip
    suite = CaseSelector(resolve(spec, registry))
    edges = {f"n: {what}" for what in ("the window is 6d", "the window is 8d", "rows exactly at the cut-off count")}
    assert edges <= suite.detected(suite.cases())


def test_ties_nulls_fractions_and_rows_without_a_key_are_told_apart(user_offers: Callable[..., View]) -> None:
    last = {"function": "last", "source": "redemptions", "of": "amount"}
    share = {"function": "share", "source": "redemptions", "of": "amount > 20", "window": "7d"}
    view = user_offers(features=[
        {"name": "amount", "dtype": "double", "aggregate": last},
        {"name": "large", "dtype": "double", "aggregate": share},
        {"name": "is_large", "dtype": "boolean", "derive": "large > 0.5"},
    ])  # fmt: skip
    suite = CaseSelector(view)
    names = {one.what for one in suite.deviants}
    assert {"amount: the order ends with id desc", "is_large: 0.5 became 0.6"} <= names
    wrong = {"the rows: one is without a key", "amount: the order ends with id desc", "amount: nulls are 0"}
    assert wrong - suite.detected(suite.cases()) == set()


LAST = {"name": "last", "dtype": "string", "aggregate": {"function": "last", "source": "redemptions", "of": "channel"}}


def test_a_null_that_is_kept_and_ties_by_position_are_told_apart() -> None:
    suite = suite_of({"filter": "amount > 1"}, LAST, keys=["user_id"])
    wrong = {"a null is kept", "the last row in the table wins ties", "the first row in the table wins ties"}
    assert {f"last: {what}" for what in wrong} - suite.detected(suite.cases()) == set()


def test_an_event_at_the_cut_off_is_left_out_for_its_own_time_alone() -> None:
    suite = suite_of({"filter": "amount > 1"}, LAST, keys=["user_id"])
    assert "last: rows exactly at the cut-off count" in suite.detected(suite.cases())
    late = [row for case in suite.cases() for row in case.given["redemptions"] if row["redeemed_at"] == case.as_of]
    assert late and all(row["available_at"] < row["redeemed_at"] for row in late)


def test_comparisons_of_computed_values_have_rows_on_both_sides(user_offers: Callable[..., View]) -> None:
    count = {"function": "count", "source": "redemptions"}
    share = {"function": "share", "source": "redemptions", "of": "amount > 0.5 * discount"}
    view = user_offers(
        sources=[{"name": "redemptions", "steps": [{"compute": {"discount": "amount * 0 + 3"}}]}],
        features=[
            {"name": "week", "dtype": "bigint", "aggregate": {**count, "window": "7d"}},
            {"name": "month", "dtype": "bigint", "aggregate": {**count, "window": "30d"}},
            {"name": "busy", "dtype": "boolean", "derive": "week > 0.4 * month"},
            {"name": "dear", "dtype": "double", "aggregate": share},
        ],
    )
    suite = CaseSelector(view)
    wrong = {"busy: gt became gte", "busy: 0.4 became 0.5", "dear: in of, gt became gte", "dear: in of, 0.5 became 0.6"}
    assert wrong <= suite.possible, sorted(suite.possible)
