"""Data as a user has it: read from any sane file, repaired aloud, cut into training rows and a hold-out.

The artefacts are here; what works on tables is imported where it is used: `data.load.load`, `data.cut.cut`.
"""

from palmette.automl.data.artefacts import (
    USELESS,
    Aim,
    Column,
    DataFile,
    Dataset,
    Dialect,
    HoldOut,
    Kind,
    Places,
    Reading,
    Repair,
    TableError,
    Threshold,
)

__all__ = [
    "USELESS",
    "Aim",
    "Column",
    "DataFile",
    "Dataset",
    "Dialect",
    "HoldOut",
    "Kind",
    "Places",
    "Reading",
    "Repair",
    "TableError",
    "Threshold",
]
