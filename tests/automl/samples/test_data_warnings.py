"""Values that could have been meant otherwise, or would be lost: kept as they are, reported, or refused."""

import base64
import gzip
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import pyarrow as pa  # noqa: E402 - needs pandas
import pyarrow.parquet as pq  # noqa: E402 - as above

from palmette.automl.samples import (  # noqa: E402 - as above
    Loaded,
    Repairs,
    TableError,
)
from palmette.automl.samples.load import load  # noqa: E402 - as above
from palmette.automl.samples.tables import clean_names  # noqa: E402 - as above
from palmette.errors import InputError  # noqa: E402 - as above

ROWS = 40


def column(make: Callable[[int], object], folder: Path) -> tuple[Any, Mapping[str, str]]:
    """A column of a CSV as it is read, and the sentences about it by code."""
    path = folder / "d.csv"
    pd.DataFrame({"v": [make(n) for n in range(ROWS)], "y": ["a", "b"] * (ROWS // 2)}).to_csv(path, index=False)
    loaded = load([path])
    return loaded.table["v"], {one.code: one.text for one in loaded.samples.repairs if one.subject == "v"}


@pytest.mark.parametrize("make, code, text", [
    (lambda n: f"{n}%" if n % 2 else f"0.{n:02}", "number-as-text", "unit '%'; 20 of 40 have none"),
    (lambda n: "007" if n == 7 else f"{n}.5", "leading-zeros", "('007') and were read without them: as 7"),
    (lambda n: f"1.{n:03}" if n % 2 else f"{900 + n}", "ambiguous-numbers", "'1.001' and others of 'v' could divide"),
    (lambda n: f"01.01.{50 + n}", "short-years", "were read as 1969 to 2068"),
    (lambda n: f"2024-03-{1 + n % 28:02}T10:00:00{('', 'Z')[n % 2]}", "no-zone", "have a zone and others none"),
    (lambda n: ("caf\u00e9", "cafe\u0301", "TEA", "tea")[n % 4], "capitals", "the form of their characters"),
])  # fmt: skip
def test_ambiguous_values_are_reported(make: Callable[[int], object], code: str, text: str, tmp_path: Path) -> None:
    _, reported = column(make, tmp_path)
    assert text in reported[code]


@pytest.mark.parametrize("make", [
    lambda n: f"{n}.5", lambda n: f"0.{n:03}", lambda n: n, lambda n: f"{n} %", lambda n: f"1.{n:03}",
    lambda n: f"2024-03-{1 + n % 28:02}T10:00:00Z", lambda n: f"01.01.{1980 + n}", lambda n: "red" if n % 2 else "blue",
])  # fmt: skip
def test_clear_values_are_not(make: Callable[[int], object], tmp_path: Path) -> None:
    _, reported = column(make, tmp_path)
    assert not {"leading-zeros", "ambiguous-numbers", "short-years", "no-zone", "capitals"} & set(reported)
    assert "have none" not in str(reported)


def test_a_million_and_a_minute_are_not_one_unit(tmp_path: Path) -> None:
    values, _ = column(lambda n: f"{n}{'mM'[n % 2]}", tmp_path)
    assert values.dtype == object


def parquet(values: object, folder: Path) -> Loaded:
    pq.write_table(pa.table({"v": values, "y": ["a", "b"] * (ROWS // 2)}), folder / "d.parquet")
    return load([folder / "d.parquet"])


@pytest.mark.parametrize("values", [
    pa.array([2**60 + n if n else None for n in range(ROWS)]),
    pa.array([2**64 - 1 - n for n in range(ROWS)], pa.uint64()),
    pa.array([bytes([n, 255 - n]) for n in range(ROWS)]),
    pa.array([bytes([n]) * 8 for n in range(128, 128 + ROWS)], pa.binary(8)),
])  # fmt: skip
def test_keys_that_differ_stay_different(values: Any, tmp_path: Path) -> None:
    assert parquet(values, tmp_path).table["v"].nunique() == ROWS - values.null_count


DAMAGED = (
    "c-oavI|{-;5S_$fO`BrEE^Lv;5J5!+B}Ez=D+}=kK^7GJ#3bs?JdKC(p#&QnmzjCPzBixU^<py-l1#FJFcKxo>cFGV`DPKNKW@Vi!H4rFc3PrEVY8Z%R`"
    "qu0j)nL%_q7KUwaP)ySo2|DHz0(2zV5n%JGxUt5gTi4LKY2ricIDeZ(%DCD58f4OM?8beT~H{2?O(f!eo~3<)KG2P67a>aamNCt80eavK$swb-u?pSJnI"
    "TDW1+p<I%)ei;^dNjqiH_ev2p("
)
"""A file with a list, whose statistics have a level too many: Arrow ends the process that asks it for them."""


def test_lists_with_damaged_statistics_end_no_process(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(zlib.decompress(base64.b85decode(DAMAGED)))
    assert refused(tmp_path / "d.parquet") == (
        "damaged-file", "The parquet file is damaged: Definition level histogram size mismatch, size: 4, expected: 3."
    )  # fmt: skip
    assert len(parquet(pa.array([[n] * (n % 3) for n in range(ROWS)]), tmp_path).table) == ROWS


def refused(path: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        load([path])
    (problem,) = caught.value.problems
    assert problem.remedy
    return problem.code, problem.message


def test_a_database_whose_rows_are_still_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE t (a, b)")
        connection.execute("PRAGMA wal_checkpoint")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, n) for n in range(ROWS)])
        connection.commit()
        assert refused(path) == ("unfinished-database", "Some of the database is still in 'd.sqlite-wal', beside it.")
    connection.close()
    assert len(load([path]).table) == ROWS


TABLE = b"a,b\n" + b"1,x\n2,y\n" * 20


def zipped(folder: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / "d.zip", "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return folder / "d.zip"


@pytest.mark.parametrize("other", ["README.txt", "paper.pdf", "plot.png", "LICENSE"])
def test_of_an_archive_the_data_files_count_as_of_a_folder(other: str, tmp_path: Path) -> None:
    assert len(load([zipped(tmp_path, (other, b"%PDF\nsome, words\n"), ("a.csv", TABLE))]).table) == ROWS


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_names_a_file_twice(tmp_path: Path) -> None:
    path = zipped(tmp_path, ("a.csv", TABLE), ("a.csv", TABLE.replace(b"x", b"z")))
    assert refused(path) == ("damaged-archive", "The archive names 'a.csv' twice.")


def test_an_archive_in_an_archive_is_no_workbook(tmp_path: Path) -> None:
    inner = zipped(tmp_path, ("a.csv", TABLE)).read_bytes()
    assert refused(zipped(tmp_path, ("b.zip", inner))) == ("not-a-table", "This is an archive inside of an archive.")


@pytest.mark.parametrize("name", ["ORC", "PARENT", "PAR1", "RIFF", "Bzh", "GIF89", "ARROW1", "orchard", "Rar"])
def test_the_name_of_a_column_makes_no_format(name: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(TABLE.replace(b"a", name.encode(), 1))
    assert load([tmp_path / "d.csv"]).table.columns[0] == name


def test_where_blanks_divide_a_short_row_has_no_values(tmp_path: Path) -> None:
    """Its last field would stand in the column of another."""
    lines = [f"{n:<5}{'' if n == 7 else n * 3:<5}{'ab'[n % 2]}" for n in range(ROWS)]
    (tmp_path / "d.txt").write_text("\n".join(["k    v    y", *lines]))
    table = load([tmp_path / "d.txt"]).table
    assert len(table) == ROWS - 1 and table["v"].dtype == "int64"


def test_the_sign_for_the_end_of_a_file_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(TABLE + b"\x1a")
    assert len(load([tmp_path / "d.csv"]).table) == ROWS


@pytest.mark.parametrize("name", ["{{ 7*7 }}", "a_ [", "_ _", "x" * 119 + " y", "{% raw %}"])
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert clean_names(clean_names([name], Repairs()), Repairs()) == clean_names([name], Repairs())


def test_folders_that_name_a_column_make_one(tmp_path: Path) -> None:
    for year in ("2023", "2024", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year={year}" / "town=Z%C3%BCrich").mkdir(parents=True)
        (tmp_path / f"year={year}" / "town=Z%C3%BCrich" / "part.csv").write_bytes(TABLE)
    table = load([tmp_path]).table
    assert len(table) == 3 * ROWS and set(table["town"]) == {"Z\u00fcrich"}
    assert set(table["year"].dropna()) == {2023, 2024} and table["year"].isna().sum() == ROWS


def test_a_file_that_is_there_packed_too_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(TABLE)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TABLE))
    assert len(load([tmp_path]).table) == ROWS


def test_a_test_table_is_no_training_table_for_having_more_columns(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(TABLE)
    (tmp_path / "test.csv").write_bytes(TABLE.replace(b"\n", b",1\n").replace(b"b,1", b"b,c"))
    with pytest.raises(TableError, match="do not belong together"):
        load([tmp_path])


def test_json_with_a_row_under_each_number(tmp_path: Path) -> None:
    rows = {str(n): {"a": n, "b": "xy"[n % 2]} for n in range(ROWS)}
    (tmp_path / "d.json").write_text(json.dumps(rows))
    assert load([tmp_path / "d.json"]).table.shape == (ROWS, 2)
    (tmp_path / "e.json").write_text(json.dumps({"a": {str(n): n for n in range(ROWS)}, "b": {}}))
    assert load([tmp_path / "e.json"]).table.shape == (ROWS, 2)


def test_one_name_in_two_forms_is_one() -> None:
    assert clean_names(["pra\u0308mie"], Repairs()) == clean_names(["pr\u00e4mie"], Repairs()) == ["pr\u00e4mie"]
    assert len({*clean_names(["pra\u0308mie", "pr\u00e4mie"], Repairs())}) == 2


def test_a_message_names_the_file_as_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1,2\n3,4\n5,6\n")
    assert load([tmp_path / "data.csv"]).samples.repairs[0].text.startswith("There is no header in data.csv;")
