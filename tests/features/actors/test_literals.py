"""Rows as source text are the rows again when they are run; what most of them hold is said once."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palmette.features.actors.testcase_coder.literals import rows_text
from palmette.features.actors.testcase_coder.offline import ALIKE
from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType

SCHEMA = {name: SparkType.parse(kind) for name, kind in {
    "id": "bigint", "class": "string", "paid": "decimal(9,2)", "at": "timestamp", "tags": "array<string>",
}.items()}  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 3)},
        optional={
            "class": st.sampled_from(["None", "a'b", 'a"b\\', ""]) | st.none(),
            "paid": st.sampled_from(["1.00", "-0.05"]) | st.none(),
            "at": st.sampled_from(["2024-03-31T00:30:00Z", "2024-03-31T00:30:00.000001Z"]),
            "tags": st.lists(st.sampled_from(["x", "alike("]) | st.none(), max_size=2),
        },
    ),
    max_size=6,
)


def run(text: str) -> Any:
    names: dict[str, Any] = {"at": datetime.fromisoformat, "date": date, "Decimal": Decimal}
    exec(f"from __future__ import annotations\n{ALIKE}\nrows = {text}", names)
    return names["rows"]


@given(ROWS)
def test_rows_are_the_same_after_a_round_trip(rows: list[dict[str, Any]]) -> None:
    found = [{name: row.get(name) for name in SCHEMA} for row in run(rows_text(SCHEMA, rows))]
    assert found == [dict(decode_row(SCHEMA, row)) for row in rows]


def test_what_half_of_the_rows_hold_is_said_once_and_a_null_that_differs_is_said() -> None:
    same = {"class": "a", "paid": "1.00"}
    rows = [{"id": 1, **same}, {"id": 2, **same}, {"id": 3, "class": "b", "paid": None}]
    assert rows_text(SCHEMA, rows) == (
        "alike(\n{'class': 'a', 'paid': Decimal('1.00')},\n{'id': 1},\n{'id': 2},\n"
        "{'id': 3, 'class': 'b', 'paid': None},\n)"
    )
    assert rows_text(SCHEMA, rows[:1]) == "[{'id': 1, 'class': 'a', 'paid': Decimal('1.00')}]"
