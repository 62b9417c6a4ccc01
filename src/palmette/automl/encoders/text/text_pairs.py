"""Features of a pair of text columns: what the texts share, and what only one of them contains."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

WORD = re.compile(r"\w+")


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


class TextOverlap(TransformerMixin, BaseEstimator):
    """Measures the overlap of two text columns in words, characters and length; rare words count more."""

    FEATURES = ("cosine", "character_cosine", "shared", "jaccard", "of_first", "of_second", "length_ratio", "same_end")

    def fit(self, X: pd.DataFrame, y: Any = None) -> TextOverlap:
        texts = [*X.iloc[:, 0], *X.iloc[:, 1], "none"]
        self.words_ = TfidfVectorizer(token_pattern=r"\w+", min_df=1).fit(texts)
        self.characters_ = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), max_features=20_000).fit(texts)
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        check_is_fitted(self)
        first, second = list(X.iloc[:, 0]), list(X.iloc[:, 1])
        cosines = [
            np.asarray(weights.transform(first).multiply(weights.transform(second)).sum(axis=1))
            for weights in (self.words_, self.characters_)
        ]
        counts = [_shared(_words(one), _words(other)) for one, other in zip(first, second, strict=True)]
        return np.hstack([*cosines, np.array(counts, dtype="float64").reshape(len(first), len(self.FEATURES) - 2)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array(self.FEATURES, dtype=object)


class OneSidedWords(TransformerMixin, BaseEstimator):
    """Weighs the words that only the first, or only the second, of two text columns contains."""

    def __init__(self, max_features: int = 20_000) -> None:
        self.max_features = max_features

    def fit(self, X: pd.DataFrame, y: Any = None) -> OneSidedWords:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> sparse.csr_matrix:
        self.words_ = TfidfVectorizer(analyzer=str.split, sublinear_tf=True, max_features=self.max_features)
        self.words_.fit([*_one_sided(X), "none"])
        return self.transform(X)

    def transform(self, X: pd.DataFrame) -> sparse.csr_matrix:
        check_is_fitted(self)
        return self.words_.transform(_one_sided(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return self.words_.get_feature_names_out()


def _one_sided(X: pd.DataFrame) -> list[str]:
    """Returns, for each row, the words of one side only, prefixed by the side."""
    found = []
    for first, second in zip(X.iloc[:, 0], X.iloc[:, 1], strict=True):
        one, other = {*_words(first)}, {*_words(second)}
        marked = [f"first:{word}" for word in sorted(one - other)] + [f"second:{word}" for word in sorted(other - one)]
        found.append(" ".join(marked))
    return found


def _shared(first: list[str], second: list[str]) -> tuple[float, ...]:
    one, other = {*first}, {*second}
    both, either = len(one & other), max(1, len(one | other))
    ratio = (1 + len(first)) / (1 + len(second))
    same_end = float(first[-1:] == second[-1:])
    return both, both / either, both / max(1, len(one)), both / max(1, len(other)), ratio, same_end
