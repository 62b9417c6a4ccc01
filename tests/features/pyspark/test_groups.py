"""Few passes over the rows: which features are computed together, and where the rows of the output come from."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark_scripts import script

from palmette.features.frame import Frame
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import differences, expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.features.spec.view import View

AS_OF = datetime(2025, 4, 1, tzinfo=UTC)


def column(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


REGISTRY: dict[str, Any] = {"dfr": 1, "tables": [
    {"name": "visits", "kind": "event", "path": "visits", "keys": ["id"], "event_time": "at", "columns": [
        column("id", "bigint"), column("user", "string"), column("shop", "string"), column("at", "timestamp"),
        column("mood", "array<float>", length=2), column("last_7_days", "boolean")]},
    {"name": "bills", "kind": "event", "path": "bills", "keys": ["id"], "event_time": "at", "columns": [
        column("id", "bigint"), column("user", "string"), column("shop", "string"), column("at", "timestamp"),
        column("amount", "double")]},
    {"name": "shops", "kind": "dimension", "path": "shops", "keys": ["shop"], "columns": [
        column("shop", "string", nullable=False), column("vector", "array<float>", length=3),
        column("loose", "array<float>"), column("town", "string"), column("since", "timestamp")]},
]}  # fmt: skip


def view(features: list[dict[str, Any]], *steps: dict[str, Any], bills: list[dict[str, Any]] | None = None) -> View:
    """Of users, over visits with these steps and bills with those."""
    spec = {"fsc": 1, "feature_view": "users", "entities": [{"name": "user", "keys": ["user"]}],
            "sources": [{"name": "visits", "steps": list(steps)}, {"name": "bills", "steps": bills or []}],
            "features": features}  # fmt: skip
    return resolve(FeatureSpec.model_validate(spec), Registry.model_validate(REGISTRY))


def aggregate(name: str, function: str, source: str = "visits", **more: Any) -> dict[str, Any]:
    dtype = "array<float>" if function.startswith("vector") else more.pop("dtype", "bigint")
    return {"name": name, "dtype": dtype, "aggregate": {"function": function, "source": source, **more}}


def join(*columns: str, **renamed: str) -> dict[str, Any]:
    taken = {name: name for name in columns} | renamed
    return {"join": {"table": "shops", "on": ["shop"], "cardinality": "many_to_one", "columns": taken}}


@pytest.mark.parametrize(("of", "steps", "length"), [
    ("mood", (), 2),
    ("vector", (join("vector"),), 3),
    ("taste", (join(taste="vector"),), 3),
    ("vector", (join(vector="loose"),), None),
    ("loose", (join("loose"),), None),
    ("vector", (join("vector"), {"compute": {"vector": "slice(vector, 1, 2)"}}), None),
    ("mood", (join("vector"), {"compute": {"mood": "slice(vector, 1, 2)"}}), None),
])  # fmt: skip
def test_a_vector_is_aggregated_in_one_pass_where_its_length_is_registered(
    of: str, steps: tuple[dict[str, Any], ...], length: int | None
) -> None:
    text = script(view([aggregate("n", "count"), aggregate("mean", "vector_mean", of=of)], *steps))
    assert ("posexplode" in text) == (length is None)
    assert text.count(".groupBy(") == (1 if length else 3)
    assert (f"{of.upper()}_LENGTH = {length}" in text) == (length is not None)


def test_vectors_of_one_name_may_have_two_lengths() -> None:
    features = [aggregate("a", "vector_mean", of="mood"), aggregate("b", "vector_sum", "bills", of="mood")]
    text = script(view(features, bills=[join(mood="vector")]))
    assert "MOOD_LENGTH = 2" in text and "MOOD_LENGTH_2 = 3" in text and text.count("range(MOOD_LENGTH_2)") == 1


@pytest.mark.parametrize(("vectors", "groupings"), [(1, 1), (2, 2)])
def test_distinct_counts_do_not_carry_several_vectors(vectors: int, groupings: int) -> None:
    features = [
        aggregate("visits", "count"),
        aggregate("shops", "count_distinct", of="shop"),
        *(aggregate(f"mood_{days}d", "vector_mean", of="mood", window=f"{days}d") for days in (7, 30)[:vectors]),
    ]
    text = script(view(features))
    assert text.count(".groupBy(") == groupings
    assert ("def distinct_visits_by_user(" in text) == (groupings > 1)


def test_the_rows_of_several_sources_meet_in_their_groups(harness: ConnectHarness, tmp_path: Path) -> None:
    features = [
        aggregate("visits", "count", window="30d"),
        aggregate("shops", "count_distinct", of="shop", window="30d"),
        aggregate("shops_now", "count_distinct", of="shop", window="7d"),
        aggregate("shops_but_a", "count_distinct", of="shop", where="shop <> 'a'", window="7d"),
        aggregate("fresh", "count_distinct", of="id", where="last_7_days", window="30d"),
        aggregate("taste", "vector_mean", of="vector", window="7d"),
        aggregate("taste_now", "vector_weighted_mean", of="vector", half_life="7d", window="30d"),
        aggregate("bills", "count", "bills", window="60d"),
        aggregate("paid", "sum", "bills", of="amount", window="60d", dtype="double"),
        {"name": "more", "dtype": "bigint",
         "expression": {"source": "bills", "sql": "count(*) + 1", "window": "60d"}},
    ]  # fmt: skip
    made = view(features, join("vector"))
    text = script(made)
    assert text.count('how="full"') == 1 and "observed_keys" not in text and "distinct()" not in text
    assert "count(DISTINCT shop) FILTER (WHERE last_7_days_)" in text, "a column of the table keeps its name"
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    frames = _frames(made)
    (result,) = harness.execute(path, "build", [ScriptCase("users", frames, AS_OF)], root=tmp_path)
    assert result.frame is not None, result.trace or result.error
    assert differences(expected(made, frames, AS_OF), result.frame, made) == ()
    assert {row["user"] for row in result.frame.rows} == {"both", "visits", "bills"}


def _frames(made: View) -> dict[str, Frame]:
    """A user in both sources, one in each alone, one only in rows that are too old, and rows of nobody."""
    vectors: dict[str, list[float] | None] = {"a": [1.0, 2.0, 3.0], "b": [3.0, 0.0, -3.0], "none": None}
    days = [("both", "a", 1), ("both", "b", 8), ("both", "none", 3), ("visits", "b", 29), ("visits", "gone", 2),
            (None, "a", 1), ("old", "a", 31)]  # fmt: skip
    paid = [("both", 2.5, 40), ("bills", None, 3), ("bills", 4.0, 59), (None, 1.0, 1), ("old", 1.0, 61)]
    rows: dict[str, list[dict[str, Any]]] = {
        "visits": [{"id": number, "user": user, "shop": shop, "at": AS_OF - timedelta(days=age), "mood": None,
                    "last_7_days": number % 2 == 0}
                   for number, (user, shop, age) in enumerate(days)],
        "bills": [{"id": number, "user": user, "shop": None, "amount": amount, "at": AS_OF - timedelta(days=age)}
                  for number, (user, amount, age) in enumerate(paid)],
        "shops": [{"shop": shop, "vector": vector, "loose": None, "town": None, "since": None}
                  for shop, vector in vectors.items()],
    }  # fmt: skip
    return {name: Frame.of({one.name: one.type.parsed for one in table.columns}, rows[name])
            for name, table in made.tables.items()}  # fmt: skip


@pytest.mark.parametrize(("changes", "joins"), [
    ({}, 0),
    ({"kind": "snapshot", "event_time": "since"}, 1),
    ({"columns": [column("shop", "string"), *REGISTRY["tables"][2]["columns"][1:]]}, 1),
])  # fmt: skip
def test_a_column_of_the_spines_own_row_is_taken_from_it(changes: dict[str, Any], joins: int) -> None:
    *others, shops = REGISTRY["tables"]
    tables = [*others, {**shops, **changes}]
    lookup = {"table": "shops", "column": "town", "on": ["shop"]}
    spec = {"fsc": 1, "feature_view": "shops", "entities": [{"name": "shop", "keys": ["shop"]}],
            "spine": {"table": "shops"},
            "features": [{"name": "area", "dtype": "string", "lookup": lookup}]}  # fmt: skip
    text = script(resolve(FeatureSpec.model_validate(spec), Registry.model_validate({"dfr": 1, "tables": tables})))
    assert text.count(".join(") == joins
