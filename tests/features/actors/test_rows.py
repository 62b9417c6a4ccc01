"""Rows as a model writes them for a case: what becomes of them, and that mistakes are said."""

from datetime import UTC, datetime
from typing import Any

import pytest

from palmette.features.actors.testcase_generator.rows import completed
from palmette.features.spec.dfr import RegisteredColumn, Table

CUTOFF = datetime(2024, 3, 31, 12, tzinfo=UTC)
"""Noon in UTC; in Paris two o'clock in the afternoon of the day on which clocks went forward."""
TABLE = Table.model_validate(
    {
        "name": "visits",
        "kind": "event",
        "path": "visits",
        "keys": ["id"],
        "event_time": "at",
        "available_time": "known",
        "columns": [
            {"name": "id", "type": "bigint"},
            {"name": "at", "type": "timestamp"},
            {"name": "known", "type": "timestamp"},
            {"name": "on", "type": "date"},
            {"name": "wall", "type": "timestamp_ntz"},
            {"name": "epoch", "type": "bigint", "unit": "s"},
            {"name": "letter", "type": "string"},
        ],
    }
)
COLUMNS = ("id", "at", "known", "on", "wall", "epoch", "letter")


class _InParis:
    zone = "Europe/Paris"


def row(*values: Any, cutoff: datetime | None = CUTOFF) -> dict[str, Any]:
    view: Any = _InParis()
    (found,) = completed(view, TABLE, COLUMNS, [values], cutoff)
    return found


@pytest.mark.parametrize(("values", "expected"), [
    ((1, "T"), {"at": "2024-03-31T12:00:00Z", "known": "2024-03-31T11:59:59.999999Z"}),
    ((1, "T+1h"), {"at": "2024-03-31T13:00:00Z", "known": "2024-03-31T11:59:59.999999Z"}),
    ((1, "T-1us"), {"at": "2024-03-31T11:59:59.999999Z", "known": "2024-03-31T11:59:59.999999Z"}),
    ((1, "T - 1d"), {"at": "2024-03-30T13:00:00Z", "known": "2024-03-30T13:00:00Z"}),
    ((1, "T-1d-1us"), {"at": "2024-03-30T12:59:59.999999Z"}),
    ((1, "T-24h"), {"at": "2024-03-30T12:00:00Z"}),
    ((1, "T-3h", "T"), {"known": "2024-03-31T12:00:00Z"}),
    ((1, "T-3h", None), {"known": None}),
    ((1, None), {"at": None, "known": None}),
    ((1, "T", "T", "T-1d", "T-1d", "T-1d", "T"),
     {"on": "2024-03-30", "wall": "2024-03-30T14:00:00", "epoch": 1711803600, "letter": "T"}),
    ((1, "2024-03-30T23:30:00+01:00"), {"at": "2024-03-30T23:30:00+01:00"}),
])  # fmt: skip
def test_times_are_told_from_the_cutoff_and_what_follows_from_them_is_filled_in(
    values: tuple[Any, ...], expected: dict[str, Any]
) -> None:
    found = row(*values)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("text", ["T-", "T-7x", "T7d", "T-9999999d", "yesterday", ""])
def test_what_is_no_time_stays_for_the_criterion_to_refuse(text: str) -> None:
    assert row(1, text)["at"] == text
    assert row(1, "T-1d", cutoff=None)["at"] == "T-1d"


def test_a_value_too_many_gets_a_name_that_no_table_has() -> None:
    assert row(*range(len(COLUMNS)), "more")["number 8 of a row"] == "more"


def test_rows_that_name_their_columns_are_taken_too() -> None:
    view: Any = _InParis()
    (found,) = completed(view, TABLE, (), [{"id": 1, "at": "T-1h"}], CUTOFF)
    assert found["at"] == "2024-03-31T11:00:00Z"


def test_a_row_with_lists_stands_for_a_row_with_each_of_their_values() -> None:
    view: Any = _InParis()
    table = TABLE.model_copy(update={"columns": (*TABLE.columns, RegisteredColumn(name="tags", type="array<string>"))})
    columns = ("id", "at", "letter", "tags")
    found = completed(view, table, columns, [[[1, 2], ["T-1h", "T-2h"], "a", ["x", "y", "z"]], [3]], CUTOFF)
    assert [(one["id"], one.get("at"), one.get("letter"), one.get("tags")) for one in found] == [
        (1, "2024-03-31T11:00:00Z", "a", ["x", "y", "z"]),
        (2, "2024-03-31T10:00:00Z", "a", ["x", "y", "z"]),
        (3, None, None, None),
    ]


@pytest.mark.parametrize("values", [([1, 2], ["T"]), ([],)])
def test_lists_that_do_not_go_together_stay_for_the_criterion_to_refuse(values: tuple[Any, ...]) -> None:
    assert row(*values)["id"] == values[0]
