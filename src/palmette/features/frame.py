"""Small tables in plain Python, used for fixtures, the oracle and results read back from Spark.

Values are None, bool, int, float, `Decimal`, str, bytes, `date`, `datetime` (aware, in UTC; naive for timestamp_ntz),
list (arrays) and dict (maps). Not suitable for large data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from palmette.features.spec.values import SparkType

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Frame:
    """Rows with a schema; every row has every column."""

    schema: Mapping[str, SparkType]
    rows: tuple[Row, ...] = ()

    @classmethod
    def of(cls, schema: Mapping[str, SparkType], rows: Iterable[Row]) -> Frame:
        """A frame with exactly the columns of `schema`; missing values become None."""
        return cls(dict(schema), tuple({name: row.get(name) for name in schema} for row in rows))

    def with_rows(self, rows: Sequence[Row]) -> Frame:
        return Frame.of(self.schema, rows)

    def to_arrow(self) -> pa.Table:
        """Converts to an Arrow table with the types that Spark expects, and timestamps in UTC."""
        import pyarrow as pa

        schema = pa.schema([(name, arrow_type(kind)) for name, kind in self.schema.items()])
        return pa.Table.from_pylist([dict(row) for row in self.rows], schema=schema)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Frame:
        """The inverse of `to_arrow`; ArrowInvalid if the data of a file is inconsistent."""
        table.validate(full=True)
        schema = {field.name: spark_type(field.type) for field in table.schema}
        columns = [_plain(table.column(i), field.type) for i, field in enumerate(table.schema)]
        return cls(schema, tuple(dict(zip(schema, values, strict=True)) for values in zip(*columns, strict=True)))


def distinct_by(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """The first row for each combination of values."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(repr([row[column] for column in columns]), row)
    return list(seen.values())


def _plain(column: Any, kind: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        times = column.cast(pa.timestamp("us", kind.tz)).to_pylist()
        return [time.astimezone(UTC) if time is not None and kind.tz else time for time in times]
    values = column.to_pylist()
    return [dict(value) if value is not None else None for value in values] if pa.types.is_map(kind) else values


_ARROW = {
    "boolean": "bool_",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "string": "string",
    "binary": "binary",
    "date": "date32",
    "null": "null",
}


def arrow_type(kind: SparkType) -> pa.DataType:
    """The Arrow type of a Spark type."""
    import pyarrow as pa

    match kind.name:
        case "timestamp":
            return pa.timestamp("us", "UTC")
        case "timestamp_ntz":
            return pa.timestamp("us")
        case "decimal":
            return pa.decimal128(kind.precision, kind.scale)
        case "array":
            assert kind.element is not None
            return pa.list_(arrow_type(kind.element))
        case "map":
            assert kind.element is not None
            return pa.map_(pa.string(), arrow_type(kind.element))
        case name:
            return getattr(pa, _ARROW[name])()


def spark_type(kind: pa.DataType) -> SparkType:
    """The Spark type of an Arrow type; ValueError if there is no corresponding one."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return SparkType("timestamp" if kind.tz else "timestamp_ntz")
    if pa.types.is_decimal(kind):
        return SparkType("decimal", kind.precision, kind.scale)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return SparkType("array", element=spark_type(kind.value_type))
    if pa.types.is_map(kind):
        return SparkType("map", element=spark_type(kind.item_type))
    if pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return SparkType("string")
    if pa.types.is_large_binary(kind):
        return SparkType("binary")
    for name, arrow in _ARROW.items():
        if kind == getattr(pa, arrow)():
            return SparkType(name)
    raise ValueError(f"column type {kind} has no counterpart among the registry's types")
