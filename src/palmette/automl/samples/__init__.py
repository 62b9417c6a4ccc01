"""Samples as a user has them: read from any sane file, repairs reported, split into training rows and a hold-out.

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
from palmette.automl.splitting.artefacts import HoldOut, SplitRequest
from palmette.automl.splitting.data_splits import DataSplits

__all__ = [
    "ArrayUse", "DataFile", "DataSource", "DataSplits", "Dialect", "HoldOut", "Reading", "Repair", "SampleColumn",
    "Samples", "SplitRequest", "TableError", "TableFormat",
]  # fmt: skip
