"""Rows as text are the rows again when the helpers read them; what most of them hold is written once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palmette.features.actors.testcase_coder.literals import rows_text
from palmette.features.actors.testcase_coder.offline import HELPERS, IMPORTS, PARSERS
from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType

SCHEMA = {name: SparkType.parse(kind) for name, kind in {
    "id": "bigint", "class": "string", "paid": "decimal(9,2)", "at": "timestamp", "tags": "array<string>",
}.items()}  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 3)},
        optional={
            "class": st.sampled_from(["null", "a'b", 'a"b\\', "", "a  b", "- c=d", "\n", "e: f"]) | st.none(),
            "paid": st.sampled_from(["1.00", "-0.05"]) | st.none(),
            "at": st.sampled_from(["2024-03-31T00:30:00Z", "2024-03-31T00:30:00.000001Z"]),
            "tags": st.lists(st.sampled_from(["x", "rows("]) | st.none(), max_size=2),
        },
    ),
    min_size=1,
    max_size=6,
)


PARSED = HELPERS.replace("    # parsers", "\n".join(PARSERS.values()))
CODE = f"from __future__ import annotations\nOUTPUT = ''\n{IMPORTS.partition('import pytest')[0]}\n{PARSED}"


class Rows:
    """Stands for the session, and returns the rows of a frame."""

    def createDataFrame(self, rows: list[list[Any]], _: str) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        return [dict(zip(SCHEMA, row, strict=True)) for row in rows]


def run(text: str) -> Any:
    """The rows that the helpers of delivered tests read from a text."""
    names: dict[str, Any] = {}
    exec(CODE, names)
    return names["frame"](Rows(), ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items()), text)


@given(st.data())
def test_rows_are_the_same_after_a_round_trip(data: st.DataObject) -> None:
    rows = data.draw(ROWS)
    assert run(rows_text(SCHEMA, rows, 80)) == [dict(decode_row(SCHEMA, row)) for row in rows]


def test_rows_take_few_lines() -> None:
    same = {"class": "a" * 40, "paid": "1.00", "at": "2024-03-31T00:30:00Z"}
    rows = [{"id": 1, "tags": ["x"], **same}, {"id": 2, "tags": None, **same}]
    assert rows_text(SCHEMA, rows, 80, "visits:").splitlines() == [
        f"    visits: id=1  class={'a' * 40}  paid=1.00",
        '      at=2024-03-31 00:30  tags=["x"]',
        "    -",
        "    - id=2  tags=null",
    ]
    assert rows_text(SCHEMA, [], 80) == ""
