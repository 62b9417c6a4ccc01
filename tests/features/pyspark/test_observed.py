"""A source whose rows all lie in another one adds no row to the output."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from palmette.features.frame import Frame
from palmette.features.oracle import expected
from palmette.features.pyspark.build import observing
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.features.spec.view import View

AS_OF = datetime(2024, 4, 2, tzinfo=UTC)
"""Two days after Europe's clocks went forward."""
REGISTRY = Registry.model_validate({"dfr": 1, "tables": [
    {"name": "visits", "kind": "event", "path": "visits", "keys": ["id"], "event_time": "at", "columns": [
        {"name": "id", "type": "bigint"}, {"name": "user", "type": "string"}, {"name": "shop", "type": "string"},
        {"name": "spent", "type": "int"}, {"name": "at", "type": "timestamp"}]},
    {"name": "bills", "kind": "event", "path": "bills", "keys": ["id"], "event_time": "at", "columns": [
        {"name": "id", "type": "bigint"}, {"name": "user", "type": "string"}, {"name": "at", "type": "timestamp"}]},
    {"name": "shops", "kind": "dimension", "path": "shops", "keys": ["shop"], "columns": [
        {"name": "shop", "type": "string", "nullable": False}, {"name": "owner", "type": "string"}]},
]})  # fmt: skip

Steps = list[dict[str, Any]]


def view(*sources: tuple[Steps, str], zone: str = "UTC", table: str = "visits") -> View:
    """Visitors by sources of these steps, counted in those windows; the first is of `visits`."""
    tables = ["visits", *[table] * (len(sources) - 1)]
    return resolve(FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "users", "entities": [{"name": "user", "keys": ["user"]}], "time": {"zone": zone},
        "sources": [{"name": f"s{number}", "table": tables[number], "steps": steps}
                    for number, (steps, _) in enumerate(sources)],
        "features": [{"name": f"n{number}", "dtype": "bigint",
                      "aggregate": {"function": "count", "source": f"s{number}", "window": window}}
                     for number, (_, window) in enumerate(sources)]}), REGISTRY)  # fmt: skip


def join(unmatched: str, name: str) -> dict[str, Any]:
    return {"join": {"table": "shops", "on": ["shop"], "cardinality": "many_to_one", "columns": {name: "owner"},
                     "unmatched": unmatched}}  # fmt: skip


IN_SHOP, PAID = {"filter": "shop = 'a'"}, {"filter": "spent > 1"}
RENAMED = {"replace": {"column": "shop", "values": {"b": "a"}}}
OWNED, OWNER = join("drop", "landlord"), join("keep", "owner")
SOMEBODY = {"compute": {"user": "coalesce(user, 'x')"}}
POOL: Steps = [IN_SHOP, PAID, {"filter": "spent is not null"}, RENAMED, OWNED, OWNER, SOMEBODY,
               {"gap": {"column": "rest", "by": ["user"]}}]  # fmt: skip


@pytest.mark.parametrize(("wide", "narrow", "kept"), [
    (([], "30d"), ([IN_SHOP], "30d"), ["s0"]),
    (([IN_SHOP], "7d"), ([], "30d"), ["s1"]),
    (([IN_SHOP], "30d"), ([PAID, IN_SHOP], "7d"), ["s0"]),
    (([RENAMED, IN_SHOP, OWNER], "30d"), ([RENAMED, IN_SHOP, PAID], "30d"), ["s0"]),
    (([OWNED], "all"), ([PAID, OWNED], "all"), ["s0"]),
    (([PAID], "30d"), ([PAID], "30d"), ["s0"]),
    (([], "30d"), ([IN_SHOP], "60d"), ["s0", "s1"]),
    (([], "30d"), ([IN_SHOP], "all"), ["s0", "s1"]),
    (([IN_SHOP], "30d"), ([PAID], "30d"), ["s0", "s1"]),
    (([IN_SHOP], "30d"), ([RENAMED, IN_SHOP], "30d"), ["s0", "s1"]),
    (([OWNED], "30d"), ([OWNER], "30d"), ["s1"]),
    (([], "30d"), ([SOMEBODY], "30d"), ["s0", "s1"]),
    (([SOMEBODY], "30d"), ([SOMEBODY, PAID], "30d"), ["s0"]),
])  # fmt: skip
def test_which_sources_decide_the_rows(wide: tuple[Steps, str], narrow: tuple[Steps, str], kept: list[str]) -> None:
    assert [source.name for source in observing(view(wide, narrow))] == kept


def test_sources_of_two_tables_decide_together() -> None:
    assert [source.name for source in observing(view(([], "30d"), ([], "7d"), table="bills"))] == ["s0", "s1"]


def test_days_and_hours_contain_each_other_only_where_clocks_stand() -> None:
    sources = ([], "72h"), ([PAID], "3d")
    assert len(observing(view(*sources))) == 1
    assert len(observing(view(*sources, zone="Europe/Berlin"))) == 2


def test_the_keys_are_those_of_all_sources() -> None:
    """Of random sources of one table, most of them nested."""
    fewer = 0
    for seed in range(80):
        chance = random.Random(seed)
        zone = chance.choice(["UTC", "Europe/Berlin"])
        steps = chance.sample(POOL, chance.randint(0, 3))
        sources = [(_varied(steps, chance), chance.choice(["12h", "3d", "72h", "30d", "all"])) for _ in range(3)]
        whole = view(*sources, zone=zone)
        kept = [sources[int(source.name[1:])] for source in observing(whole)]
        fewer += len(kept) < len(sources)
        frames = _frames(chance)
        assert _users(view(*kept, zone=zone), frames) == _users(whole, frames), seed
    assert fewer > 20


_AGES = (0, 1, 12, 25, 71, 72, 73, 30 * 24, 31 * 24, 1000)


def _varied(steps: Steps, chance: random.Random) -> Steps:
    """The same steps with one of the others somewhere among them, or without."""
    others = [step for step in POOL if step not in steps]
    place = chance.randint(0, len(steps))
    return [*steps[:place], *chance.sample(others, chance.randint(0, 1)), *steps[place:]]


def _frames(chance: random.Random) -> dict[str, Frame]:
    rows = [{"id": number, "user": chance.choice(["u", "v", "w", None]), "shop": chance.choice(["a", "b", "c", None]),
             "spent": chance.choice([0, 1, 2, None]), "at": AS_OF - timedelta(hours=chance.choice(_AGES))}
            for number in range(4)]  # fmt: skip
    return {"visits": _frame("visits", rows), "shops": _frame("shops", [{"shop": name, "owner": "o"} for name in "ab"])}


def _frame(table: str, rows: list[dict[str, Any]]) -> Frame:
    registered = REGISTRY.table(table)
    assert registered is not None
    return Frame.of({column.name: column.type.parsed for column in registered.columns}, rows)


def _users(made: View, frames: dict[str, Frame]) -> set[Any]:
    mine = {name: frame for name, frame in frames.items() if name in made.tables}
    return {row["user"] for row in expected(made, mine, AS_OF).rows}
