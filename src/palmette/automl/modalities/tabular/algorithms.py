"""The algorithms of the traditional track, and which of them this machine has."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable
from typing import Literal, get_args

Algorithm = Literal["lightgbm", "xgboost", "catboost", "extra_trees", "random_forest", "linear", "knn", "mlp"]

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
"""In the order of preference."""

BOOSTING: frozenset[Algorithm] = frozenset({"lightgbm", "xgboost", "catboost"})
"""Those with a library of their own, named as they are; scikit-learn has the others."""
CLASSICAL: frozenset[Algorithm] = frozenset({"extra_trees", "random_forest", "knn", "mlp"})

_DISTRIBUTIONS = {"scikit-learn": ("scikit-learn",), "xgboost": ("xgboost-cpu", "xgboost")}
"""Where a package can come from a distribution of another name."""


def installed(wanted: Iterable[Algorithm] = ALGORITHMS) -> tuple[Algorithm, ...]:
    """Those of the wanted algorithms whose library is there, in the order given."""
    return tuple(one for one in wanted if one not in BOOSTING or importlib.util.find_spec(one))


def pinned(package: str) -> str:
    """A line of requirements.txt: the version that is installed here; the bare name where none is.

    >>> pinned("a-package-that-nobody-has")
    'a-package-that-nobody-has'
    """
    for name in _DISTRIBUTIONS.get(package, (package,)):
        try:
            return f"{name}=={importlib.metadata.version(name).partition('+')[0]}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return package
