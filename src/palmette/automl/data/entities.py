"""Whether rows are about fewer things than there are rows, and the target belongs to the thing rather than the row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Kind
from palmette.automl.data.kinds import is_id_name

ENTITY_NAMED = re.compile(
    r"(^|[_\W])(patient|customer|client|user|member|subject|person|student|employee|household|family|device|machine|"
    r"vehicle|account|store|shop|session|visitor|speaker|author|group)s?([_\W]|$)",
    re.IGNORECASE,
)
FEWEST = 10
"""Entities without which a cut by them cannot be fair."""
FEWEST_REPEATS = 1.5
"""Rows of an entity, on average."""
MOST_SHARE = 0.2
"""Of the rows, that one entity may have."""
ALIKE = 0.5
"""How much more alike rows of one entity must be in the target than chance makes them, of 1."""


def entity_of(rows: pd.DataFrame, target: str, task: str, kinds: Mapping[str, Kind]) -> str:
    """The column that names the entity to which the target belongs; empty where there is none."""
    if not target or task not in ("classification", "regression"):
        return ""
    found = {
        name: alike(rows[name], rows[target], task)
        for name in rows.columns
        if name != target and kinds.get(name) in ("numeric", "categorical", "identifier") and named(str(name))
        if _repeats(rows[name])
    }
    best = max(found, key=lambda name: found[name], default="")
    return best if best and found[best] > ALIKE else ""


def named(name: str) -> bool:
    """Whether a column of this name holds keys of things."""
    return is_id_name(name) or bool(ENTITY_NAMED.search(name))


def _repeats(column: Any) -> bool:
    counts = column.value_counts()
    many = len(counts) >= FEWEST and len(column) >= FEWEST_REPEATS * len(counts)
    return bool(many and counts.iloc[0] <= MOST_SHARE * len(column))


def alike(entities: Any, target: Any, task: str) -> float:
    """How alike the target is within entities: 1 where each has one value, 0 where it is by chance.

    Pairs of rows of one entity are compared with pairs of any two rows, so that small groups are not flattered.
    """
    codes = pd.factorize(entities)[0]
    known = codes >= 0
    codes = codes[known]
    sizes = np.bincount(codes).astype(float)
    pairs = float((sizes * (sizes - 1)).sum())
    if not pairs:
        return 0.0
    if task == "classification":
        labels = pd.factorize(target[known].astype(str))[0]
        both = pd.Series(codes.astype(np.int64) * (labels.max() + 1) + labels).value_counts().to_numpy(float)
        within = float((both * (both - 1)).sum()) / pairs
        shares = np.bincount(labels) / len(labels)
        chance = float((shares**2).sum())
        return (within - chance) / (1 - chance) if chance < 1 else 0.0
    values = target[known].to_numpy(float)
    values = (values - values.mean()) / (values.std() or 1.0)
    sums = np.bincount(codes, values)
    squares = np.bincount(codes, values**2)
    return float((sums**2 - squares).sum()) / pairs
