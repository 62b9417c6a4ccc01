"""Samples as a user has them: read from any sane file, with every repair reported.

The artefacts are here. Functions that need pandas are imported from their modules, e.g. `samples.load.load`.
"""

from palmette.automl.samples.artefacts import (
    ArrayUse,
    DataFile,
    DataSource,
    Dialect,
    Reading,
    Repair,
    SampleColumn,
    Samples,
    TableError,
    TableFormat,
)  # fmt: skip

__all__ = [
    "ArrayUse", "DataFile", "DataSource", "Dialect", "Reading", "Repair", "SampleColumn",
    "Samples", "TableError", "TableFormat",
]  # fmt: skip
