"""Boosting libraries on matrices of numbers in which some columns are codes of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from palmette.automl.learners.wrapping import Wrapper


class LightGBMCategories(Wrapper):
    """LightGBM with categorical columns, given by position.

    Args:
        estimator: An LGBMClassifier or LGBMRegressor.
        columns: Positions of the columns that are codes: whole numbers, NaN for a missing or unknown category.
    """

    def __init__(self, estimator: Any, columns: Sequence[int]) -> None:
        super().__init__(estimator)
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LightGBMCategories:
        X, y = validate_data(self, X, y, **self._taken)
        given = {"sample_weight": sample_weight, "categorical_feature": list(self.columns), **options}
        self.estimator_ = clone(self.estimator).fit(X, y, **given)
        return self


class CatBoostCategories(Wrapper):
    """CatBoost with categorical columns, given by position; a missing or unknown category is one of its own.

    Args:
        estimator: A CatBoostClassifier or CatBoostRegressor.
        columns: Positions of the columns that are codes: whole numbers, NaN for a missing or unknown category.
    """

    def __init__(self, estimator: Any, columns: Sequence[int]) -> None:
        super().__init__(estimator)
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> CatBoostCategories:
        X, y = validate_data(self, X, y, **self._taken)
        if "eval_set" in options:
            valid, valid_target = options["eval_set"]
            options["eval_set"] = self._frame(valid), valid_target
        given = {"sample_weight": sample_weight, "cat_features": list(self.columns), **options}
        self.estimator_ = clone(self.estimator).fit(self._frame(X), y, **given)
        return self

    def _prepared(self, X: Any) -> pd.DataFrame:
        return self._frame(super()._prepared(X))

    def _frame(self, X: Any) -> pd.DataFrame:
        frame = pd.DataFrame(X)
        for column in self.columns:
            frame[column] = frame[column].fillna(-1).astype(int)
        return frame
