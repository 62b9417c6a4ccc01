"""Relations add only rows that must not matter, and know when they say nothing."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from palmette.features.checks.metamorphic import relations
from palmette.features.checks.metamorphic.check import session_zones
from palmette.features.checks.metamorphic.inputs import MetamorphicInput, at_or_after, input_at_one_cutoff, moved
from palmette.features.frame import Frame
from palmette.features.oracle.clock import timestamp_of
from palmette.features.spec.dfr import RegisteredColumn
from palmette.features.spec.fsc import Aggregate, Spine
from palmette.features.spec.values import TypeName, Window
from palmette.features.spec.view import View

T = datetime(2024, 3, 31, 10, tzinfo=UTC)


@pytest.fixture
def ground(view: View) -> MetamorphicInput:
    orders = [
        {
            "order_id": number,
            "customer_id": number % 2,
            "ordered_at": T - timedelta(days=number),
            "amount": 1.0,
            "loaded_at": T - timedelta(days=number, hours=-1),
            "gross": 2.0,
            "order_day": (T - timedelta(days=number)).date(),
        }
        for number in range(1, 5)
    ]
    customers = [{"customer_id": 1, "country": "DE", "churned": True}]
    rows = {"orders": orders, "customers": customers}
    frames = {
        name: Frame.of({c.name: c.type.parsed for c in table.columns}, rows[name])
        for name, table in view.tables.items()
    }
    found = input_at_one_cutoff(view, frames, T)
    assert found is not None
    return found


def added(before: MetamorphicInput, after: MetamorphicInput | None, table: str = "orders") -> list[dict[str, object]]:
    assert after is not None
    return [dict(row) for row in after.frames[table].rows[len(before.frames[table].rows) :]]


def test_future_rows_happen_after_the_cutoff_and_are_available(ground: MetamorphicInput) -> None:
    rows = added(ground, relations.future_rows(ground))
    assert rows
    assert all(row["ordered_at"] > T and row["loaded_at"] < T for row in rows)
    assert all(row["order_day"] == row["ordered_at"].date() for row in rows)


def test_rows_at_the_cutoff_happen_exactly_then(ground: MetamorphicInput) -> None:
    assert {row["ordered_at"] for row in added(ground, relations.rows_at_cutoff(ground))} == {T}


def test_unavailable_rows_happened_in_time(ground: MetamorphicInput) -> None:
    rows = added(ground, relations.unavailable_rows(ground))
    assert all(row["ordered_at"] < T <= row["loaded_at"] for row in rows)
    assert T in {row["loaded_at"] for row in rows}


def test_ancient_rows_lie_before_the_widest_window(ground: MetamorphicInput) -> None:
    rows = added(ground, relations.ancient_rows(ground))
    assert all(row["ordered_at"] < T - timedelta(days=31) for row in rows)


def test_a_window_of_all_history_leaves_nothing_ancient(ground: MetamorphicInput) -> None:
    feature = ground.view.features[0]
    assert feature.computation is not None
    whole = replace(feature, computation=feature.computation.model_copy(update={"window": Window.ALL}))
    view = replace(ground.view, features=(whole, *ground.view.features[1:]))
    assert relations.ancient_rows(replace(ground, view=view)) is None


@pytest.mark.parametrize(
    "relation",
    [
        relations.future_rows,
        relations.rows_at_cutoff,
        relations.unavailable_rows,
        relations.ancient_rows,
        relations.other_entities,
    ],
)
def test_enforced_keys_stay_unique(relation: object, ground: MetamorphicInput) -> None:
    changed = relation(ground)
    keys = [row["order_id"] for row in changed.frames["orders"].rows]
    assert len(keys) == len(set(keys))


def test_other_entities_are_new(ground: MetamorphicInput) -> None:
    assert not {row["customer_id"] for row in added(ground, relations.other_entities(ground))} & {0, 1}


def test_only_columns_outside_the_lineage_lose_their_values(ground: MetamorphicInput) -> None:
    changed = relations.unused_columns(ground)
    assert changed is not None
    first = changed.frames["orders"].rows[0]
    assert (first["gross"], first["amount"], first["order_id"]) == (None, 1.0, 1)
    assert changed.frames["customers"].rows[0]["churned"] is None


def test_a_dimension_whose_keys_are_enforced_is_not_repeated(ground: MetamorphicInput) -> None:
    assert relations.repeated_dimension_rows(ground) is None
    loose = ground.view.tables["customers"].model_copy(update={"keys_enforced": False})
    view = replace(ground.view, tables={**ground.view.tables, "customers": loose})
    assert len(added(ground, relations.repeated_dimension_rows(replace(ground, view=view)), "customers")) == 1


def test_spine_rows_are_counted_with_their_repetitions(ground: MetamorphicInput) -> None:
    view = replace(ground.view, spine=Spine(table="customers"))
    ground = replace(ground, view=view)
    assert relations.spine_mismatch(ground, [{"customer_id": 1}]) == ""
    assert "2 output rows" in relations.spine_mismatch(ground, [{"customer_id": 1}, {"customer_id": 1}])
    assert "missing" in relations.spine_mismatch(ground, [])


@pytest.mark.parametrize(
    ("kind", "unit", "zone", "value"),
    [
        ("timestamp", None, "UTC", T),
        ("timestamp_ntz", None, "Europe/Berlin", datetime.fromisoformat("2024-03-31T12:00:00")),
        ("date", None, "UTC", date(2024, 4, 1)),
        ("bigint", "s", "UTC", int(T.timestamp())),
        ("bigint", "ms", "UTC", int(T.timestamp()) * 1000),
    ],
)
def test_an_instant_becomes_the_earliest_value_at_or_after_it(
    kind: str, unit: str | None, zone: str, value: object
) -> None:
    column = RegisteredColumn.model_validate({"name": "at", "type": kind, "unit": unit})
    assert at_or_after(column, T, ZoneInfo(zone)) == value
    back = timestamp_of(value, unit, ZoneInfo(zone))
    assert back is not None
    assert back >= T


def test_a_spine_with_cutoffs_keeps_the_rows_of_one(view: View) -> None:
    spined = replace(view, cutoff="spine", spine=Spine(table="orders", cutoff="ordered_at"))
    schema = {c.name: c.type.parsed for c in view.tables["orders"].columns}
    early, late = T - timedelta(days=3), T
    frames = {
        "orders": Frame.of(
            schema,
            [
                {"order_id": 1, "ordered_at": early},
                {"order_id": 2, "ordered_at": late},
                {"order_id": 3, "ordered_at": early},
            ],
        )
    }
    found = input_at_one_cutoff(spined, frames, None)
    assert found is not None
    assert (found.cutoff, found.as_of) == (early, None)
    assert [row["order_id"] for row in found.frames["orders"].rows] == [1, 3]


def test_other_entities_leave_alone_what_is_counted_by_a_key_of_a_join(ground: MetamorphicInput) -> None:
    """The country of a new customer may be there already, and then its orders count for it."""
    assert added(ground, relations.other_entities(ground))
    view, kind = ground.view, ground.view.grain["customer_id"]
    by_country = tuple(
        replace(feature, computation=feature.computation.model_copy(update={"by": ("country",)}))
        if isinstance(feature.computation, Aggregate)
        else feature
        for feature in view.features
    )
    wider = replace(view, grain={**view.grain, "country": kind}, features=by_country)
    after = relations.other_entities(replace(ground, view=wider))
    assert after is None or not added(ground, after)


@pytest.mark.parametrize("kind", ["tinyint", "smallint"])
def test_new_keys_fit_into_small_integers(ground: MetamorphicInput, kind: str) -> None:
    table, frame = ground.view.tables["orders"], ground.frames["orders"]
    keys = ("order_id", "customer_id")
    columns = [
        column.model_copy(update={"type": TypeName.parse(kind)}) if column.name in keys else column
        for column in table.columns
    ]
    small = table.model_copy(update={"columns": tuple(columns)})
    frames = {**ground.frames, "orders": Frame.of(small.column_types, frame.rows)}
    view = ground.view.with_tables({**ground.view.tables, "orders": small})
    for relation in (relations.future_rows, relations.other_entities):
        if (after := relation(replace(ground, view=view, frames=frames))) is not None:
            after.frames["orders"].to_arrow()


@pytest.mark.parametrize("hour", [0, 6, 12, 14, 22, 23])
def test_the_cut_off_is_on_another_day_in_a_session_zone(hour: int) -> None:
    """Otherwise `datediff(as_of, ...)` in the session's zone would equal the one in a view in UTC."""
    cutoff = T.replace(hour=hour, minute=30)
    assert any(cutoff.astimezone(ZoneInfo(zone)).date() != cutoff.date() for zone in session_zones(cutoff))


@pytest.mark.parametrize(("kind", "day"), [("date", date(2024, 4, 1)), ("string", "2024-04-01"), ("int", 20240401)])
def test_a_moved_row_is_in_the_partition_of_its_day(view: View, kind: str, day: object) -> None:
    table = view.tables["orders"]
    *others, partition = table.columns
    typed = RegisteredColumn.model_validate({"name": partition.name, "type": kind})
    table = table.model_copy(update={"columns": (*others, typed)})
    assert moved(table, {}, "ordered_at", T + timedelta(days=1), ZoneInfo("UTC"))["order_day"] == day
