"""Rows with nulls, negatives, boundaries and the days on which clocks change, for every type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from palmette.features.frame import Frame
from palmette.features.spec.values import SparkType

SCHEMA = {
    name: SparkType.parse(kind)
    for name, kind in {
        "id": "int",
        "a": "int",
        "b": "bigint",
        "s": "smallint",
        "d": "decimal(10,2)",
        "e": "decimal(5,1)",
        "x": "double",
        "f": "float",
        "t": "string",
        "n": "string",
        "j": "string",
        "ts": "timestamp",
        "ts2": "timestamp",
        "ntz": "timestamp_ntz",
        "dt": "date",
        "dt2": "date",
        "bo": "boolean",
        "arr": "array<int>",
        "ars": "array<string>",
    }.items()
}


def _row(number: int, *values: Any) -> dict[str, Any]:
    return dict(zip(SCHEMA, (number, *values), strict=True))


def _at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


ROWS = Frame.of(
    SCHEMA,
    [
        _row(
            1,
            3,
            4,
            2,
            Decimal("1.25"),
            Decimal("0.5"),
            2.5,
            1.5,
            "Alpha",
            "12",
            '{"a": 1, "b": {"c": "x"}, "l": [1, 2]}',
            _at(2024, 3, 31, 0, 30),
            _at(2024, 3, 29, 12),
            datetime.fromisoformat("2024-03-31T02:30:00"),
            date(2024, 3, 31),
            date(2024, 2, 29),
            True,
            [1, 2, 3],
            ["x", "y"],
        ),
        _row(
            2,
            -7,
            2,
            -3,
            Decimal("-10.05"),
            Decimal("2.0"),
            -2.5,
            -0.25,
            "beta,gamma,delta",
            "-3",
            '{"a": null, "b": 2.50}',
            _at(2024, 3, 31, 1, 30, 15, 123456),
            _at(2024, 10, 27, 0, 30),
            datetime.fromisoformat("2024-10-27T02:30:00"),
            date(2024, 2, 29),
            date(2023, 12, 31),
            False,
            [2, None, 2],
            [None, "z"],
        ),
        _row(
            3,
            15,
            -9,
            7,
            Decimal("0.01"),
            Decimal("-3.3"),
            0.1,
            0.125,
            "  a_b 12 ",
            "5",
            "not json",
            _at(2024, 10, 27, 0, 30),
            _at(2024, 1, 31, 23, 59, 59),
            datetime.fromisoformat("2024-01-01T00:00:00"),
            date(2023, 12, 31),
            date(2024, 1, 1),
            None,
            [],
            [],
        ),
        _row(
            4,
            1,
            3000000000,
            1,
            Decimal("99999999.99"),
            Decimal("9999.9"),
            1e7,
            3e9,
            "",
            "0",
            '{"a": "text", "l": []}',
            _at(2024, 10, 27, 1, 30),
            _at(2024, 10, 27, 1, 30),
            datetime.fromisoformat("2024-06-01T12:00:00"),
            date(2024, 1, 31),
            date(2024, 1, 31),
            True,
            [5],
            ["x"],
        ),
        _row(5, *[None] * 18),
        _row(
            6,
            100,
            1,
            100,
            Decimal("12.50"),
            Decimal("1.0"),
            1234.5,
            2.0,
            "Émile Zola",
            " 7 ",
            '{"a": true, "b": {"c": [1, {"d": 2}]}}',
            _at(2023, 12, 31, 23, 30),
            _at(2024, 1, 1),
            datetime.fromisoformat("2023-12-31T23:59:59.999999"),
            date(2024, 12, 30),
            date(2024, 12, 31),
            False,
            [3, 1, 2],
            ["b", "a", None],
        ),
        _row(
            7,
            2,
            5,
            4,
            Decimal("2.50"),
            Decimal("0.1"),
            0.0005,
            2.0**-17,
            "alpha",
            "1",
            "{}",
            _at(1969, 12, 31, 23, 59, 59, 500000),
            _at(1970, 1, 1),
            datetime.fromisoformat("1970-01-01T00:00:00"),
            date(1970, 1, 1),
            date(1969, 12, 31),
            True,
            [0, -1],
            ["x", "x"],
        ),
    ],
)
