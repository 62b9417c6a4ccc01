"""The sample data of a registry's tables: where it lies, and as frames for the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palmette.errors import MachineError
from palmette.features.frame import Frame, arrow_type
from palmette.features.spec.dfr import Table

if TYPE_CHECKING:
    import pyarrow as pa


class Sample(NamedTuple):
    """A table's sample on this machine."""

    table: Table
    path: Path


def sample_of(table: Table, base: Path) -> Sample | None:
    """Where the table's sample lies (`sample`, else `path`), or None when there is none on this machine."""
    for text in (table.sample, table.path):
        if text and "://" not in text and (base / text).exists():
            return Sample(table, (base / text).resolve())
    return None


def read_sample(sample: Sample) -> Frame:
    """The sample as a frame with the registered types.

    Raises:
        MachineError: the files cannot be read with the registered columns and types.
    """
    import pyarrow as pa

    try:
        return Frame.from_arrow(_arrow(sample))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError) as error:
        raise MachineError(
            f"The sample of table {sample.table.name!r} at {str(sample.path)!r} cannot be read: {error}.",
            "Compare it with the columns and types in the registry.",
            code="unreadable-sample",
        ) from error


def _arrow(sample: Sample) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.dataset as ds
    import pyarrow.json as json

    schema = pa.schema([(column.name, arrow_type(column.type.parsed)) for column in sample.table.columns])
    files = (
        [sample.path]
        if sample.path.is_file()
        else sorted(file for file in sample.path.rglob("*") if file.is_file() and not file.name.startswith(("_", ".")))
    )
    match sample.table.format:
        case "csv":
            options = csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True)
            table = pa.concat_tables(csv.read_csv(file, convert_options=options) for file in files)
        case "json":
            parse = json.ParseOptions(explicit_schema=schema)
            table = pa.concat_tables(json.read_json(file, parse_options=parse) for file in files)
        case format_:
            partitioning = ds.partitioning(flavor="hive") if sample.path.is_dir() else None
            table = ds.dataset(sample.path, format=format_, partitioning=partitioning).to_table()
    return table.select(schema.names).cast(schema)
