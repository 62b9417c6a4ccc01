"""Data sets by name: `sklearn:iris`, `openml:31`, `openml:credit-g`, `uci:856`, each by its hub's own client."""

from __future__ import annotations

import hashlib
import importlib
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from palmette.automl.data.opening import Opened
from palmette.errors import UserError, nearest

NAMED = re.compile(r"(sklearn|openml|uci):(.+)")
BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
FETCHED = ("california_housing", "covtype", "kddcup99")
INSTEAD = "Download the set as a file and name that file."


class HubSet(NamedTuple):
    """A set of a hub: the table, the names of its targets."""

    frame: pd.DataFrame
    targets: tuple[str, ...]


def is_named(place: str) -> bool:
    """Whether a place is the name of a set rather than a path."""
    return bool(NAMED.fullmatch(place)) and not Path(place).exists()


def fetch(place: str) -> HubSet:
    """The set of this name.

    Raises:
        UserError: there is no such set, its client is not installed, or the hub cannot be reached.
    """
    found = NAMED.fullmatch(place)
    assert found is not None
    clients: dict[str, Callable[[str], HubSet]] = {"sklearn": _sklearn, "openml": _openml, "uci": _uci}
    return clients[found[1]](found[2].strip())


def as_opened(place: str, frame: pd.DataFrame) -> Opened:
    """What stands for the file of a set: its digest is that of the rows."""
    data = frame.to_csv(index=False).encode()
    return Opened(Path(place), "", b"", "hub", "", hashlib.sha256(data).hexdigest(), len(data))


def _client(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"This needs the package {package!r}."
        raise UserError(message, f"Install it, or: {INSTEAD}", code="no-client") from error


def _sklearn(name: str) -> HubSet:
    datasets = _client("sklearn.datasets", "scikit-learn")
    if name not in BUNDLED + FETCHED:
        hint = nearest(name, BUNDLED + FETCHED)
        meant = f" Did you mean {hint!r}?" if hint else ""
        known = ", ".join(BUNDLED + FETCHED)
        raise UserError(f"scikit-learn has no set {name!r}.{meant}", f"It has {known}.", code="no-such-set")
    load = getattr(datasets, f"{'load' if name in BUNDLED else 'fetch'}_{name}")
    found = _reached(f"sklearn:{name}", lambda: load(as_frame=True))
    frame = found.frame
    targets = tuple(map(str, found.target.columns if isinstance(found.target, pd.DataFrame) else [found.target.name]))
    labels = list(getattr(found, "target_names", ())) if len(targets) == 1 else []
    if len(labels) == frame[targets[0]].nunique() and pd.api.types.is_integer_dtype(frame[targets[0]]):
        frame = frame.assign(**{targets[0]: [str(labels[code]) for code in frame[targets[0]]]})
    return HubSet(frame, targets)


def _openml(name: str) -> HubSet:
    datasets = _client("sklearn.datasets", "scikit-learn")
    wanted = {"data_id": int(name)} if name.isdecimal() else {"name": name, "version": "active"}
    found = _reached(
        f"openml:{name}", lambda: datasets.fetch_openml(**wanted, as_frame=True, parser="auto", n_retries=1, delay=0.5)
    )
    targets = tuple(map(str, found.target_names or ()))
    return HubSet(found.frame, targets)


def _uci(name: str) -> HubSet:
    client = _client("ucimlrepo", "ucimlrepo")
    wanted = {"id": int(name)} if name.isdecimal() else {"name": name}
    found = _reached(f"uci:{name}", lambda: client.fetch_ucirepo(**wanted))
    targets = found.data.targets
    frame = pd.concat([found.data.features, targets], axis=1)
    return HubSet(frame, tuple(map(str, targets.columns)) if targets is not None else ())


def _reached(place: str, fetch: Callable[[], Any]) -> Any:
    """What a client gives; its failure is a clear error, whatever class it is of."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries and versions; the error says what matters
            return fetch()
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        message = f"The set {place!r} could not be fetched: {reason}."
        raise UserError(message, INSTEAD, code="hub-unreachable") from error
