"""What the rows of a cluster have in common, column by column, so that people can name it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palmette.automl.candidates import ColumnUse
from palmette.automl.formatting import number, share, short
from palmette.automl.report_data import ColumnByCluster

if TYPE_CHECKING:
    import pandas as pd


SHOWN = frozenset({"number", "datetime", "category", "boolean", "text"})
WORDS = 4  # typical words of a cluster that are shown


def traits_of(
    rows: pd.DataFrame, columns: Iterable[ColumnUse], clusters: NDArray[np.intp]
) -> Iterator[ColumnByCluster]:
    """Yields medians of numbers and timestamps, typical words, and the most frequent other values, by cluster (n,).

    `apart` is the share of a column's variance that lies between clusters: of ranks, or of the most frequent values.
    Other kinds of columns have no trait.
    """
    count = int(clusters.max()) + 1
    for column in columns:
        values = rows[column.name]
        if column.kind not in SHOWN:
            continue
        if column.kind in ("number", "datetime"):
            middles = [values[clusters == one].dropna().median() for one in range(count)]
            shown = [
                "–" if middle != middle else str(middle)[:10] if column.kind == "datetime" else number(middle, 3)
                for middle in middles
            ]
            yield ColumnByCluster(column.name, "median", tuple(shown), _correlation_ratio(values.rank(), clusters))
            continue
        texts = values.astype(str).where(values.notna())
        if column.kind == "text":
            yield _typical_words(column.name, texts.fillna(""), clusters)
            continue
        shown = []
        for one in range(count):
            common = texts[clusters == one].value_counts(normalize=True)
            shown.append(f"{short(str(common.index[0]), 24)} {share(float(common.iloc[0]))}" if len(common) else "–")
        commonest = texts.value_counts().index[:10]
        parts = [_correlation_ratio((texts == value).astype(float), clusters) for value in commonest]
        yield ColumnByCluster(column.name, "most frequent", tuple(shown), max(parts, default=0.0))


def _typical_words(name: str, texts: pd.Series, clusters: NDArray[np.intp]) -> ColumnByCluster:
    """Returns the words that are most frequent in each cluster compared with the others."""
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(token_pattern=r"\w\w+", binary=True, max_features=5_000)
    try:
        present = counts.fit_transform(texts).astype(float)
    except ValueError:  # no text has a word
        return ColumnByCluster(name, "typical words", ("–",) * (int(clusters.max()) + 1), 0.0)
    inside = np.eye(int(clusters.max()) + 1)[clusters]
    sums, whole = np.asarray(present.T @ inside), np.asarray(present.sum(axis=0)).reshape(-1, 1)
    sizes = inside.sum(axis=0)
    apart = sums / np.maximum(sizes, 1) - (whole - sums) / np.maximum(len(texts) - sizes, 1)
    best, words = np.argsort(-apart, axis=0, kind="stable")[:WORDS].T, counts.get_feature_names_out()
    strength = (float(apart[places[0], one]) for one, places in enumerate(best))
    return ColumnByCluster(name, "typical words", tuple(", ".join(words[places]) for places in best), max(strength))


def _correlation_ratio(values: pd.Series, clusters: NDArray[np.intp]) -> float:
    """Returns the squared correlation ratio; 0 for a constant."""
    known = values.notna().to_numpy()
    numbers, groups = values.to_numpy(float)[known], clusters[known]
    whole = float(((numbers - numbers.mean()) ** 2).sum()) if len(numbers) else 0.0
    if not whole:
        return 0.0
    sizes, sums = np.bincount(groups), np.bincount(groups, numbers)
    here = sizes > 0
    return float((sizes[here] * (sums[here] / sizes[here] - numbers.mean()) ** 2).sum() / whole)
