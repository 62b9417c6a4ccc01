"""The fold of each training row: given to the project, and known to whoever reads its predictions back."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.modalities.tabular.blueprint import Blueprint

Numbers = NDArray[np.int64]


def folds_of(rows: pd.DataFrame, blueprint: Blueprint, groups: Numbers | None = None) -> Numbers:
    """(n,): the fold in which each row is predicted.

    Args:
        groups: (n,) a number that is equal for rows that must stay together; None where each stands alone. Rows that
            are all of one group cannot stay together.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    count, seed = blueprint.folds.count, blueprint.seed
    target = rows[blueprint.target].astype(str) if blueprint.task == "classification" else None
    if blueprint.folds.kind == "time":
        order = rows[blueprint.folds.by].rank(method="first", na_option="top").to_numpy() - 1
        return np.asarray(order * count // len(rows), dtype=np.int64)
    if groups is not None and 1 < len(np.unique(groups)) < len(groups):
        count = min(count, len(np.unique(groups)))
        grouped = StratifiedGroupKFold if target is not None else GroupKFold
        parts = grouped(count, shuffle=True, random_state=seed).split(rows, target, groups)
    elif target is not None:
        parts = StratifiedKFold(count, shuffle=True, random_state=seed).split(rows, target)
    else:
        parts = KFold(count, shuffle=True, random_state=seed).split(rows)
    folds = np.empty(len(rows), dtype=np.int64)
    for number, (_, valid) in enumerate(parts):
        folds[valid] = number
    return folds
