"""Texts as numbers: lengths and signs, main directions of the words, and what the words say about the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted


def words_of(texts: Any, grams: int = 1) -> tuple[TfidfVectorizer, sparse.csr_matrix]:
    """Weighted words, learnt from texts; a text without any word has none."""
    words = TfidfVectorizer(max_features=20_000, sublinear_tf=True, token_pattern=r"\w+", ngram_range=(1, grams))
    texts = list(texts)
    try:
        return words, words.fit_transform(texts)
    except ValueError:  # no text has a word
        return words, words.fit(["none"]).transform(texts)


class TextStatistics(TransformerMixin, BaseEstimator):
    """Words, characters, and shares of capitals, digits and punctuation of each column of texts; learns nothing."""

    STATISTICS = ("words", "characters", "capitals", "digits", "punctuation")

    def fit(self, X: pd.DataFrame, y: Any = None) -> TextStatistics:
        self.columns_ = list(X.columns)
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        check_is_fitted(self)
        parts = [np.array([_statistics(text) for text in X[name]], dtype="float64") for name in self.columns_]
        return np.hstack([part.reshape(len(X), len(self.STATISTICS)) for part in parts])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"{name}_{one}" for name in self.columns_ for one in self.STATISTICS], dtype=object)


class TextDirections(TransformerMixin, BaseEstimator):
    """Texts (n,) as points in few dimensions: the main directions of their weighted words."""

    def __init__(self, n_components: int = 30) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> TextDirections:
        self.words_, weights = words_of(X)
        count = min(self.n_components, *weights.shape)
        self.directions_ = TruncatedSVD(count, random_state=0).fit(weights)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        points = self.directions_.transform(self.words_.transform(list(X)))
        return np.pad(points, ((0, 0), (0, self.n_components - points.shape[1])))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"direction_{place}" for place in range(self.n_components)], dtype=object)


class TextScores(TransformerMixin, BaseEstimator):
    """What the words of texts (n,) say about the target: the output of a ridge regression on weighted words.

    A training row is given the output of a regression that has not seen it. There is a score for each of three or more
    classes, else one.

    Args:
        kind: `classes` or `number`, of the target.
        n_splits: Parts of the training rows.
    """

    def __init__(self, kind: str, n_splits: int = 5) -> None:
        self.kind = kind
        self.n_splits = n_splits

    def fit(self, X: Any, y: Any) -> TextScores:
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        weights, targets = self._learn(X, y)
        scores = np.empty(targets.shape)
        folds = KFold(min(self.n_splits, len(targets)), shuffle=True, random_state=0)
        for train, rest in folds.split(scores):
            scores[rest] = _ridge().fit(weights[train], targets[train]).predict(weights[rest]).reshape(len(rest), -1)
        return scores

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(self.words_.transform(list(X))).reshape(len(X), -1)

    def _learn(self, X: Any, y: Any) -> tuple[sparse.csr_matrix, np.ndarray]:
        self.words_, weights = words_of(X, grams=2)
        y = np.asarray(y)
        targets = LabelBinarizer().fit_transform(y) if self.kind == "classes" else y.reshape(-1, 1)
        self.model_ = _ridge().fit(weights, targets.astype("float64"))
        self.scores_ = targets.shape[1]
        return weights, targets

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"score_{place}" for place in range(self.scores_)], dtype=object)


def _ridge() -> Ridge:
    return Ridge(alpha=1.0, solver="lsqr", tol=1e-3)


def _statistics(text: str) -> tuple[float, ...]:
    length = max(1, len(text))
    capitals, digits = sum(map(str.isupper, text)), sum(map(str.isdigit, text))
    marks = sum(not one.isalnum() and not one.isspace() for one in text)
    return len(text.split()), len(text), capitals / length, digits / length, marks / length
