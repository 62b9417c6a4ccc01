"""Kinds of dirty data, described in `dirty_kinds.yaml` and made on demand."""

from __future__ import annotations

import csv
import gzip
import io
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import yaml

from palmette.documents import Model
from palmette.sandbox.temporary import temporary_folder

Row = dict[str, Any]
Value = str | int | float | bool
Template = Value | tuple[Value, ...] | Mapping[str, Value | tuple[Value, ...]]
TEST_ROWS = 40


class DirtyKind(Model):
    """What differs from the clean table, the request, and how the run should end."""

    target: str = "sold"
    """`sold` or `price`."""
    rows: int = 120
    cells: Mapping[str, Template] = {}
    """By column, which may be a new one."""
    columns: tuple[str, ...] = ()
    """All of the table, where they are not the clean ones."""
    noise: int = 0
    """Further columns of random numbers."""
    rename: Mapping[str, str] = {}
    delimiter: str = ","
    decimal: str = "."
    line_end: str = "\n"
    encoding: str = "utf-8"
    replace: tuple[str, str] = ("", "")
    """In the text of the file, once."""
    above: str = ""
    below: str = ""
    text: str | None = None
    """Of the whole file."""
    file: str = "houses.csv"
    """Its suffix decides on the format."""
    members: Mapping[str, int] = {}
    """Of an archive: file names and their rows."""
    test: DirtyKind | None = None
    """A second file, `test.csv`, with rows of its own."""
    form: Mapping[str, float] = {}
    """Answer columns and values of a sample submission; inference rows without the target come with it."""
    beside: Mapping[str, str] = {}
    """Further files."""
    given: str = ""
    """The path that the command names; every file where it is left out."""
    request: str | None = None
    ends: str = "model"
    """`model`, or the code of the error."""

    @property
    def sentence(self) -> str:
        """The request."""
        usual = {"sold": "Predict whether a house is sold", "price": "Predict the price"}
        return usual[self.target] if self.request is None else self.request

    def files(self) -> dict[str, bytes]:
        """By path, the content."""
        found = {path: text.encode() for path, text in self.beside.items()}
        if self.members:
            return found | {self.file: _archive({name: self._csv(rows) for name, rows in self.members.items()})}
        found[self.file] = self._csv(self.rows) if Path(self.file).suffix == ".csv" else self._converted()
        if self.test:
            found["test.csv"] = self.test._csv(TEST_ROWS, self.rows)
        if self.form:
            folder = Path(self.file).parent
            asked = [_row(n) for n in range(self.rows, self.rows + TEST_ROWS)]
            form = [[n, *self.form.values()] for n in range(self.rows, self.rows + TEST_ROWS)]
            found[str(folder / "sample_submission.csv")] = _text([["n", *self.form], *form]).encode()
            names = ["n", "size", "rooms", "side"]
            found[str(folder / "test.csv")] = _text([names, *([row[one] for one in names] for row in asked)]).encode()
            found[self.file] = self.model_copy(update={"columns": (*names, self.target)})._csv(self.rows)
        return found

    def _csv(self, rows: int, start: int = 0) -> bytes:
        text = self._table(rows, start) if self.text is None else self.text
        text = self.above + text.replace(*self.replace, 1) + self.below
        return text.replace("\n", self.line_end).encode(self.encoding)

    def _table(self, rows: int, start: int) -> str:
        added = [name for name in self.cells if name not in ("size", "rooms", "side", self.target)]
        noise = [f"c{number}" for number in range(self.noise)]
        names = self.columns or (*added, *noise, "size", "rooms", "side", self.target)
        table: list[Sequence[object]] = [[self.rename.get(name, name) for name in names]]
        for n in range(start, start + rows):
            row = _row(n)
            made = row | {name: _chance(n * 31 + int(name[1:]) * 7, 1000) for name in noise}
            made |= {name: _cell(template, row) for name, template in self.cells.items()}
            table.append([str(made[name]).replace(".", self.decimal) for name in names])
        return _text(table, self.delimiter)

    def _converted(self) -> bytes:
        """The table in the format of the file's suffix."""
        text = self._csv(self.rows)
        if self.file.endswith(".gz"):
            return gzip.compress(text)
        frame = pd.read_csv(io.BytesIO(text))
        with temporary_folder() as folder:
            path = folder / Path(self.file).name
            {
                ".parquet": lambda: frame.to_parquet(path),
                ".xlsx": lambda: frame.to_excel(path, index=False),
                ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
                ".db": lambda: _to_sqlite(frame, path),
                ".duckdb": lambda: _to_duckdb(frame, path),
            }[path.suffix]()
            return path.read_bytes()


def _chance(n: int, most: int = 17) -> int:
    """A number that looks random, the same every time."""
    return (n * 7919 + n * n * 104729) % 65537 % most


def _row(n: int) -> Row:
    """The clean row of a number, and what templates may use beside it."""
    size, rooms = 40 + _chance(n, 90), 1 + _chance(n + 5, 6)
    return {
        "size": size,
        "rooms": rooms,
        "side": ("north", "south", "east")[_chance(n, 3)],
        "sold": "yes" if size + _chance(n + 3, 30) > 95 else "no",
        "price": round(1000.0 * size + 500 * rooms + _chance(n, 999), 2),
        "n": n,
        "scattered": n * 31 % 99_991,
        "sixty": _chance(n, 60),
        "day": 1 + n % 28,
        "month": 1 + n % 12,
        "year": 1980 + n % 40,
    }


def _cell(template: Template, row: Row) -> str:
    if isinstance(template, tuple):
        return _cell(template[row["n"] % len(template)], row)
    if isinstance(template, Mapping):
        return _cell(template[row["sold"] if row["sold"] in template else row["side"]], row)
    return str(template).format(**row)


def _text(rows: Sequence[Sequence[object]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", delimiter=delimiter).writerows(rows)
    return out.getvalue()


def _archive(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _to_sqlite(frame: Any, path: Path) -> None:
    connection = sqlite3.connect(path)
    frame.to_sql("houses", connection, index=False)
    connection.close()


def _to_duckdb(frame: Any, path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE houses AS SELECT * FROM frame")


def kinds() -> dict[str, DirtyKind]:
    """All kinds, by name."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return {name: DirtyKind.model_validate(given) for name, given in yaml.safe_load(text).items()}
