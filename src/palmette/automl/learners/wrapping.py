"""What meta-estimators share: the estimator inside, once it is fitted, answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data


class Wrapper(MetaEstimatorMixin, BaseEstimator):
    """An estimator around another, `estimator`; `fit` of a subclass leaves the fitted one as `estimator_`."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def predict(self, X: Any) -> np.ndarray:
        prepared = self._prepared(X)
        return np.asarray(self.estimator_.predict(prepared)).reshape(prepared.shape[0])

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        prepared = self._prepared(X)
        return np.asarray(self.estimator_.predict_proba(prepared))

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.estimator_.classes_)

    def _prepared(self, X: Any) -> Any:
        """Rows to predict, as the estimator inside takes them."""
        check_is_fitted(self, "estimator_")
        return validate_data(self, X, reset=False, **self._taken)

    @property
    def _taken(self) -> dict[str, Any]:
        """Which rows are accepted, for `validate_data`."""
        tags = get_tags(self.estimator).input_tags
        return {"accept_sparse": "csr" if tags.sparse else False, "dtype": None, "ensure_all_finite": "allow-nan"}

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags.required = True
        return tags
