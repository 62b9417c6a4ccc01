"""Numbers are read exactly, and files once."""

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette.automl.opening import Opened
from palmette.automl.parsing import array, floats_of, read_numbers
from palmette.automl.samples import Repairs, delimited
from palmette.automl.samples.delimited import read_delimited, sniff
from palmette.automl.samples.load import load, reload
from palmette.automl.splitting.parts import row_hashes


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


FIELD = st.text(st.sampled_from('ab1 ,"\n#.'), max_size=6)


@given(
    rows=st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=2, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arrow_splits_a_regular_text_as_the_csv_module_does(
    rows: list[tuple[str, str, str]], quoting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows([("x", "y", "z"), *rows, ("end", "2", "3")])
    opened = Opened(Path("d.csv"), "", b"", "text", "", 0)
    with monkeypatch.context() as patched:
        fast = read_delimited(opened, text.getvalue(), "utf-8", found := Repairs())
        patched.setattr(delimited, "_regular_table", lambda *_: None)
        slow = read_delimited(opened, text.getvalue(), "utf-8", wanted := Repairs())
    assert fast.frame.equals(slow.frame) and (fast.names, fast.dialect, found) == (slow.names, slow.dialect, wanted)


@pytest.mark.parametrize(("texts", "quote"), [
    (["plain", "'one; two'", '"Quoted", he said', "'three; four'"], "'"),
    (["plain", "'twas; night", "'til", "rock 'n' roll"], '"'),
    (["plain", '"one; two"', "'tis", '"three; four"'], '"'),
])  # fmt: skip
def test_an_apostrophe_quotes_where_that_makes_lines_more_alike(texts: list[str], quote: str) -> None:
    form = sniff("".join(f"{n};{texts[n % 4]}\n" for n in range(40)))
    assert (form.delimiter, form.quote) == (";", quote)
