"""Overlap of hold-out and training rows: equal rows, entities, and times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.context import LeakContext
from palmette.automl.splitting.row_groups import ALIKE, is_entity_name, target_likeness

ORDERED = 0.98
"""Share of rows in the order of a time column from which the file is ordered by it."""


def equal_rows(context: LeakContext) -> Iterator[Leak]:
    """Rows of the hold-out whose features are all those of a training row."""
    if not context.informative or not len(context.split.holdout):
        return
    common = np.isin(context.hashes[context.split.holdout], context.hashes[context.split.train])
    share = float(common.mean())
    if share > 0:
        given = context.split.facts.strategy in ("given", "time")
        yield Leak(
            code="equal-rows",
            severity="high" if share > 0.1 else "medium" if share > 0.01 else "low",
            text=f"{int(common.sum())} rows of the hold-out ({share:.1%}) equal a training row in all features.",
            evidence=f"split: {context.split.facts.strategy}",
            action="report" if given or context.split.facts.strategy == "stratified" else "group",
        )


def shared_entities(context: LeakContext) -> Iterator[Leak]:
    """Keys of entities on both sides, where the target belongs to the entity."""
    if not context.target or context.problem not in ("classification", "regression"):
        return
    holdout, train = context.table.iloc[context.split.holdout], context.table.iloc[context.split.train]
    for name in context.features:
        if not is_entity_name(name) or context.kinds[name] not in ("number", "category", "identifier"):
            continue
        if context.table[name].nunique() < 10 or context.table[name].nunique() > 0.7 * len(context.table):
            continue
        common = float(holdout[name].isin(train[name].dropna().unique()).mean()) if len(holdout) else 0.0
        together = target_likeness(context.rows[name], context.rows[context.target], context.problem)
        if common > 0.05 and together > ALIKE:
            yield Leak(
                code="shared-entities",
                severity="high",
                columns=(name,),
                text=f"{common:.1%} of the hold-out share a {name!r} with training rows, and it decides the target.",
                evidence=f"rows of one {name!r} are alike in the target by {together:.2f} of 1",
                action="report" if context.split.facts.strategy == "given" else "group",
            )


def time_overlap(context: LeakContext) -> Iterator[Leak]:
    """Training rows that are later than the hold-out, in data that run in time."""
    for name in context.features:
        if not pd.api.types.is_datetime64_any_dtype(context.table[name].dtype):
            continue
        holdout = context.table[name].iloc[context.split.holdout].dropna()
        train = context.table[name].iloc[context.split.train].dropna()
        if not len(holdout) or not len(train):
            continue
        later = float((train > holdout.min()).mean())
        steps = np.diff(train.to_numpy("datetime64[ns]").astype("int64"))
        ordered = float((steps >= 0).mean()) if len(steps) else 0.0
        by_time = context.split.facts.strategy == "time"
        if later > 0 and (by_time or ordered > ORDERED) and train.nunique() > 10:
            yield Leak(
                code="time-overlap",
                severity="high" if by_time else "low",
                columns=(name,) if by_time else (),
                text=f"{later:.1%} of the training rows are later by {name!r} than the hold-out begins; "
                "for predictions of the future, ask for a split by time.",
                evidence=f"the hold-out begins at {holdout.min()}, training ends at {train.max()}",
                action="ask" if by_time else "report",
            )
