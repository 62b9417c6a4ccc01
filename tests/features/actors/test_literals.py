"""Rows as source text are the rows again when they are run; what all of them hold is written once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palmette.features.actors.testcase_coder.literals import rows_text
from palmette.features.actors.testcase_coder.offline import ALIKE
from palmette.features.actors.testcase_coder.offline import ROWS as LISTED
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
            "tags": st.lists(st.sampled_from(["x", "rows("]) | st.none(), max_size=2),
        },
    ),
    max_size=6,
)


def at(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def run(text: str) -> Any:
    names: dict[str, Any] = {"at": at, "datetime": datetime, "date": date, "Decimal": Decimal}
    exec(f"from __future__ import annotations\n{LISTED}\n{ALIKE}\nfound = {text}", names)
    return names["found"]


@given(ROWS)
def test_rows_are_the_same_after_a_round_trip(rows: list[dict[str, Any]]) -> None:
    found = [{name: row.get(name) for name in SCHEMA} for row in run(rows_text(SCHEMA, rows))]
    assert found == [dict(decode_row(SCHEMA, row)) for row in rows]


def test_rows_take_as_few_lines_as_can_be() -> None:
    same = {"class": "a" * 40, "paid": "1.00", "at": "2024-03-31T00:30:00Z"}
    rows = [{"id": 1, "tags": ["x"], **same}, {"id": 2, "tags": None, **same}]
    assert rows_text(SCHEMA, rows).splitlines() == [
        "rows(", "'id class tags',", f"(1, '{'a' * 40}', ['x']),", f"(2, '{'a' * 40}', None),", "paid=Decimal('1.00'),",
        "at=at('2024-03-31 00:30')", ")",
    ]  # fmt: skip
    wide = [{"id": index, "class": "a" * 90, "paid": "1.00"} for index in (1, 1, 3)]
    assert rows_text(SCHEMA, wide).startswith("alike(\n{'id': 1")
    assert rows_text(SCHEMA, []) == "[]" and rows_text(SCHEMA, [{"id": 1}]) == "[{'id': 1}]"
