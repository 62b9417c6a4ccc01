"""A blueprint by rules: columns that distances can be told of, and how many clusters are tried."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from palmette.automl.data import Column
from palmette.automl.modalities.clustering.blueprint import AGREEMENTS, ALGORITHMS, MOST_CLUSTERS, Algorithm, Blueprint
from palmette.automl.modalities.modality import Outline
from palmette.automl.modalities.tabular.blueprint import Dropped
from palmette.automl.modalities.tabular.columns import as_outlined, outlined
from palmette.automl.modalities.tabular.draft import planned
from palmette.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

WORDS = "free words: that two rows are near each other cannot be told from them here"
LABELS = "the labels that the clusters are compared with"
FEW = 3_000
"""Rows below which a second thread takes more time than it saves."""


def draft(
    columns: Iterable[Column],
    rows: pd.DataFrame,
    clusters: int | None = None,
    wanted: Iterable[Algorithm] = ALGORITHMS,
    seed: int = 0,
    least: int | None = None,
    most: int | None = None,
) -> Blueprint:
    """A blueprint for training rows whose columns are as described, and for so many clusters, or for any number.

    Where `clusters` is None, any number from `least` to `most` will do.

    Raises:
        UserError: no column is left that rows could be near in, or there cannot be so many clusters.
    """
    kept, dropped = planned(columns, rows)
    texts = tuple(Dropped(name=column.name, reason=WORDS) for column in kept if column.kind == "text")
    kept = tuple(column for column in kept if column.kind != "text")
    if not kept:
        reasons = ", ".join(f"{one.name!r} is {one.reason}" for one in (*dropped, *texts)) or "there is none"
        message = f"No column is left to find clusters by: {reasons}."
        raise UserError(message, "Add columns of numbers or of a few names.", code="no-columns")
    different = len(rows[[column.name for column in kept]].drop_duplicates())
    possible, usual = min(different, len(rows) // 2), min(MOST_CLUSTERS, math.isqrt(len(rows)))
    if not 2 <= (clusters or least or 2) <= possible:
        asked = f"{clusters or least} clusters" if clusters or least else "Clusters"
        message = f"{asked} are asked for, of {len(rows)} rows to learn from, {different} of them different."
        raise UserError(message, "Ask for 2 or more, of 2 rows or more each.", code="clusters-impossible")
    return Blueprint(
        title="clusters",
        rows=len(rows),
        columns=kept,
        dropped=(*dropped, *texts),
        clusters=clusters,
        least=least or 2,
        most=min(most or max(2 * (least or 1), usual), possible),
        algorithms=tuple(wanted),
        threads=1 if len(rows) < FEW else 2,
        seed=seed,
    )


def drafted(outline: Outline) -> Blueprint:
    """The blueprint that follows from an outline; labels that the request names are not among its columns.

    Raises:
        UserError: as `draft`.
    """
    wanted, named = outline.requirements, outline.goal.metric
    labels = labels_of(outline)
    columns = [column for column in outlined(outline) if column.name != labels]
    problem, algorithms = wanted.problem, _algorithms(outline.algorithms)
    bounds = {"least": problem.least_clusters, "most": problem.most_clusters}
    drawn = draft(columns, outline.rows, problem.n_clusters, algorithms, outline.seed, **bounds)
    said = {
        "labels": labels,
        "agreement": named if named in AGREEMENTS else AGREEMENTS[0],
        "derived": tuple(outline.derived),
        "validation": outline.validation,
    }
    found = as_outlined(drawn, outline)
    if labels and labels not in outline.left_out:
        found["dropped"] = (*found["dropped"], Dropped(name=labels, reason=LABELS))
    return drawn.model_copy(update=said | found)


def labels_of(outline: Outline) -> str:
    """The column that the request compares clusters with; empty where it names none."""
    wanted = outline.requirements.dataset
    column = outline.dataset.column(wanted.target_column or wanted.target)
    return column.name if column else ""


def _algorithms(wanted: Iterable[str]) -> tuple[Algorithm, ...]:
    """Those that are known here, in their order; all where there are none."""
    return tuple(one for name in wanted for one in ALGORITHMS if one == name) or ALGORITHMS
