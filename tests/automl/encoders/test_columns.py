"""Rows in all their forms become the same typed columns."""

import datetime as dt
import time
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from palmette.automl.encoders.columns import (
    NO,
    YES,
    ColumnError,
    boolean,
    clock,
    code,
    formatted_number,
    number,
    read_columns,
    text_of,
    timestamp,
    unix_time,
    unless,
    without_totals,
)
from palmette.automl.kinds import FALSE, TRUE

READERS = [
    ("number", partial(unless, missing=["?"], read=number), ["age"]),
    ("number", partial(formatted_number, thousands=",", unit="$"), ["price"]),
    ("boolean", boolean, ["member"]),
    ("datetime", partial(timestamp, formats=["%m/%d/%Y"]), ["since"]),
    ("category", partial(code, digits=5), ["zip"]),
    ("text", text_of, ["note"]),
]
read = partial(read_columns, readers=READERS, in_file={"price": "Price ($)"})
ROW = {"age": 41, "Price ($)": "$1,164.08", "member": "Yes", "since": "1/2/2015", "zip": "501", "note": " hello "}
TYPED = {
    "age": 41.0,
    "price": 1164.08,
    "member": 1.0,
    "since": pd.Timestamp(2015, 1, 2),
    "zip": "00501",
    "note": "hello",
}


@pytest.mark.parametrize(
    "rows",
    [
        [ROW],
        pd.DataFrame([ROW]),
        pd.DataFrame([ROW | {"more": 1, "zip": 501.0, "member": True}]),
        [TYPED],
        pd.DataFrame([TYPED]),
    ],
)
def test_every_form_of_a_row_is_read_alike(rows: Any) -> None:
    made = read(rows)
    assert made.to_dict("records") == [TYPED]
    assert list(made.columns) == list(TYPED)


def test_missing_values_of_all_kinds() -> None:
    for value in (None, "", "  ", np.nan, pd.NA, pd.NaT):
        made = read(pd.DataFrame([dict.fromkeys(ROW, value)], dtype=object)).iloc[0]
        assert made[["age", "price", "member", "since", "zip"]].isna().all() and made["note"] == ""
    assert np.isnan(read([ROW | {"age": "?"}])["age"][0])


def test_columns_that_are_missing_are_named_as_the_file_has_them() -> None:
    with pytest.raises(ValueError, match=r"missing: 'age', 'Price \(\$\)'"):
        read([{name: ROW[name] for name in ("member", "since", "zip", "note")}])


@pytest.mark.parametrize(
    ("column", "value"), [("age", "old"), ("age", "1_000"), ("Price ($)", "90,00"), ("member", "2"), ("since", "soon")]
)
def test_a_value_that_cannot_be_read_is_named_with_its_row(column: str, value: str) -> None:
    rows = pd.DataFrame([ROW, ROW | {column: value}], index=["first", "second"])
    with pytest.raises(ColumnError) as found:
        read(rows)
    assert repr(column) in str(found.value) and repr(value) in str(found.value) and "second" in str(found.value)
    assert list(found.value.columns) == [column]


def test_every_column_with_a_value_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ColumnError) as found:
        read([ROW | {"age": "old"}, ROW | {"since": "soon", "member": "2"}])
    assert {name: "in row 0" in reason for name, reason in found.value.columns.items()} == {
        "age": True, "member": False, "since": False,
    }  # fmt: skip
    assert str(found.value).count("not readable as") == 3


def test_rows_of_totals_are_left_out_with_a_warning() -> None:
    rows = pd.DataFrame({"town": ["Ulm", " Total", "Total"], "n": ["1", "2", "3"]}, dtype=object)
    with pytest.warns(UserWarning, match="left out: 2"):
        assert without_totals(rows, "town", ["Total"])["n"].tolist() == ["1"]
    assert without_totals(rows[["n"]], "town", ["Total"]).shape == without_totals(rows, "town", ["Sum"])[["n"]].shape


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (number, "-1.5e3", -1500.0),
        (number, "(12)", -12.0),
        (number, "12-", -12.0),
        (number, "\u22123", -3.0),
        (number, "inf", np.nan),
        (number, 1e300, 1e30),
        (partial(formatted_number, decimal=",", thousands="."), "1.234,5", 1234.5),
        (partial(formatted_number, decimal=",", thousands="."), 1234.5, 1234.5),
        (partial(formatted_number, unit="%"), "12.5 %", 12.5),
        (partial(formatted_number, unit="kg"), "3 KG", 3.0),
        (partial(formatted_number, thousands=",", unit="$"), "($1,000)", -1000.0),
        (partial(formatted_number, unit="h"), "-3h", -3.0),
        (clock, "13:45", 13.75),
        (clock, "1:45 pm", 13.75),
        (clock, 13.75, 13.75),
    ],
)
def test_numbers_as_people_write_them(reader: Any, value: Any, expected: float) -> None:
    made = read_columns({"x": [value]}, [("number", reader, ["x"])])["x"][0]
    assert made == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("text", ["2h32h", "3h9.8 h", "3 kg"])
def test_a_unit_stands_once_before_or_after_the_number(text: str) -> None:
    with pytest.raises(ColumnError):
        read_columns({"x": [text]}, [("number", partial(formatted_number, unit="h"), ["x"])])


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29T10:00:00+02:00", "2024-02-29 08:00"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        ("2024-02-29 10:00:00.5 UTC", "2024-02-29 10:00:00.5"),
        ("2024-02-29 10:00:00 -05:00", "2024-02-29 15:00"),
        ("9999-12-31", None),
        (pd.Timestamp("2024-02-29", tz="Europe/Berlin"), "2024-02-28 23:00"),
    ],
)
def test_dates(value: Any, day: str | None) -> None:
    made = read_columns({"x": [value]}, [("datetime", timestamp, ["x"])])["x"].to_numpy()
    expected = np.datetime64("NaT") if day is None else np.datetime64(pd.Timestamp(day))
    assert made.dtype == "datetime64[ns]" and np.array_equal(made, [expected], equal_nan=True)


@pytest.mark.parametrize(
    "value", [1709164800123, 1709164800123.0, "1709164800123", "2024-02-29T00:00:00.123", pd.Timestamp(1709164800123e6)]
)
def test_unix_times_are_read_from_numbers_and_from_what_is_a_time(value: Any) -> None:
    made = read_columns({"x": [value, None]}, [("datetime", partial(unix_time, per_second=1000), ["x"])])["x"]
    assert made.to_list() == [pd.Timestamp("2024-02-29 00:00:00.123"), pd.NaT]
    for other in ("soon", 10**30):
        with pytest.raises(ColumnError, match=f"{other!r} in row 0"):
            read_columns({"x": [other]}, [("datetime", partial(unix_time, per_second=1), ["x"])])


def test_the_words_for_yes_and_no_are_those_that_files_are_read_with() -> None:
    assert (YES, NO - {"no"}) == (TRUE, FALSE - {"no"})


def test_a_row_takes_little_time() -> None:
    numbers, words = [f"n{place}" for place in range(8)], list("abcdefg")
    readers = [("number", number, numbers), ("category", text_of, words)]
    row = pd.DataFrame([dict.fromkeys(numbers + words, "7")])
    read_columns(row, readers)
    times = []
    for _ in range(20):
        started = time.perf_counter()
        read_columns(row, readers)
        times.append(time.perf_counter() - started)
    assert min(times) < 0.004
