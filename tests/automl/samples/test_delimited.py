"""Clean text is split at once, into the rows of the csv module; numbers are read exactly."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.automl.samples import Dialect, Repairs, delimited
from palmette.automl.samples.load import load, reload
from palmette.automl.samples.opening import Opened
from palmette.automl.samples.parsing import array, floats_of, read_numbers
from palmette.automl.splitting.row_groups import row_hashes
from palmette.errors import InputError

NAMES = ("size", "name", "", "2020", "#n", "name")
WORDS = ("a", "x y", " b", "c ", "", "#d", "1", "2.5", "1,5", '"', '5" e', "'f'", "g,h", "one\ntwo", "é", "\u2028")
MARKS = ('"', "'", ",", "\n", "\r", " ", '""', "\n\n", "\ufeff")


def row(width: int, cells: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(cells), min_size=width, max_size=width)


def table(width: int) -> st.SearchStrategy[list[list[str]]]:
    """A header, rows, and the header again among them."""
    rows = st.lists(row(width, WORDS), max_size=8)
    return st.tuples(row(width, NAMES), rows, st.booleans()).map(lambda all: [all[0], *all[1], *([all[0]] * all[2])])


def opened(text: str) -> Opened:
    return Opened(Path("d.csv"), "", text.encode(), "text", "", "", len(text))


def read(text: str) -> object:
    try:
        found, dialect = delimited.read_delimited(opened(text), text, "utf-8", repairs := Repairs())
    except InputError as error:
        return [problem.code for problem in error.problems]
    return found.names, [texts.to_pylist() for texts in found.columns], dialect, repairs


@given(
    st.integers(1, 5).flatmap(table),
    st.sampled_from((",", ";", "\t")),
    st.sampled_from(("\n", "\r\n", "\r")),
    st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(MARKS)), max_size=2),
)
@settings(max_examples=150, deadline=None)
def test_a_text_is_the_same_table_whether_or_not_it_is_split_at_once(
    rows: list[list[str]], delimiter: str, end: str, quoting: Any, damage: list[tuple[int, str]]
) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    text = buffer.getvalue()
    for place, what in damage:
        text = text[:place] + what + text[place:]
    with pytest.MonkeyPatch.context() as patch:
        found = read(text)
        patch.setattr(delimited, "split_at_once", lambda *_: None)
        assert found == read(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a,b\n1,2\n", Dialect(delimiter=",", quote='"')),
        ("a;b\r\n1;2", Dialect(delimiter=";", quote='"')),
        ("a, b\n1,  2\n", Dialect(delimiter=",", quote='"')),
        ('"a","b"\n"x ""y"", z","two\nlines"\n', Dialect(delimiter=",", quote='"')),
        ("'a'\t'b'\n'it''s'\t\n", Dialect(delimiter="\t", quote="'")),
    ],
)
def test_a_clean_text_is_split_at_once_as_the_csv_module_splits_it(text: str, form: Dialect) -> None:
    columns = delimited.split_at_once(text, form)
    rows = list(csv.reader(io.StringIO(text, newline=""), **delimited.settings(form), strict=True))
    assert columns is not None and [texts.to_pylist() for texts in columns] == [*map(list, zip(*rows, strict=True))]


@given(st.lists(st.floats(allow_nan=False) | st.integers(-(10**25), 10**25), min_size=1, max_size=20))
@settings(deadline=None)
def test_a_number_is_the_float_that_was_written(numbers: list[float]) -> None:
    for texts in ([repr(one) for one in numbers], [f" {one!r}" for one in numbers], [f"{one:+}" for one in numbers]):
        assert floats_of(array(texts)).tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("text", ["0.000000000000012345", "1.00e-5", "5.", ".5", "+7", " 8 ", "-0.0", "007", "-inf"])
def test_numbers_as_programs_write_them(text: str) -> None:
    (found,) = floats_of(array([text, "words"]))[:1]
    assert found == float(text)


@pytest.mark.parametrize("text", ["", "-", "1_000", "0x1F", "1e", "1.2.3", "٣", "nan", "1e999", "1 2", "--1", "e5"])
def test_what_programs_do_not_write_for_a_number_is_none(text: str) -> None:
    assert math.isnan(floats_of(array([text, "1"]))[0])


def test_numbers_in_a_column_of_other_ways_are_exact_too() -> None:
    found = read_numbers(array(["0.000000000000012345", "1,000.5", "2"]))
    assert found is not None and found.values.tolist() == [1.2345e-14, 1000.5, 2.0]


def test_data_are_read_once_while_the_files_stay_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n2,y\n3,x\n", "utf-8")
    loaded = load([path])
    assert reload(loaded.samples).table is loaded.table


def test_the_same_numbers_in_another_format_are_the_same_rows(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [(-1) ** n * (n + 0.1) ** -9 for n in range(200)], "b": ["x", "y"] * 100})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    text, typed = (load([tmp_path / name]).table for name in ("a.csv", "a.parquet"))
    assert (row_hashes(text) == row_hashes(typed)).all()
