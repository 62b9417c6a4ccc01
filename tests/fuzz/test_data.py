"""Data files: whatever is in them is a table or one clear error, in bounded time and memory."""

import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - with pandas
from holds import HOSTILE, damaged, fuzzed, outcome  # noqa: E402 - with pandas only
from hypothesis import given  # noqa: E402 - as above
from hypothesis import strategies as st  # noqa: E402 - as above

from palmette.automl.opening import ALWAYS, MOST_COLUMNS, MOST_FILES  # noqa: E402 - as above
from palmette.automl.samples import Loaded  # noqa: E402 - as above
from palmette.automl.samples.load import load  # noqa: E402 - as above
from palmette.errors import InputError, UserError  # noqa: E402 - as above

FRAME = pd.DataFrame({"n": range(30), "size": [0.5] * 30, "colour": ["red", "blue"] * 15})
CSV = FRAME.to_csv(index=False).encode()
RECORDS = FRAME.to_dict("records")


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def database(statement: str = "") -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection, connection:
        connection.executescript(statement) if statement else FRAME.to_sql("t", connection, index=False)
        return connection.serialize()


FILES = {
    "data.csv": CSV,
    "data.csv.gz": gzip.compress(CSV),
    "data.csv.bz2": bz2.compress(CSV),
    "data.csv.xz": lzma.compress(CSV),
    "data.json": json.dumps(RECORDS).encode(),
    "data.jsonl": "\n".join(map(json.dumps, RECORDS)).encode(),
    "data.xlsx": written(lambda stream: FRAME.to_excel(stream, index=False)),
    "data.parquet": written(FRAME.to_parquet),
    "data.feather": written(FRAME.to_feather),
    "data.sqlite": database(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("a b\n😀 -x")


def table_of(folder: Path, name: str, data: bytes) -> object:
    path = folder / name
    path.write_bytes(data)
    found = outcome(lambda: load([path]))
    if isinstance(found, Loaded):
        # What was read can be written again, names included.
        found.table.to_csv(index=False).encode()
        found.samples.model_dump_json()
    return found


@pytest.mark.parametrize("name", FILES)
@fuzzed(12)
@given(data=st.data())
def test_any_damage(name: str, folder: Path, data: st.DataObject) -> None:
    table_of(folder, name, data.draw(damaged(FILES[name])))


@fuzzed(40)
@given(data=st.binary(max_size=300) | st.text(",;\"'\n\ta1.é\\#", max_size=300).map(str.encode))
def test_any_bytes(data: bytes, folder: Path) -> None:
    table_of(folder, "data", data)


def zipped(members: dict[str, bytes]) -> bytes:
    def write(stream: io.BytesIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)

    return written(write)


def workbook(**changes: Callable[[bytes], bytes]) -> bytes:
    """The good workbook with its first sheet changed."""
    with zipfile.ZipFile(io.BytesIO(FILES["data.xlsx"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    return zipped({**members, sheet: changes["sheet"](members[sheet])})


LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
ZEROS = b"0" * (ALWAYS + 1)
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(ZEROS, 1),
    "xz": lambda: lzma.compress(ZEROS, preset=0),
    "zip": lambda: zipped({"a.csv": ZEROS}),
    "a workbook that unpacks to much": lambda: workbook(sheet=lambda _: ZEROS),
    "entities in a workbook": lambda: workbook(
        sheet=lambda _: f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "{"a" * 99}">{LAUGHS}]><x>&i;</x>'.encode()
    ),
    "a file outside of a workbook": lambda: workbook(
        sheet=lambda _: b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    ),
    "objects that share no key": lambda: json.dumps([{f"k{n}": 1} for n in range(MOST_COLUMNS + 1)]).encode(),
    "columns without end": lambda: b"a," * (MOST_COLUMNS + 1) + b"\n" + b"1," * (MOST_COLUMNS + 1),
    "deep JSON": lambda: b"[" * 100_000,
    "a column that computes": lambda: database(
        "CREATE TABLE t (a, b GENERATED ALWAYS AS (hex(zeroblob(90000000)))); INSERT INTO t (a) VALUES (1);"
    ),
    "many cells that are computed": lambda: database(
        "CREATE TABLE t (a, b GENERATED ALWAYS AS (hex(zeroblob(4000000))));"
        + "INSERT INTO t (a) VALUES (1);" * (ALWAYS // 8_000_000 + 1)
    ),
    "an archive of many files": lambda: zipped({f"{number}.csv": CSV for number in range(MOST_FILES + 1)}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused(bomb: str, folder: Path) -> None:
    assert isinstance(table_of(folder, "bomb", BOMBS[bomb]()), InputError)


def test_what_a_workbook_says_of_its_size_is_not_believed(folder: Path) -> None:
    found = table_of(
        folder, "wide.xlsx", workbook(sheet=lambda text: text.replace(b'ref="A1:C31"', b'ref="A1:XFD1048576"'))
    )
    assert isinstance(found, Loaded) and found.table.shape == FRAME.shape


def test_halves_of_characters_in_json_are_replaced(folder: Path) -> None:
    found = table_of(folder, "half.json", rb'[{"a\ud800": "b\udfff", "c": 1}, {"a\ud800": "x", "c": 2}]')
    assert isinstance(found, Loaded) and list(found.table["a?"]) == ["b?", "x"]


@pytest.mark.parametrize("unit", ["us", "s"])
def test_dates_beyond_what_can_be_told_are_missing(unit: str, folder: Path) -> None:
    """As `9999-12-31` is where a database has no end."""
    days = np.array(["9999-12-31", "2025-03-01", "0001-01-01", "NaT"], f"datetime64[{unit}]")
    frame = pd.DataFrame({"until": days, "n": range(4)})
    found = table_of(folder, "dates.parquet", written(frame.to_parquet))
    assert isinstance(found, Loaded) and found.table["until"].isna().tolist() == [True, False, True, True]
    told = found.samples.repairs[0]
    assert (told.code, told.subject, told.count) == ("not-a-date", "until", 2)


@pytest.mark.parametrize("places", [[], [""], [" "], ["a.csv", ""]])
def test_an_empty_place_is_not_the_current_folder(places: list[str]) -> None:
    found = outcome(lambda: load(places))
    assert isinstance(found, UserError) and found.code == "no-data"


NAMES = ("a b.csv", "-rf.csv", "a\nb.csv", "😀.csv", "\x1b]0;x\x07.csv", "<script>.csv", "=1.csv", "$(id).csv")


@pytest.mark.parametrize("name", NAMES)
def test_files_of_any_name(name: str, folder: Path) -> None:
    assert isinstance(table_of(folder, name, CSV), Loaded)


def test_files_whose_names_are_no_text_are_refused(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    assert isinstance(table_of(tmp_path, name, CSV), InputError)
    assert isinstance(outcome(lambda: load([tmp_path])), InputError)


def test_paths_that_lead_nowhere(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    names = [text for text in HOSTILE if text.strip(" \t") and text[0] not in "./"]
    for text in ("/dev/zero", "/dev/stdin", "loop", "pipe", "loop/x", *names):
        assert not isinstance(outcome(lambda text=text: load([folder / text])), Loaded), text


def test_links_out_of_a_folder_are_left_aside(tmp_path: Path) -> None:
    inside = tmp_path / "data"
    inside.mkdir()
    (tmp_path / "private.csv").write_bytes(CSV)
    (inside / "train.csv").symlink_to(tmp_path / "private.csv")
    found = outcome(lambda: load([inside]))
    assert isinstance(found, InputError) and found.problems[0].code == "leads-out"
    (inside / "a.csv").write_bytes(CSV)
    (inside / "b.csv").symlink_to("a.csv")
    (inside / "b.csv").unlink()
    both = load([inside])
    assert len(both.table) == len(FRAME)
    assert [repair.code for repair in both.samples.repairs if repair.subject == "train.csv"] == ["left-aside"]
    assert len(load([inside / "train.csv"]).table) == len(FRAME)
