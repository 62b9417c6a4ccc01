"""Finds the sample data of a registry's tables, and reads it as frames for the oracle."""

from pathlib import Path
from typing import NamedTuple

from palmette.errors import MachineError
from palmette.features.frame import Frame, arrow_type
from palmette.features.samples.text_rows import UnreadableError, text_files, text_rows
from palmette.features.spec.dfr import Table


class Sample(NamedTuple):
    table: Table
    path: Path

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.stat().st_size for file in text_files(self.path))


def sample_of(table: Table, base: Path) -> Sample | None:
    """Finds the table's sample (`sample`, else `path`); None if there is none on this machine."""
    for text in (table.sample, table.path):
        if text and "://" not in text and (base / text).exists():
            return Sample(table, (base / text).resolve())
    return None


def read_sample(sample: Sample) -> Frame:
    """Reads the sample as a frame with the registered types.

    Raises:
        MachineError: the files cannot be read with the registered columns and types.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    table = sample.table
    try:
        if table.format in ("csv", "json"):
            rows = [row for file in text_files(sample.path) for row in text_rows(table, file)]
            return Frame.of(table.column_types, rows)
        schema = pa.schema([(name, arrow_type(kind)) for name, kind in table.column_types.items()])
        partitioning = ds.partitioning(flavor="hive") if sample.path.is_dir() else None
        data = ds.dataset(sample.path, format=table.format, partitioning=partitioning).to_table()
        return Frame.from_arrow(data.select(schema.names).cast(schema))
    except (UnreadableError, pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError) as error:
        message = f"The sample of table {table.name!r} at {str(sample.path)!r} cannot be read: {error}."
        remedy = getattr(error, "remedy", "Compare it with the columns and types in the registry.")
        raise MachineError(message, remedy, code="unreadable-sample") from error
