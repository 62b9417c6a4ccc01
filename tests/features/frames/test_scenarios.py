"""Adversarial frames: always legal for the registry, never without the cases that matter."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from palmette.features.frame_json import decode_row, encode_row
from palmette.features.frames import scenarios
from palmette.features.frames.calendar import frames_of
from palmette.features.frames.row_factory import RowFactory
from palmette.features.frames.scenarios import named_scenarios
from palmette.features.frames.value_pool import example_of
from palmette.features.oracle import differences, expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.view import View
from palmette_bench.featbench.suite import HERE, WORLD

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
SPECS = sorted((OFFERS / "specs").glob("*.yaml"))
DAILY = OFFERS / "specs" / "offer_daily.yaml"


@cache
def view_of(path: Path) -> View:
    return load_view(path, OFFERS / "registry.yaml")


@pytest.fixture(params=SPECS, ids=lambda path: path.stem)  # tests of it come first: `scenarios` remembers a few views
def view(request: pytest.FixtureRequest) -> View:
    return view_of(request.param)


@pytest.mark.parametrize(("path", "seed"), [(DAILY, 7), *((path, 0) for path in SPECS)])
def test_frames_match_the_registry(path: Path, seed: int) -> None:
    view = view_of(path)
    for scenario in scenarios(view, seed):
        assert set(scenario.frames) == set(view.tables)
        for name, frame in scenario.frames.items():
            table = view.tables[name]
            assert list(frame.schema) == [column.name for column in table.columns]
            for column in table.columns:
                values = [row[column.name] for row in frame.rows]
                assert column.nullable or None not in values, (scenario.name, name, column.name)
                if column.values:
                    assert set(values) <= {*column.values, None}
                if column.length:
                    assert {len(value) for value in values if value is not None} <= {column.length}
            for row in frame.rows:
                assert decode_row(frame.schema, encode_row(frame.schema, row)) == dict(row)
            if table.keys_enforced and table.kind in ("event", "dimension"):
                keys = [tuple(row[key] for key in table.keys) for row in frame.rows]
                assert len(keys) == len(set(keys)), (scenario.name, name)


def test_partition_columns_hold_the_day_of_their_time(view: View) -> None:
    for scenario in scenarios(view):
        for name, frame in scenario.frames.items():
            for part in view.tables[name].partitions:
                source = getattr(view.tables[name], part.of or "", None)
                for row in frame.rows:
                    if source is not None:
                        assert row[part.column] == row[source].date()


def test_rows_of_an_author_that_leave_out_their_day_get_it(user_offers: Callable[..., View]) -> None:
    rows = [{"id": 1, "redeemed_at": "2025-03-30T23:30:00Z"}, {"id": 2, "day": "2025-01-02"}, {"id": 3}]
    frame = frames_of(user_offers(), {"redemptions": rows})["redemptions"]
    assert [row["day"] for row in frame.rows] == [date(2025, 3, 30), date(2025, 1, 2), None]


def test_every_feature_has_values_and_defaults(view: View) -> None:
    seen: dict[str, set[bool]] = {name: set() for name in view.output}
    for scenario in scenarios(view):
        found = expected(view, scenario.frames, scenario.as_of)
        assert not found.skipped
        for row in found.rows:
            for feature in view.features:
                if not feature.internal:
                    seen[feature.name].add(row[feature.name] in (None, feature.default))
    plain = {name for name, values in seen.items() if values and False not in values}
    assert plain == set()


def test_events_lie_on_both_sides_of_the_cut_off(view: View) -> None:
    boundaries = next(scenario for scenario in scenarios(view) if scenario.name == "boundaries")
    if boundaries.as_of is None:
        return
    for table in view.tables.values():
        column = table.column(table.event_time or "")
        if table.kind == "event" and column is not None and column.type == "timestamp":
            times = {row[table.event_time or ""] for row in boundaries.frames[table.name].rows}
            step = timedelta(microseconds=1)
            assert {boundaries.as_of, boundaries.as_of - step, boundaries.as_of + step} <= times


def test_an_age_that_stands_for_never_is_no_threshold(user_offers: Callable[..., View]) -> None:
    since = {"function": "days_since_last", "source": "redemptions"}
    view = user_offers(features=[
        {"name": "days", "dtype": "double", "aggregate": since},
        {"name": "age", "dtype": "double", "derive": "coalesce(days, 999999)"}])  # fmt: skip
    assert scenarios(view)


def test_the_same_seed_gives_the_same_frames() -> None:
    view = view_of(DAILY)
    again = [each.scenario() for each in named_scenarios(view, seed=0)]  # `scenarios` remembers what it made
    assert tuple(one for one in again if one in scenarios(view)) == scenarios(view)


@pytest.mark.parametrize("named", [
    "redeemed_at >= '2025-02-01'", "redeemed_at < '2011-08-01'", "redeemed_at >= TIMESTAMP '2031-01-01 00:00:00'",
    "redeemed_at BETWEEN '1999-01-01' AND '1999-12-31'",
])  # fmt: skip
def test_frames_are_in_years_of_which_conditions_speak(named: str, user_offers: Callable[..., View]) -> None:
    view = user_offers(sources=[{"name": "redemptions", "steps": [{"filter": named}]}])
    found = [expected(view, one.frames, one.as_of) for one in scenarios(view)]
    assert sum(len(frame.rows) for frame in found) > 100


@pytest.mark.parametrize(("named", "value"), [("day <> '9999-12-31'", date.max), ("day > '0001-01-01'", date.min)])
def test_the_first_and_last_day_of_the_calendar_are_values(
    named: str, value: date, user_offers: Callable[..., View]
) -> None:
    view = user_offers(sources=[{"name": "redemptions", "steps": [{"filter": named}]}])
    assert value in RowFactory(view, 0).value_pools["redemptions", "day"]


@pytest.mark.parametrize("task", ["usr_rdm_tier_ftrs", "usr_tier_hist_ftrs"])
def test_a_state_holds_until_the_next_one_begins(task: str) -> None:
    view = load_view(HERE / "tasks" / task / "fsc.yaml", WORLD / "registry.yaml")
    table = view.tables["user_tiers"]
    start, end = table.valid_from or "", table.valid_to or ""
    of = [key for key in table.keys if key != start]
    for scenario in scenarios(view):
        dated = [row for row in scenario.frames[table.name].rows if row[start] is not None]
        for row, after in pairwise(sorted(dated, key=lambda row: ([str(row[key]) for key in of], row[start]))):
            if all(row[key] == after[key] for key in of):
                assert row[end] is not None and row[end] <= after[start], (scenario.name, row, after)


@pytest.mark.parametrize("pattern", [r"\|(\d{4})$", r"^[A-Z]{2}-\d+", r"(foo|bar)=(\w+)", r"a.c"])
def test_examples_match_their_patterns(pattern: str) -> None:
    import re

    assert re.search(pattern, example_of(pattern) or "")


@pytest.mark.parametrize(("zone", "other"), [
    ("UTC", "America/New_York"), ("UTC", "Asia/Tokyo"), ("Europe/Berlin", "UTC"), ("America/New_York", "UTC"),
])  # fmt: skip
def test_days_of_another_zone_give_something_else(zone: str, other: str) -> None:
    registry = Registry.model_validate({"dfr": 1, "tables": [{
        "name": "visits", "kind": "event", "path": "visits", "keys": ["id"], "event_time": "day",
        "columns": [{"name": "id", "type": "bigint"}, {"name": "guest", "type": "string"},
                    {"name": "day", "type": "date"}]}]})  # fmt: skip
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "guests", "entities": [{"name": "guest", "keys": ["guest"]}],
        "time": {"zone": zone}, "features": [
            {"name": "visits_7d", "dtype": "bigint",
             "aggregate": {"function": "count", "source": "visits", "window": "7d"}}]})  # fmt: skip
    view = resolve(spec, registry)
    wrong = replace(view, zone=other)
    assert any(
        differences(expected(view, each.frames, each.as_of), expected(wrong, each.frames, each.as_of), view)
        for each in scenarios(view)
    )
