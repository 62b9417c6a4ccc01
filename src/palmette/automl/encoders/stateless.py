"""Transformers of single cells that have nothing to fit."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin


class Stateless(TransformerMixin, BaseEstimator):
    """Computes features of each row by itself; subclasses implement `transform`."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
