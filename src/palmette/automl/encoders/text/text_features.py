"""Numeric features of texts and of pairs of texts: statistics, weighted words, main directions, overlap."""

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from palmette.automl.encoders.transformers import Stateless


@dataclass(eq=False, repr=False)
class Words(TransformerMixin, BaseEstimator):
    """Weighs the words of texts (n,) by TF-IDF; also fits texts that contain no word."""

    grams: int = 1  # longest sequence of words that is counted

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        given = {"max_features": 200_000, "sublinear_tf": True, "token_pattern": r"\w+"}
        self.words_ = TfidfVectorizer(ngram_range=(1, self.grams), **given)
        return self.words_.fit_transform([*X, "none"])[:-1]

    def transform(self, X: Any) -> sparse.csr_matrix:
        check_is_fitted(self)
        return self.words_.transform(list(X))


class JoinedTexts(TransformerMixin, BaseEstimator):
    """Joins the texts of several columns (n, m) into one text for each row (n,)."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.columns_ = list(X.columns)
        return self

    def transform(self, X: pd.DataFrame) -> list[str]:
        check_is_fitted(self)
        return [" ".join(texts) for texts in zip(*(X[name].fillna("") for name in self.columns_), strict=True)]


class TextStatistics(Stateless):
    """Counts words and characters, and computes the shares of capitals, digits and punctuation, in each text column."""

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return np.hstack([np.array([_statistics(text) for text in X[name]], float).reshape(len(X), 5) for name in X])


@dataclass(eq=False, repr=False)
class TextDirections(TransformerMixin, BaseEstimator):
    """Reduces texts (n,) to few dimensions: the main directions of their weighted words."""

    n_components: int = 30

    def fit(self, X: Any, y: Any = None) -> Self:
        self.words_ = Words()
        weights = self.words_.fit_transform(X)
        count = min(self.n_components, *weights.shape)
        self.directions_ = TruncatedSVD(count, random_state=0).fit(weights)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        points = self.directions_.transform(self.words_.transform(X))
        return np.pad(points, ((0, 0), (0, self.n_components - points.shape[1])))


def _statistics(text: str) -> tuple[float, ...]:
    length = max(1, len(text))
    capitals, digits = sum(map(str.isupper, text)), sum(map(str.isdigit, text))
    marks = sum(not one.isalnum() and not one.isspace() for one in text)
    return len(text.split()), len(text), capitals / length, digits / length, marks / length


WORD = re.compile(r"\w+")


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


class TextOverlap(TransformerMixin, BaseEstimator):
    """Measures the overlap of two text columns in words, characters and length; rare words count more."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
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
        return np.hstack([*cosines, np.array(counts, dtype="float64").reshape(len(first), 6)])


class OneSidedWords(TransformerMixin, BaseEstimator):
    """Weighs the words that only the first, or only the second, of two text columns contains."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.words_ = TfidfVectorizer(analyzer=str.split, sublinear_tf=True, max_features=20_000)
        self.words_.fit([*_one_sided(X), "none"])
        return self

    def transform(self, X: pd.DataFrame) -> sparse.csr_matrix:
        check_is_fitted(self)
        return self.words_.transform(_one_sided(X))


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
