"""Files in encodings, line ends and shapes that are seldom met."""

import io
import json
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from palmette.automl.samples.load import load  # noqa: E402 - needs pandas
from palmette.errors import InputError  # noqa: E402 - as above

NAMES = ("数", "大小", "颜色")
FRAME = pd.DataFrame({"n": range(30), "size": [0.5, 1.5] * 15, "colour": ["红红红红", "蓝", "青青"] * 10})
MARK = "\ufeff"


def refused(path: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        load([path])
    (problem,) = caught.value.problems
    assert problem.remedy
    return problem.code, problem.message


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("form", ["csv", "json"])
def test_wide_characters_need_no_mark(encoding: str, form: str, tmp_path: Path) -> None:
    frame = FRAME.set_axis(NAMES, axis=1)
    text = frame.to_csv(index=False) if form == "csv" else frame.to_json(orient="records", lines=True)
    (tmp_path / "d.txt").write_bytes(str(text).encode(encoding))
    loaded = load([tmp_path / "d.txt"])
    assert tuple(loaded.table.columns) == NAMES and set(loaded.table["颜色"]) == set(FRAME["colour"])
    assert not loaded.samples.repairs


def test_a_mark_at_the_start_of_a_file_that_was_put_below_another_is_no_text(tmp_path: Path) -> None:
    one = MARK + str(FRAME.to_csv(index=False))
    (tmp_path / "d.csv").write_text(one + one, encoding="utf-8")
    loaded = load([tmp_path / "d.csv"])
    assert len(loaded.table) == 60 and loaded.table["n"].dtype == "int64"


@pytest.mark.parametrize("sign", ["\x85", "\u2028", "\x0c", "\x1d"])
def test_only_ends_of_lines_end_lines(sign: str, tmp_path: Path) -> None:
    """Characters in cells do not, though Unicode says that they end lines."""
    frame = FRAME.assign(colour=f"a{sign}b")
    lines = [json.dumps(row, ensure_ascii=False) for row in frame.to_dict("records")]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "d.csv").write_text(f'n,size,colour\n1,2,"a{sign}b\n' + "2,3,c\n" * 40, encoding="utf-8", newline="")
    assert len(load([tmp_path / "d.csv"]).table) == 41
    if sign > "\x1f":
        assert len(load([tmp_path / "d.jsonl"]).table) == 30


@pytest.mark.parametrize("rows", [[[1, 2]], [[1, 2, 3, 4]], [[1]] * 3 + [[1, 2, 3]]])
def test_json_rows_of_other_lengths_than_their_header(rows: list[list[int]], tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps([["a", "b", "c"], *rows]), encoding="utf-8")
    assert refused(tmp_path / "d.json")[0] == "not-a-table"


def test_a_tar_archive_is_none_of_its_files(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "d.csv", "w") as archive:
        data = str(FRAME.to_csv(index=False)).encode()
        member = tarfile.TarInfo("../d.csv")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    assert refused(tmp_path / "d.csv") == ("not-a-table", "The file is binary, of no supported format.")


def test_comments_do_not_hide_what_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("% by hand\n%\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n2\n")
    assert refused(tmp_path / "d.csv") == ("not-a-table", "This is an ARFF file.")


def test_one_array_names_the_format_that_holds_labels_too(tmp_path: Path) -> None:
    (tmp_path / "d.npy").write_bytes(b"\x93NUMPY\x01\0" + bytes(120))
    what = "This is a NumPy array without labels; an .npz file can hold both."
    assert refused(tmp_path / "d.npy") == ("not-a-table", what)


def test_binary_files_that_are_mostly_nothing_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"GGUF\x03" + b"\0" * 60 + b"name" + b"\0" * 60 + b"size\n" * 3)
    assert refused(tmp_path / "d.csv")[0] == "not-a-table"


def test_a_row_of_a_number_that_no_workbook_has(tmp_path: Path) -> None:
    """All rows up to there would be made, one by one."""
    FRAME.to_excel(tmp_path / "good.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "d.xlsx", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name).replace(b'<row r="31"', b'<row r="999999999"'))
    assert refused(tmp_path / "d.xlsx")[0] == "damaged-file"


def test_a_column_that_a_database_computes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """It may take for ever, and nothing can end it."""
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a, b GENERATED ALWAYS AS (a || 'x'))")
        connection.execute("INSERT INTO t (a) VALUES (1)")
    connection.close()
    assert refused(tmp_path / "d.sqlite") == ("not-a-table", "The column 'b' is computed when it is read.")


def test_columns_beyond_all_bounds_are_counted_before_anything_is_made_of_them(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a," * 200_000 + "\n")
    assert refused(tmp_path / "d.csv")[0] == "too-large"


def test_what_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """Else rows that are learnt from would be measured on, too."""
    for name in ("a.csv", "b.csv"):
        FRAME.to_csv(tmp_path / name, index=False)
    for places in ([tmp_path / "a.csv"] * 3, [tmp_path], [tmp_path, tmp_path / "a.csv"]):
        loaded = load(places)
        assert len(loaded.table) == len(FRAME), places
        assert {repair.code for repair in loaded.samples.repairs} == {"read-once"}


@pytest.mark.parametrize("place", ["https://example.com/a.csv", "s3://bucket/a.csv", "file:///tmp/a.csv"])
def test_an_address_is_no_path(place: str) -> None:
    with pytest.raises(InputError) as caught:
        load([place])
    assert caught.value.problems[0].code == "not-a-file" and "address" in caught.value.problems[0].message


def test_dates_that_cannot_be_told_are_missing_in_text_too_and_make_no_words_of_the_others(tmp_path: Path) -> None:
    days = [f"2024-01-{number + 1:02}" if number % 4 else "9999-12-31" for number in range(30)]
    FRAME.assign(until=days).to_csv(tmp_path / "d.csv", index=False)
    loaded = load([tmp_path / "d.csv"])
    assert loaded.table["until"].isna().sum() == 8 and str(loaded.table["until"][1]) == "2024-01-02 00:00:00"
    reported = [repair for repair in loaded.samples.repairs if repair.code == "not-a-date"]
    assert [(repair.subject, repair.count) for repair in reported] == [("until", 8)]
