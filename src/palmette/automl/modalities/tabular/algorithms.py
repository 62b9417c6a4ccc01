"""The algorithms, their tracks and libraries, and which of them this machine has."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

Traditional = Literal["lightgbm", "xgboost", "catboost", "extra_trees", "random_forest", "linear", "knn", "mlp"]
Neural = Literal["tabm", "resnet"]
Algorithm = Traditional | Neural | Literal["tabpfn", "autogluon"]
Track = Literal["traditional", "neural", "pretrained", "autogluon"]
"""A family of algorithms, with a file of its own in the project."""

ALGORITHMS: tuple[Traditional, ...] = get_args(Traditional)
"""Of the traditional track, in the order of preference."""
NETWORKS: Mapping[Algorithm, str] = {"tabm": "TabM", "resnet": "ResNet"}
"""Of the neural track: the class of each."""

BOOSTING: frozenset[Algorithm] = frozenset({"lightgbm", "xgboost", "catboost"})
LIBRARIES: Mapping[Algorithm, str] = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "tabm": "torch",
    "resnet": "torch",
    "tabpfn": "tabpfn",
    "autogluon": "autogluon.tabular",
}
"""Of the algorithms that scikit-learn does not have, the package."""
CLASSICAL: frozenset[Algorithm] = frozenset({"extra_trees", "random_forest", "knn", "mlp"})

_DISTRIBUTIONS = {"scikit-learn": ("scikit-learn",), "xgboost": ("xgboost-cpu", "xgboost")}
"""Where a package can come from a distribution of another name."""


def installed(wanted: Iterable[Algorithm] = ALGORITHMS) -> tuple[Algorithm, ...]:
    """Those of the wanted algorithms whose library is there, in the order given."""
    return tuple(one for one in wanted if one not in LIBRARIES or _is_there(LIBRARIES[one]))


def _is_there(package: str) -> bool:
    """Whether it can be imported; nothing of it is."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # what it is a part of
        return False


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
