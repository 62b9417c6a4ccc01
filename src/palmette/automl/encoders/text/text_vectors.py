"""Vectors of texts by models that were trained elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.encoders.stateless import Stateless

PARTS_TOGETHER, WINDOWS = 32, 4  # texts in a batch, and parts of a long text that are read


class TextVectors(Stateless):
    """A vector of length 1 for each text by itself, of each column of texts; learns nothing.

    Each two of the first columns also have the absolute difference, the product and the cosine of their vectors.

    Args:
        paired: Columns of which pairs are compared.
    """

    size: int

    def __init__(self, paired: int = 3) -> None:
        self.paired = paired

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        X = pd.DataFrame(X)
        places, texts = pd.factorize(X.to_numpy(dtype=object).ravel())
        vectors = self.vectors([str(text) for text in texts]).astype("float64").reshape(len(texts), self.size)
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        found = list(units[places].reshape(*X.shape, self.size).transpose(1, 0, 2))
        for one, other in itertools.combinations(found[: self.paired], 2):
            both = one * other
            found += [np.abs(one - other), both, both.sum(axis=1, keepdims=True)]
        return np.hstack(found)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """(n, size) of texts, each once."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        names = [""] if input_features is None else [f"{name}_" for name in input_features]
        found = [f"{name}{place}" for name in names for place in range(self.size)]
        for one, other in itertools.combinations(names[: self.paired], 2):
            for kind in ("difference", "product"):
                found += [f"{one}{other}{kind}_{place}" for place in range(self.size)]
            found.append(f"{one}{other}cosine")
        return np.array(found, dtype=object)


def window_vectors(
    pieces: Any, texts: Sequence[str], size: int, encode: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """(n, size): the mean over the parts of each text, by their lengths.

    Parts of one length are encoded together, so that none is padded.

    Args:
        pieces: The tokenizer, which truncates.
        texts: (n,).
        size: Of a vector.
        encode: (m, k) numbers of pieces to (m, size).
    """
    parts = [[one.ids for one in (first, *first.overflowing)][:WINDOWS] for first in map(pieces.encode, texts)]
    owners = np.array([owner for owner, some in enumerate(parts) for _ in some], dtype=int)
    flat = [part for some in parts for part in some]
    lengths, sums, totals = np.array([len(one) for one in flat]), np.zeros((len(texts), size)), np.zeros(len(texts))
    for length in np.unique(lengths[lengths > 0]):
        alike = np.flatnonzero(lengths == length)
        for some in np.array_split(alike, -(-len(alike) // PARTS_TOGETHER)):
            made = encode(np.array([flat[place] for place in some]))
            np.add.at(sums, owners[some], length * made)
            np.add.at(totals, owners[some], length)
    return sums / np.maximum(totals, 1)[:, None]
