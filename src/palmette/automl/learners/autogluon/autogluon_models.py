"""AutoGluon as scikit-learn estimators: it fits and weights a stack of models."""

from __future__ import annotations

import io
import tempfile  # noqa: TID251 - it is delivered, and palmette.sandbox is not
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor
from sklearn.base import BaseEstimator, RegressorMixin

from palmette.automl.learners.wrappers import ProbabilityClassifier

TARGET = "__target__"


@dataclass(eq=False, repr=False)
class _AutoGluon(BaseEstimator):
    """Holds the predictor as the bytes of an archive, so that it is stored like any other model."""

    categorical: Sequence[int] = ()  # positions of the columns that are category codes
    preset: str = "medium_quality"  # preset of AutoGluon
    metric: str | None = None  # metric of AutoGluon; None for its default
    seconds: float = 60.0  # time limit of a fit
    n_threads: int = 1  # threads

    def fit(self, X: Any, y: Any) -> Any:
        y = np.asarray(y)
        rows = self._frame(X).assign(**{TARGET: y})
        kind = self._started(y)
        with tempfile.TemporaryDirectory() as folder:
            found = TabularPredictor(TARGET, problem_type=kind, eval_metric=self.metric, path=folder, verbosity=0)
            limits = {"time_limit": self.seconds, "num_cpus": self.n_threads, "num_gpus": 0}
            found.fit(rows, presets=self.preset, **limits)
            found.save_space()
            self.archive_ = _packed(Path(folder))
        self.__dict__.pop("_predictor", None)
        return self

    def _frame(self, X: Any) -> pd.DataFrame:
        frame = pd.DataFrame(np.asarray(X, dtype="float64")).rename(columns=str)
        names = [str(place) for place in self.categorical]
        return frame.astype(dict.fromkeys(names, "category"))

    def _loaded(self) -> Any:
        if "_predictor" not in self.__dict__:
            self._folder = tempfile.TemporaryDirectory()
            zipfile.ZipFile(io.BytesIO(self.archive_)).extractall(self._folder.name)
            self._predictor = TabularPredictor.load(self._folder.name)
        return self._predictor

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_folder", "_predictor")}


class AutoGluonClassifier(ProbabilityClassifier, _AutoGluon):
    """AutoGluon for classification."""

    def predict_proba(self, X: Any) -> np.ndarray:
        found = self._loaded().predict_proba(self._frame(X)).reindex(columns=self.classes_, fill_value=0.0)
        probabilities = found.to_numpy("float64")
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _started(self, y: np.ndarray) -> str:
        self.classes_ = np.unique(y)
        return "binary" if len(self.classes_) == 2 else "multiclass"


class AutoGluonRegressor(RegressorMixin, _AutoGluon):
    """AutoGluon for regression."""

    def predict(self, X: Any) -> np.ndarray:
        return self._loaded().predict(self._frame(X)).to_numpy("float64")

    def _started(self, y: np.ndarray) -> str:
        return "regression"


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return packed.getvalue()
