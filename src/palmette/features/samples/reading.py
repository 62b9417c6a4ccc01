"""Finds the sample data of a registry's tables, and reads it as frames for the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palmette.errors import MachineError
from palmette.features.frame import Frame, arrow_type
from palmette.features.samples.text_rows import UnreadableError, text_files, text_rows
from palmette.features.spec.dfr import Table

if TYPE_CHECKING:
    import pyarrow as pa


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

    table = sample.table
    try:
        if table.format in ("csv", "json"):
            rows = [row for file in text_files(sample.path) for row in text_rows(table, file)]
            return Frame.of(table.column_types, rows)
        return Frame.from_arrow(_arrow(sample))
    except UnreadableError as error:
        raise _unreadable(sample, error, error.remedy) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError) as error:
        raise _unreadable(sample, error, "Compare it with the columns and types in the registry.") from error


def _unreadable(sample: Sample, error: Exception, remedy: str) -> MachineError:
    return MachineError(
        f"The sample of table {sample.table.name!r} at {str(sample.path)!r} cannot be read: {error}.",
        remedy,
        code="unreadable-sample",
    )


def _arrow(sample: Sample) -> pa.Table:
    import pyarrow as pa
    import pyarrow.dataset as ds

    schema = pa.schema([(column.name, arrow_type(column.type.parsed)) for column in sample.table.columns])
    partitioning = ds.partitioning(flavor="hive") if sample.path.is_dir() else None
    table = ds.dataset(sample.path, format=sample.table.format, partitioning=partitioning).to_table()
    return table.select(schema.names).cast(schema)
