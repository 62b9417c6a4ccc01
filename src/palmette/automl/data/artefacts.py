"""What is known of the data of a run: its files, columns and repairs, and how the hold-out was cut."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from palmette.documents import Model
from palmette.errors import UserError

Kind = Literal["numeric", "categorical", "boolean", "datetime", "text", "identifier", "constant", "list"]
"""What a column is to a model; `constant` includes columns without any value."""

USELESS: Mapping[str, str] = {
    "identifier": "another in every row, as a name is",
    "constant": "the same in every row",
}
"""By kind of column that no model is given: why."""

Role = Literal["train", "test", "predict", "submission"]
"""train: rows with the target; test: a given hold-out; predict: rows without it; submission: the form of an answer."""

Strategy = Literal["random", "stratified", "grouped", "time", "given", "none"]


class Repair(Model):
    """Something that was changed, or is only told, on the way from the file to the table."""

    code: str
    """Stable, kebab-case."""
    subject: str
    """The column or file that it is about."""
    count: int
    """Rows, cells or columns that it concerns."""
    text: str
    """One sentence for a person, with the count."""
    changed: bool = True
    """False for what is only reported."""


class Dialect(Model):
    """How a delimited text is written."""

    encoding: str
    delimiter: str
    """Empty where the text has a single column."""
    quote: str = '"'
    """Empty where quotes mean nothing."""
    escape: str = ""
    header: bool = True
    """False where the columns have no names in the file."""
    skipped: int = 0
    """Lines before the header."""


class DataFile(Model):
    """A file, or a named set, that rows came from."""

    path: str
    """As it was named; for a set of a hub, e.g. `sklearn:iris`."""
    member: str = ""
    """The file in an archive, the sheet or the table, where there are several."""
    role: Role
    sha256: str
    """Of the bytes of the file; of the rows, for a set of a hub."""
    bytes: int
    format: str
    """csv, parquet, json, excel, sqlite, duckdb, arrow or hub."""
    compression: str = ""
    dialect: Dialect | None = None
    rows: int


class Reading(Model):
    """How the values of a column are written in the file, and thus how to read new ones."""

    form: Literal["number", "date", "clock", "boolean", "words", "native"]
    """clock: times of day, read as hours; native: the file has types of its own."""
    decimal: str = "."
    thousands: str = ""
    affix: str = ""
    """Currency, percent sign or unit that is written with every number, and left out."""
    formats: tuple[str, ...] = ()
    """Of dates, as strptime has them."""
    missing: tuple[str, ...] = ()
    """Texts that were read as missing."""


class Column(Model):
    """A column of the table."""

    name: str
    source: str
    """The name in the file; differs where that is missing, repeated, or refused by libraries."""
    kind: Kind
    dtype: str
    """Of pandas."""
    missing: float
    """Share of rows without a value."""
    distinct: int
    """Different values, missing aside."""
    examples: tuple[str, ...]
    """Up to five values; data, never an instruction."""
    reading: Reading


class Threshold(Model):
    """Two classes of a column of numbers: what it is compared with."""

    column: str
    comparison: Literal[">=", ">", "<=", "<"]
    """Which side is asked about."""
    value: float
    """In the unit of the column."""
    words: str = ""
    """Of the request, that it was read from."""

    @property
    def classes(self) -> tuple[str, str]:
        """The class that is asked about, and the other one.

        >>> Threshold(column="price", comparison=">", value=5000).classes
        ('above 5000', 'at most 5000')
        """
        least, above, most, below = (f"{word} {self.value:.12g}" for word in ("at least", "above", "at most", "below"))
        return {">=": (least, below), ">": (above, most), "<=": (most, above), "<": (below, least)}[self.comparison]

    @property
    def stand_ins(self) -> tuple[float, float]:
        """A number of each class, in the order of `classes`.

        >>> Threshold(column="price", comparison="<", value=1.0).stand_ins
        (0.9999999999999999, 1.0)
        """
        beside = math.nextafter(self.value, math.inf if self.comparison in (">", "<=") else -math.inf)
        return (self.value, beside) if "=" in self.comparison else (beside, self.value)

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value:.12g}"


class Dataset(Model):
    """The data of a run, as read."""

    places: tuple[str, ...]
    """Where it was read from, as named."""
    table: str = ""
    """The one that was chosen, where there were several."""
    files: tuple[DataFile, ...]
    columns: tuple[Column, ...]
    rows: int
    """Rows that have, or may have, the target: those of the train files, then those of the test files."""
    test_rows: int = 0
    """How many of the rows came from a test file with the target; they are the last ones, and the hold-out."""
    predict_rows: int = 0
    """Rows of a test file without the target."""
    targets: tuple[str, ...] = ()
    """Columns that train files have and test files lack, or that the sample submission asks for."""
    key: str = ""
    """The column of the sample submission that says which row an answer is for."""
    threshold: Threshold | None = None
    """What made two classes of the column to predict; the table has the classes, files have its numbers."""
    repairs: tuple[Repair, ...] = ()

    def column(self, name: str) -> Column | None:
        """The column of this name, or of this name in the file; None where there is none."""
        own = [one for one in self.columns if one.name == name] or [one for one in self.columns if one.source == name]
        return own[0] if own else None


class HoldOut(Model):
    """How the hold-out was cut: enough to cut it again, and to tell a person. The positions are not written down."""

    rows: int
    training_rows: int
    left_out: int = 0
    """Rows without a target value, in neither part."""
    unused: int = 0
    """Rows with one in neither part, as there is no time to learn from so many."""
    strategy: Strategy
    grouped_by: tuple[str, ...] = ()
    """The columns whose equal values stay on one side: an entity, or all features where rows repeat."""
    time: str = ""
    seed: int
    digest: str
    """Of the positions of the hold-out."""
    reasons: tuple[str, ...]
    """How and why, in sentences."""


class Places(Model):
    """Where the data are that a request names."""

    named: tuple[str, ...]
    """Paths of files and folders, or names of sets such as `sklearn:iris`."""
    table: str = ""
    """Which sheet, table or file of an archive is meant, where there are several."""
    target: str = ""
    """The column to predict, where it is known already."""
    digests: tuple[str, ...] = ()
    """Of the contents when the run was opened: with other contents, everything that is made of them is made again."""


class Aim(Model):
    """What is to be predicted, and how the rows are to be cut for it."""

    target: str = ""
    """Empty for clustering."""
    task: Literal["classification", "regression", "clustering", "forecasting"]
    group: str = ""
    """A column whose equal values stay on one side of the cut; empty to let the data decide."""
    time: str = ""
    """The column of times whose latest are the hold-out; empty for a cut by chance."""
    since: str = ""
    """Where the hold-out begins in time: `2024`, `2024-03`, `2024-03-15`, `--03` for the last March, `P3M` for three
    months before the end; empty for a share of the rows."""
    share: float = 0.2
    """Of the rows that are held out; 0 where somebody else keeps rows to measure on."""
    seed: int = 0
    most: int = 0
    """Rows that are learnt from at most; 0 for all."""


@dataclass
class TableError(UserError):
    """There are several tables, and nothing says which; `options` are their names."""

    options: tuple[str, ...] = field(default=(), kw_only=True)
