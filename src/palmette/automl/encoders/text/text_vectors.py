"""Vectors of texts by models that were trained elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class TextVectors(TransformerMixin, BaseEstimator):
    """A vector of length 1 for each text by itself, of each column of texts; learns nothing.

    Each two of the first columns also have the absolute difference, the product and the cosine of their vectors.

    Args:
        paired: Columns of which pairs are compared.
    """

    size: ClassVar[int]

    def __init__(self, paired: int = 3) -> None:
        self.paired = paired

    def fit(self, X: pd.DataFrame, y: Any = None) -> TextVectors:
        return self

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

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
