"""DFR, the data frame registry: *what exists*: tables, their keys, times, partitions and columns."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from palmette.documents import Model, PathText
from palmette.features.spec.values import Duration, Name, TypeName

TableKind = Literal["event", "snapshot", "scd2", "dimension"]
"""event: one row a happening, at `event_time`. snapshot: the state of a key as of `event_time`; the newest row of a key
before the cut-off counts. scd2: the state of a key after valid_from and up to valid_to. dimension: the current state,
without a time."""


class Column(Model):
    name: Name
    """As in the file."""
    type: TypeName
    """Spark SQL type, as the file is read."""
    description: str = ""
    """What it holds; words are matched against it."""
    nullable: bool = True
    """Whether null must be expected."""
    values: tuple[str | int | bool, ...] = ()
    """The closed set of values, where there is one."""
    length: int | None = Field(default=None, ge=1)
    """Number of elements, for array columns of fixed length (embeddings)."""
    unit: Literal["s", "ms", "us"] | None = None
    """For integer columns that hold an instant: since the epoch, in seconds, milliseconds or microseconds."""
    personal: bool = False
    """True for personal data: values are never shown in previews or pull requests."""


class Partition(Model):
    """A column that the files are partitioned by, so that a condition on it skips files."""

    column: Name
    """One of the table's columns."""
    of: Literal["event_time", "available_time"] | None = None
    """The time whose calendar day (UTC) the column holds; None for anything else."""


class Table(Model):
    name: Name
    """What specifications call it."""
    description: str = ""
    """What a row is; words are matched against it."""
    kind: TableKind
    """How its rows stand to time."""
    path: PathText | None = None
    """File or folder, relative to the registry file or absolute; either `path` or `table`."""
    table: str | None = None
    """Catalogue name, e.g. `lake.offers.redemptions`."""
    format: Literal["parquet", "csv", "json", "orc", "delta"] = "parquet"
    """CSV files have a header line with the registered columns in their order, double the quotes inside quotes, break
    no line inside a value, and have nothing where a value is null; json means one object a line."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """What identifies a row (for snapshot and scd2: what identifies the thing that has a state)."""
    keys_enforced: bool = True
    """False when repeated keys must be expected."""
    event_time: Name | None = None
    """When it happened; needed for event and snapshot tables."""
    available_time: Name | None = None
    """When the row could be read; a row that is not yet available does not count."""
    valid_from: Name | None = None
    """For scd2: from when on the state holds."""
    valid_to: Name | None = None
    """For scd2: null means still valid."""
    partitions: tuple[Partition, ...] = ()
    """Columns of the folder layout."""
    retention: Duration | None = None
    """How far back rows are kept."""
    columns: tuple[Column, ...] = Field(min_length=1)
    """All columns that specifications may use."""
    sample: PathText | None = None
    """A small file of the same format, columns and layout to run on; `path` when left out."""

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


class Registry(Model):
    """A data frame registry (DFR)."""

    dfr: Literal[1]
    """Version of this format."""
    tables: tuple[Table, ...] = Field(min_length=1)
    """All tables."""

    def table(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)
