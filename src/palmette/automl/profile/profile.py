"""The profile of a table: from the training rows only, but for counts of rows and bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Aim, Kind
from palmette.automl.data.cut import Split
from palmette.automl.data.kinds import kind_of
from palmette.automl.profile.artefacts import ColumnProfile, Profile
from palmette.automl.profile.figures import column_figures, figure, target_figures
from palmette.automl.profile.leaks import find_leaks
from palmette.automl.profile.leaks.ground import Ground
from palmette.automl.profile.meta import meta_features
from palmette.automl.profile.suggestions import suggest


def profile(table: pd.DataFrame, aim: Aim, split: Split, kinds: Mapping[str, Kind] | None = None) -> Profile:
    """What the table is like.

    Args:
        table: as loaded; nothing of the hold-out is looked at but whether its rows, keys or times overlap.
        aim: what is to be predicted.
        split: the cut for it.
        kinds: of the columns; told from the training rows where they are left out.
    """
    train, target, task = table.iloc[split.train], aim.target, aim.task
    known = kinds or {str(name): kind_of(train[name], str(name)).kind for name in table.columns}
    ground = Ground(table, target, task, split, known)
    columns = [column_figures(name, train[name], known[name]) for name in ground.features]
    if target:
        columns = _ranked(columns, ground)
    predicted = target_figures(target, train[target], task) if target else None
    duplicates = len(train) - len(np.unique(ground.hashes[split.train]))
    return Profile(
        aim=aim,
        rows=len(table),
        holdout=split.told,
        columns=tuple(columns),
        target=predicted,
        duplicates=duplicates,
        memory=int(table.memory_usage(deep=False).sum()),
        meta=meta_features(len(train), columns, predicted, duplicates),
        suggestions=tuple(suggest(len(train), columns, predicted, duplicates)),
        leaks=tuple(find_leaks(ground)),
    )


def _ranked(columns: list[ColumnProfile], ground: Ground) -> list[ColumnProfile]:
    """With how much each tells of the target."""
    told = {column.name: (ground.strength(column.name), ground.skill(column.name)) for column in columns}
    order = sorted(told, key=lambda name: (-told[name][0], name))
    ranks = {name: rank for rank, name in enumerate(order, 1)}
    return [
        column.model_copy(
            update={
                "strength": figure(told[column.name][0]),
                "skill": figure(told[column.name][1]),
                "rank": ranks[column.name],
            }
        )
        for column in columns
    ]
