"""Samples as a user has them: read from any sane file, with every repair reported.

The artefacts are here. Functions that need pandas are imported from their modules, e.g. `samples.load.load`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pydantic import ConfigDict

from palmette.automl.task_spec.request import ColumnSummary, DataSummary
from palmette.automl.task_spec.spec import Threshold
from palmette.documents import Model, read_plain
from palmette.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

Role = Literal["train", "test", "inference", "submission", "edges", "related"]
"""train: rows with the target; test: a given hold-out; inference: rows without it; submission: a sample answer; edges:
pairs of keys of rows; related: rows whose aggregates are columns."""


class Repair(Model):
    """Something that was changed, or is only reported, on the way from the file to the table."""

    code: str
    """Stable, kebab-case."""
    subject: str
    """The column or file that it is about."""
    count: int
    """Rows, cells or columns that it concerns."""
    text: str
    """One sentence with the count."""
    changed: bool = True
    """False for what is only reported."""


class _Count(int):
    """A number that chooses the form of a word: `{count:is|are}`."""

    def __format__(self, forms: str) -> str:
        one, _, several = forms.partition("|")
        return (one if self == 1 else several) if forms else str(int(self))


class Repairs(list[Repair]):
    """The repairs of a run in order; their sentences are in `repairs.yaml`, by `changed` or `reported`, and by code."""

    def add(self, code: str, subject: str, count: float, **fields: object) -> None:
        """Adds a repair, unless `count` is zero; `fields` are those of its sentence."""
        if count:
            sentences = read_plain(Path(__file__).with_name("repairs.yaml"))
            changed = sentences["changed"].get(code, "")
            text = (changed or sentences["reported"][code]).format(count=_Count(count), subject=subject, **fields)
            self.append(Repair(code=code, subject=subject, count=int(count), text=text, changed=bool(changed)))


class TotalRows(Model):
    """Rows of a file that hold totals, and are left out."""

    column: str
    """The name, as pandas reads it, of the column with the labels."""
    labels: tuple[str, ...]


class Dialect(Model):
    """How a delimited text, or a sheet, is written."""

    encoding: str = "utf-8"
    delimiter: str = ","
    """Empty where the text has a single column."""
    quote: str = '"'
    """Empty where quotes have no meaning."""
    escape: str = ""
    header: bool = True
    """False where the columns have no names in the file."""
    skipped: int = 0
    """Lines before the header, as `skiprows` of `pandas.read_csv` counts them."""
    sheet: str = ""
    """The sheet of a workbook that has several."""
    totals: TotalRows | None = None


class TableFormat(Model):
    """How a file like the user's is read with pandas, and joined with related ones."""

    format: Literal["csv", "parquet", "json", "excel"] = "csv"
    dialect: Dialect = Dialect()
    """How a delimited text, or a sheet, is written."""
    joins: tuple[TableJoin, ...] = ()


class TableJoin(TableFormat):
    """How columns are added from a related file."""

    table: str
    """Its name in the SQL."""
    file: str
    sql: str
    """Selects the rows of `main` with further columns."""


class DataFile(Model):
    """A file, or a named set, that rows came from."""

    path: str
    """The path as the user named it."""
    member: str = ""
    """The file in an archive, the sheet or the table, where there are several."""
    role: Role
    sha256: str
    """Digest of the bytes of the file."""
    format: str
    """csv, parquet, json, excel, sqlite, duckdb, arrow, graphml, gexf, gml, or files for a folder of one kind."""
    dialect: Dialect | None = None
    rows: int


class Reading(Model):
    """How the values of a column are written in the file, and so how to read new ones."""

    form: Literal["number", "date", "unix", "clock", "boolean", "words", "native"]
    """unix: times counted from 1970; clock: times of day, read as hours since midnight; native: the file has types of
    its own."""
    decimal: str = "."
    thousands: str = ""
    affix: str = ""
    """A currency, percent sign or unit written with every number; it is left out."""
    affix_after: bool = False
    """Whether it follows the number."""
    formats: tuple[str, ...] = ()
    """Formats of dates, for strptime; `%q` is the quarter."""
    per_second: int = 1
    """Counts of Unix times in a second: 1,000 are milliseconds."""
    missing: tuple[str, ...] = ()
    """Texts that were read as missing."""

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return (self.decimal, self.thousands, self.affix) == (".", "", "")


