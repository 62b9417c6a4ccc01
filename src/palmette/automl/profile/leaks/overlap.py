"""What stands on both sides of the cut: equal rows, entities, and times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from palmette.automl.data.entities import ALIKE, alike, named
from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.ground import Ground

ORDERED = 0.98
"""Share of rows in the order of a time column from which the file is ordered by it."""


def equal_rows(ground: Ground) -> Iterator[Leak]:
    """Rows of the hold-out whose features are all those of a training row."""
    if not ground.told or not len(ground.split.holdout):
        return
    common = np.isin(ground.hashes[ground.split.holdout], ground.hashes[ground.split.train])
    share = float(common.mean())
    if share > 0:
        given = ground.split.told.strategy in ("given", "time")
        yield Leak(
            code="equal-rows",
            severity="high" if share > 0.1 else "medium" if share > 0.01 else "low",
            text=f"{int(common.sum())} rows of the hold-out ({share:.1%}) equal a training row in all features.",
            evidence=f"cut: {ground.split.told.strategy}",
            action="report" if given or ground.split.told.strategy == "stratified" else "group",
        )


def shared_entities(ground: Ground) -> Iterator[Leak]:
    """Keys of things on both sides, where the target belongs to the thing."""
    if not ground.target or ground.task not in ("classification", "regression"):
        return
    holdout, train = ground.table.iloc[ground.split.holdout], ground.table.iloc[ground.split.train]
    for name in ground.features:
        if not named(name) or ground.kinds[name] not in ("numeric", "categorical", "identifier"):
            continue
        if ground.table[name].nunique() < 10 or ground.table[name].nunique() > 0.7 * len(ground.table):
            continue
        common = float(holdout[name].isin(train[name].dropna().unique()).mean()) if len(holdout) else 0.0
        together = alike(ground.rows[name], ground.rows[ground.target], ground.task)
        if common > 0.05 and together > ALIKE:
            yield Leak(
                code="shared-entities",
                severity="high",
                columns=(name,),
                text=f"{common:.1%} of the hold-out share a {name!r} with training rows, and it decides the target.",
                evidence=f"rows of one {name!r} are alike in the target by {together:.2f} of 1",
                action="report" if ground.split.told.strategy == "given" else "group",
            )


def time_overlap(ground: Ground) -> Iterator[Leak]:
    """Training rows that are later than the hold-out, in data that run in time."""
    for name in ground.features:
        if not pd.api.types.is_datetime64_any_dtype(ground.table[name].dtype):
            continue
        holdout = ground.table[name].iloc[ground.split.holdout].dropna()
        train = ground.table[name].iloc[ground.split.train].dropna()
        if not len(holdout) or not len(train):
            continue
        later = float((train > holdout.min()).mean())
        steps = np.diff(train.to_numpy("datetime64[ns]").astype("int64"))
        ordered = float((steps >= 0).mean()) if len(steps) else 0.0
        by_time = ground.split.told.strategy == "time"
        if later > 0 and (by_time or ordered > ORDERED) and train.nunique() > 10:
            yield Leak(
                code="time-overlap",
                severity="high" if by_time else "low",
                columns=(name,) if by_time else (),
                text=f"{later:.1%} of the training rows are later by {name!r} than the hold-out begins; "
                "for predictions of the future, ask for a cut by time.",
                evidence=f"the hold-out begins at {holdout.min()}, training ends at {train.max()}",
                action="ask" if by_time else "report",
            )
