"""Meta-features: a data set as one vector of figures, always the same in the same order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

from palmette.automl.kinds import Kind
from palmette.automl.profile.artefacts import ColumnProfile, MetaFeature, TargetProfile
from palmette.automl.profile.figures import figure

KINDS = get_args(Kind)
NAMES = (
    "rows", "columns", "rows_per_column", *(f"{kind}_columns" for kind in KINDS), "missing", "columns_with_missing",
    "categories_mean", "categories_most", "skew_mean", "skew_most", "outliers_mean", "zeros_mean", "whole_columns",
    "duplicates", "mutual_information_mean", "mutual_information_most", "error_reduction_most",
    "classes", "class_entropy", "rarest_class",
    "target_skew", "target_log_skew", "target_orders", "target_zeros",
)  # fmt: skip


def meta_features(
    rows: int, columns: Sequence[ColumnProfile], target: TargetProfile | None, duplicates: int
) -> tuple[MetaFeature, ...]:
    """The vector of a data set; a figure that does not apply is 0."""
    numeric = [column.numbers for column in columns if column.numbers is not None]
    words = [column.distinct for column in columns if column.kind in ("category", "boolean")]
    values = [
        float(rows),
        float(len(columns)),
        rows / max(len(columns), 1),
        *(float(sum(column.kind == kind for column in columns)) for kind in KINDS),
        _mean([column.missing for column in columns]),
        float(sum(column.missing > 0 for column in columns)),
        _mean(words),
        float(max(words, default=0)),
        _mean([abs(one.skew) for one in numeric]),
        max((abs(one.skew) for one in numeric), default=0.0),
        _mean([one.outliers for one in numeric]),
        _mean([one.zeros for one in numeric]),
        float(sum(one.whole for one in numeric)),
        duplicates / max(rows, 1),
        _mean([column.mutual_information for column in columns]),
        max((column.mutual_information for column in columns), default=0.0),
        max((column.error_reduction for column in columns), default=0.0),
        *_of_target(target),
    ]
    return tuple(MetaFeature(name=n, value=figure(v)) for n, v in zip(NAMES, values, strict=True))


def _of_target(target: TargetProfile | None) -> tuple[float, ...]:
    facts = target.numbers if target is not None else None
    if target is None or facts is None:
        rarest = min((one.share for one in target.classes), default=0.0) if target is not None else 0.0
        classes, entropy = (target.class_count, target.entropy) if target is not None else (0, 0.0)
        return float(classes), entropy, rarest, 0.0, 0.0, 0.0, 0.0
    return 0.0, 0.0, 0.0, facts.skew, target.log_skew, target.orders, facts.zeros


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
