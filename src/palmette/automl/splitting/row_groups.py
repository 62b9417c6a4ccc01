"""Rows that belong together: equal rows by their hashes, and rows of one entity whose target belongs to the entity."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import Kind, is_id_name

ENTITY_NAMED = re.compile(
    r"(^|[_\W])(patient|customer|client|user|member|subject|person|student|employee|household|family|device|machine|"
    r"vehicle|account|store|shop|session|visitor|speaker|author|group)s?([_\W]|$)",
    re.IGNORECASE,
)
FEWEST = 10  # entities below which a split by them cannot be fair
FEWEST_REPEATS = 1.5  # rows of an entity, on average
MOST_SHARE = 0.2  # share of the rows that one entity may have
ALIKE = 0.5  # likeness of the target within entities, from which the target belongs to them; 1 is equality, 0 is chance
FACTOR = np.uint64(1_000_003)  # factor of the hash of the values to the left in a row
Hashes = npt.NDArray[np.uint64]


def row_hashes(frame: pd.DataFrame) -> Hashes:
    """A hash of the values of each row; neither types nor the order of rows change it."""
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for _, column in frame.items():
        if pd.api.types.is_bool_dtype(column.dtype):
            column = column.astype(str)
        elif pd.api.types.is_numeric_dtype(column.dtype):
            column = column.astype(float) + 0.0  # 0 and -0 are one value
        hashes = hashes * FACTOR + pd.util.hash_array(column.to_numpy(), categorize=True).astype(np.uint64)
    return hashes


def mixed(hashes: Hashes, seed: int) -> Hashes:
    """The hashes in an order that depends on the seed (splitmix64, which pandas uses for numbers)."""
    return np.asarray(pd.util.hash_array(hashes + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)))


def apart(hashes: Hashes, seed: int) -> Hashes:
    """The hashes in the order of the seed; equal rows are numbered to tell them apart."""
    repeats = pd.Series(hashes).groupby(hashes).cumcount().to_numpy().astype(np.uint64)
    return mixed(mixed(hashes, seed) + repeats, seed + 1)


def has_few_values(rows: pd.DataFrame, features: Collection[str]) -> bool:
    """Whether fewer different rows are possible than there are rows: equal ones are chance, not repetition."""
    return math.prod(max(rows[name].nunique(dropna=False), 1) for name in features) <= len(rows)


def entity_of(rows: pd.DataFrame, target: str, problem: str, kinds: Mapping[str, Kind]) -> str:
    """The column that names the entity to which the target belongs; empty where there is none."""
    if not target or problem not in ("classification", "regression"):
        return ""
    found = {
        name: target_likeness(rows[name], rows[target], problem)
        for name in rows.columns
        if name != target and kinds.get(name) in ("number", "category", "identifier") and is_entity_name(str(name))
        if _repeats(rows[name])
    }
    best = max(found, key=lambda name: found[name], default="")
    return best if best and found[best] > ALIKE else ""


def is_entity_name(name: str) -> bool:
    """Whether a column of this name holds keys of entities."""
    return is_id_name(name) or bool(ENTITY_NAMED.search(name))


def _repeats(column: Any) -> bool:
    counts = column.value_counts()
    many = len(counts) >= FEWEST and len(column) >= FEWEST_REPEATS * len(counts)
    return bool(many and counts.iloc[0] <= MOST_SHARE * len(column))


def target_likeness(entities: Any, target: Any, problem: str) -> float:
    """How alike the target is within entities: 1 where each has one value, 0 where it is random.

    Pairs of rows of one entity are compared with pairs of any two rows, so that small groups are not flattered.
    """
    codes = pd.factorize(entities)[0]
    known = codes >= 0
    codes = codes[known]
    sizes = np.bincount(codes).astype(float)
    pairs = float((sizes * (sizes - 1)).sum())
    if not pairs:
        return 0.0
    if problem == "classification":
        labels = pd.factorize(target[known].astype(str))[0]
        both = pd.Series(codes.astype(np.int64) * (labels.max() + 1) + labels).value_counts().to_numpy(float)
        within = float((both * (both - 1)).sum()) / pairs
        shares = np.bincount(labels) / len(labels)
        chance = float((shares**2).sum())
        return (within - chance) / (1 - chance) if chance < 1 else 0.0
    values = target[known].to_numpy(float)
    values = (values - values.mean()) / (values.std() or 1.0)
    sums, squares = np.bincount(codes, values), np.bincount(codes, values**2)
    return float((sums**2 - squares).sum()) / pairs
