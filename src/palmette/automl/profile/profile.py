"""The profile of a table: from the training rows only, but for counts of rows and bytes."""

from __future__ import annotations

import numpy as np

from palmette.automl.profile.artefacts import ColumnProfile, Profile
from palmette.automl.profile.figures import column_figures, figure, target_figures
from palmette.automl.profile.leaks import find_leaks
from palmette.automl.profile.leaks.context import LeakContext
from palmette.automl.profile.meta import meta_features
from palmette.automl.profile.suggestions import suggest


def profile(context: LeakContext) -> Profile:
    """The figures of a table; of the hold-out nothing is used but whether its rows, keys or times overlap."""
    table, request, split, kinds = context.table, context.request, context.split, context.kinds
    train, target, problem = table.iloc[split.train], request.target, context.problem
    names = [str(name) for name in table.columns if name not in (target, request.column)]
    columns = [column_figures(name, train[name], kinds[name]) for name in names]
    if target:
        columns = _ranked(columns, context)
    target_profile = target_figures(target, train[target], problem) if target else None
    duplicates = len(train) - len(np.unique(context.hashes[split.train]))
    return Profile(
        split=request,
        rows=len(table),
        holdout=split.facts,
        columns=tuple(columns),
        target=target_profile,
        duplicates=duplicates,
        memory=int(table.memory_usage(deep=False).sum()),
        meta=meta_features(len(train), columns, target_profile, duplicates),
        suggestions=tuple(suggest(len(train), columns, target_profile, duplicates)),
        leaks=tuple(find_leaks(context)),
    )


def _ranked(columns: list[ColumnProfile], context: LeakContext) -> list[ColumnProfile]:
    """The columns with their association with the target."""
    found = {one.name: (context.mutual_information(one.name), context.error_reduction(one.name)) for one in columns}
    order = sorted(found, key=lambda name: (-found[name][0], name))
    ranks = {name: rank for rank, name in enumerate(order, 1)}

    def figures(name: str) -> dict[str, float]:
        information, reduction = map(figure, found[name])
        return {"mutual_information": information, "error_reduction": reduction, "rank": ranks[name]}

    return [column.model_copy(update=figures(column.name)) for column in columns]
