"""Rows as text are the rows again when the helpers read them; what they share is written once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark_scripts import CONVENTIONS

from palmette.features.actors.testcase_coder import offline
from palmette.features.actors.testcase_coder.literals import ImpliedCells, rows_text
from palmette.features.actors.testcase_generator.offline import examples
from palmette.features.artefacts import TestCases
from palmette.features.frame_json import decode_row
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.values import SparkType

SCHEMA = {name: SparkType.parse(kind) for name, kind in {
    "id": "bigint", "class": "string", "paid": "decimal(9,2)", "at": "timestamp", "known": "timestamp",
    "tags": "array<string>",
}.items()}  # fmt: skip
FOLLOWS = {"known": "at"}
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 3)},
        optional={
            "class": st.sampled_from(["null", "a'b", 'a"b\\', "", "a  b", "- c=d", "\n", "e: f"]) | st.none(),
            "paid": st.sampled_from(["1.00", "-0.05"]) | st.none(),
            "at": st.sampled_from(["2024-03-31T00:30:00Z", "2024-03-31T00:30:00.000001Z"]),
            "known": st.sampled_from(["2024-03-31T00:30:00Z", "2024-02-28T23:00:00Z"]),
            "tags": st.lists(st.sampled_from(["x", "rows("]) | st.none(), max_size=2),
        },
    ),
    min_size=1,
    max_size=6,
)


CUTOFF = datetime(2024, 3, 31, tzinfo=UTC)


class Rows:
    """Stands for the session, and returns the rows of a frame."""

    def createDataFrame(self, rows: list[list[Any]], _: str) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        return [dict(zip(SCHEMA, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def helpers() -> dict[str, Any]:
    """What the helpers of delivered tests define."""
    columns = [{"name": name, "type": str(kind)} for name, kind in SCHEMA.items()]
    table = {"name": "visits", "kind": "event", "path": "x", "keys": ["id"], "event_time": "at",
             "available_time": "known", "columns": columns}  # fmt: skip
    last = {"function": "last", "source": "visits"}
    features = [{"name": name, "dtype": str(SCHEMA[name]), "aggregate": {**last, "of": name}}
                for name in ("tags", "paid")]  # fmt: skip
    spec = {"fsc": 1, "feature_view": "v", "entities": [{"name": "e", "keys": ["class"]}], "features": features}
    view = resolve(FeatureSpec.model_validate(spec), Registry.model_validate({"dfr": 1, "tables": [table]}))
    text = offline.helpers(view, CONVENTIONS.model_copy(update={"fixture": "spark"}), "2024-03-31T00:00:00Z")
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{text}", names)
    return names


@given(st.data())
@pytest.mark.parametrize("implied", [ImpliedCells(), ImpliedCells({"id": 1, "paid": None}, FOLLOWS, CUTOFF)])
def test_rows_are_the_same_after_a_round_trip(
    implied: ImpliedCells, helpers: dict[str, Any], data: st.DataObject
) -> None:
    rows = data.draw(ROWS)
    text = rows_text(SCHEMA, rows, 80, "id=1 " if implied.values else "", implied)
    helpers["FOLLOWS"] = dict(implied.follows)
    found = helpers["frame"](Rows(), ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items()), text, CUTOFF)
    assert sorted(map(repr, found)) == sorted(repr(dict(decode_row(SCHEMA, row))) for row in rows)


def test_rows_take_few_lines() -> None:
    same = {"class": "a" * 40, "paid": "1.00", "at": "2024-03-31T00:30:00Z", "known": "2024-03-31T00:30:00Z"}
    rows = [{"id": 1, "tags": ["x"], **same}, {"id": 2, "tags": None, **same}]
    assert rows_text(SCHEMA, rows, 80, "visits:", ImpliedCells(follows=FOLLOWS, cutoff=CUTOFF)).splitlines() == [
        f"    visits: id=2  class={'a' * 40}  paid=1.00",
        "      at=T+30m",
        '    - id=1  tags=["x"]',
    ]
    assert rows_text(SCHEMA, [], 80) == ""


def test_columns_that_no_feature_reads_and_days_that_follow_are_left_out() -> None:
    offers = Path(__file__).parents[3] / "examples" / "offers"
    view = load_view(offers / "specs" / "user_offer_redemptions.yaml", offers / "registry.yaml")
    text = offline.file_of_tests(view, TestCases(cases=tuple(examples(view))), CONVENTIONS, "m")
    assert "category" not in text and "feature_date=T-1us" in text and " day=" not in text