class ArrayUse(Model):
    """Columns of a file whose numbers make the files of a column."""

    asked: str
    """The text of the request: `image=pixel_*`."""
    columns: tuple[str, ...]
    """One column of lists, or one for each number."""
    top: float
    """The end of their scale, whose start is 0."""


class SampleColumn(ColumnSummary):
    """A column of the table; its source is its name in the frame that `pandas.read_csv` makes of the file."""

    model_config = ConfigDict(extra="forbid")

    dtype: str
    missing: float
    """Share of rows without a value."""
    distinct: int
    reading: Reading
    array: ArrayUse | None = None
    """The columns of numbers that its files were made of."""


class Samples(DataSummary):
    """The data of a run, as read. Targets are those that train files have and test files lack, or that the sample
    submission asks for."""

    model_config = ConfigDict(extra="forbid")

    sources: tuple[str, ...]
    """Paths and names that they were read from."""
    table: str = ""
    """The one that was chosen, where there were several."""
    arrays: tuple[str, ...] = ()
    """Columns of numbers that were made files, as the request asks for it."""
    files: tuple[DataFile, ...]
    columns: tuple[SampleColumn, ...]
    rows: int
    """Rows that have, or may have, the target: those of the train files, then those of the test files."""
    test_rows: int = 0
    """How many of the rows came from a test file with the target; they are the last ones, and the hold-out."""
    inference_rows: int = 0
    """Rows of a test file without the target."""
    key: str = ""
    """The column of the sample submission that identifies the row of an answer."""
    contents: str = ""
    """Digest of the files that cells are paths of; empty where there are none."""
    split_column: str = ""
    """A column whose values name the part of each row, e.g. train and test; no model is given it."""
    threshold: Threshold | None = None
    """Made two classes of the target. The table has the classes, the files have its numbers."""
    time: str = ""
    """The column that the request names as time; its numbers are Unix times if they can be."""
    repairs: tuple[Repair, ...] = ()
    joins: tuple[TableJoin, ...] = ()
    """The columns from related tables, in the order in which they are added."""

    def column(self, name: str) -> SampleColumn | None:
        """The column of this name; None where there is none."""
        return cast("SampleColumn | None", super().column(name))

    @property
    def format(self) -> TableFormat:
        """How the first file is read with pandas; CSV for what pandas has no plain reader of."""
        file = self.files[0]
        form = file.format if file.format in ("parquet", "json", "excel") else "csv"
        return TableFormat.model_validate({"format": form, "dialect": file.dialect or Dialect(), "joins": self.joins})


@dataclass(frozen=True)
class Loaded:
    """Samples in memory. The frames are shared: copy one before changing it."""

    samples: Samples
    table: pd.DataFrame  # rows of the train files, then those of test files that have the target
    inference: pd.DataFrame | None = None  # rows of test files without the target, in the order of the file
    submission: pd.DataFrame | None = None  # the sample submission, as text; its columns are named as in its file
    submission_order: npt.NDArray[np.intp] | None = None
    """(n,): the row of `inference` that each line of the sample is about."""


class DataSource(Model):
    """The data that a request names."""

    named: tuple[str, ...]
    """Paths of files and folders, or names of sets such as `sklearn:iris`."""
    table: str = ""
    """Which sheet, table or file of an archive is meant, where there are several."""
    arrays: tuple[str, ...] = ()
    """Columns of numbers that are files, as `image=pixel_*`."""
    digests: tuple[str, ...] = ()
    """Digests of the contents when the run was opened; when they change, the run reads the data again."""


@dataclass
class TableError(UserError):
    """There are several tables, and the request does not choose one; `options` are their names."""

    options: tuple[str, ...] = field(default=(), kw_only=True)
