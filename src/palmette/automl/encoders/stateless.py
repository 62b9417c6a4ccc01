"""Transformers of single cells that learn nothing."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin


class Stateless(TransformerMixin, BaseEstimator):
    """Features of each row by itself, as the method `transform` of a subclass makes them."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
