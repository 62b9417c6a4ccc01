"""A blueprint by rules: columns that distances can be told of, and how many clusters are tried."""

from __future__ import annotations

import math

from palmette.automl.modalities.clustering.blueprint import ALGORITHMS, MOST_CLUSTERS, Algorithm, Blueprint
from palmette.automl.modalities.modality import Outline
from palmette.automl.modalities.tabular.blueprint import Dropped
from palmette.automl.modalities.tabular.columns import as_outlined, outlined
from palmette.automl.modalities.tabular.draft import planned
from palmette.errors import UserError

WORDS = "free words: that two rows are near each other cannot be told from them here"
LABELS = "the labels that the clusters are compared with"
FEW = 3_000
"""Rows below which a second thread takes more time than it saves."""


def drafted(outline: Outline) -> Blueprint:
    """The blueprint for training rows.

    Raises:
        UserError: no column is left that rows could be near in.
    """
    labels = labels_of(outline)
    kept, dropped = planned([column for column in outlined(outline) if column.name != labels], outline.rows)
    texts = tuple(Dropped(name=column.name, reason=WORDS) for column in kept if column.kind == "text")
    kept = tuple(column for column in kept if column.kind != "text")
    if not kept:
        reasons = ", ".join(f"{one.name!r} is {one.reason}" for one in (*dropped, *texts)) or "there is none"
        message = f"No column is left to find clusters by: {reasons}."
        raise UserError(message, "Add columns of numbers or of a few names.", code="no-columns")
    apart = [Dropped(name=labels, reason=LABELS)] if labels and labels not in outline.left_out else []
    rows, named = len(outline.rows), outline.goal.metric
    clusters = outline.requirements.problem.n_clusters
    if clusters is not None and not 2 <= clusters <= rows // 2:
        message = f"{clusters} clusters are asked for, of {rows} rows to learn from."
        raise UserError(message, "Ask for 2 or more, of 2 rows or more each.", code="clusters-impossible")
    drawn = Blueprint(
        title=outline.dataset.table or "clusters",
        rows=rows,
        columns=kept,
        dropped=(*dropped, *texts, *apart),
        derived=tuple(outline.derived),
        clusters=clusters,
        most=max(2, min(MOST_CLUSTERS, math.isqrt(rows))),
        labels=labels,
        agreement=named if named in ("rand", "adjusted_rand", "nmi") else "rand",  # type: ignore[arg-type]  # narrowed
        algorithms=_algorithms(outline),
        threads=1 if rows < FEW else 2,
        seed=outline.seed,
        validation=outline.validation,
    )
    return drawn.model_copy(update=as_outlined(drawn, outline))


def labels_of(outline: Outline) -> str:
    """The column that the request compares clusters with; empty where it names none."""
    wanted = outline.requirements.dataset
    column = outline.dataset.column(wanted.target_column or wanted.target)
    return column.name if column else ""


def _algorithms(outline: Outline) -> tuple[Algorithm, ...]:
    """Those that are wanted and known here, in their order; all where there are none."""
    return tuple(one for name in outline.algorithms for one in ALGORITHMS if one == name) or ALGORITHMS
