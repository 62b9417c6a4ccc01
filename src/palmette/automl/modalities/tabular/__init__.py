"""Writing the delivered project for tables: classification and regression.

`write_project` turns a `Blueprint` into plain Python that reads, trains, predicts and serves, and knows nothing of
palmette. What it leaves behind is read back, and chosen from, by `palmette.automl.selection`.
"""

from palmette.automl.modalities.tabular.algorithms import ALGORITHMS, Algorithm, Track, installed
from palmette.automl.modalities.tabular.blueprint import Blueprint, ColumnPlan, Dropped, Folds, Source
from palmette.automl.modalities.tabular.tracks import TRACKS, available
from palmette.automl.modalities.tabular.writer import preparation_files, shared_files, track_files, write_project

__all__ = [
    "ALGORITHMS",
    "TRACKS",
    "Algorithm",
    "Blueprint",
    "ColumnPlan",
    "Dropped",
    "Folds",
    "Source",
    "Track",
    "available",
    "installed",
    "preparation_files",
    "shared_files",
    "track_files",
    "write_project",
]
