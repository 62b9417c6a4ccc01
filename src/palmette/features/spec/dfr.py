"""DFR, the data frame registry: *what exists*: tables, their keys, times, partitions and columns."""

from typing import Any, Literal

from pydantic import Field, model_validator

from palmette.documents import Model, PathText
from palmette.features.spec.values import Duration, Name, SparkType, TypeName

TableKind = Literal["event", "snapshot", "scd2", "dimension"]
"""event: one row an event, at `event_time`. snapshot: a state of a key, recorded at `event_time`; the newest before the
cut-off applies; without `event_time`, it is a dimension. scd2: a state of a key after `valid_from` and up to
`valid_to`. dimension: the current state, without time."""


class RegisteredColumn(Model):
    name: Name
    """Name as in the file."""
    type: TypeName
    """Spark SQL type as read."""
    description: str = ""
    """What it holds."""
    nullable: bool = True
    """Whether it may hold null."""
    values: tuple[str | int | bool, ...] = ()
    """The only values that it may have."""
    length: int | None = Field(default=None, ge=1)
    """Fixed number of elements of an array, e.g. of an embedding."""
    unit: Literal["s", "ms", "us"] | None = None
    """For integers that hold a time: seconds, milliseconds or microseconds since the epoch."""
    personal: bool = False
    """Personal data; values are never shown in previews or pull requests."""


class Partition(Model):
    """A column that the files are partitioned by."""

    column: Name
    """Column name."""
    of: Literal["event_time", "available_time"] | None = None
    """The time whose UTC day the column holds. Leave it out if it holds anything else."""


class Table(Model):
    name: Name
    """Name in specifications."""
    description: str = ""
    """What a row is."""
    kind: TableKind
    """How rows relate to time."""
    path: PathText | None = None
    """File or folder, absolute or relative to the registry. Give either `path` or `table`."""
    table: str | None = None
    """Name in the catalogue, e.g. `lake.offers.redemptions`."""
    format: Literal["parquet", "csv", "json", "orc", "delta"] = "parquet"
    """CSV needs a header with the registered columns in order, doubled quotes, empty nulls and no line breaks in a
    value; JSON one object a line."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """Columns that identify a row; for snapshot and scd2, columns that identify whose state it is."""
    keys_enforced: bool = True
    """Whether keys are unique."""
    event_time: Name | None = None
    """When the event happened or the state was recorded. Required for events."""
    available_time: Name | None = None
    """When the row became available. Rows not available before the cut-off are ignored."""
    valid_from: Name | None = None
    """For scd2: start of validity."""
    valid_to: Name | None = None
    """For scd2: end of validity; null means still valid."""
    partitions: tuple[Partition, ...] = ()
    """Partition columns."""
    retention: Duration | None = None
    """How long rows are kept."""
    columns: tuple[RegisteredColumn, ...] = Field(min_length=1)
    """Columns that specifications may use."""
    sample: PathText | None = None
    """A small file of the same format and layout to run on. Default: `path`."""

    @model_validator(mode="before")
    @classmethod
    def _current_state(cls, value: Any) -> Any:
        """A snapshot without a time is only the current state."""
        timeless = isinstance(value, dict) and value.get("kind") == "snapshot" and value.get("event_time") is None
        return {**value, "kind": "dimension"} if timeless else value

    @property
    def times(self) -> tuple[str, ...]:
        """The time columns, from the event time on."""
        return tuple(filter(None, (self.event_time, self.available_time, self.valid_from, self.valid_to)))

    @property
    def column_types(self) -> dict[str, SparkType]:
        """The columns with their types."""
        return {column.name: column.type.parsed for column in self.columns}

    def column(self, name: str) -> RegisteredColumn | None:
        return next((column for column in self.columns if column.name == name), None)


class Registry(Model):
    """A data frame registry (DFR)."""

    dfr: Literal[1]
    """Format version."""
    tables: tuple[Table, ...] = Field(min_length=1)
    """The tables."""

    def table(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)
