"""Data sets by name: `sklearn:iris`, `openml:31`, `openml:credit-g`, `uci:856`, each by its hub's own client."""

from __future__ import annotations

import hashlib
import importlib
import re
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.automl.samples.opening import Opened
from palmette.automl.samples.tables import Raw, typed_table
from palmette.errors import UserError, nearest

NAMED = re.compile(r"(sklearn|openml|uci):(.+)")
BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
FETCHED = ("california_housing", "covtype", "kddcup99")
INSTEAD = "Download the set as a file and name that file."


def is_named(place: str) -> bool:
    """Whether a place is the name of a set rather than a path."""
    return bool(NAMED.fullmatch(place)) and not Path(place).exists()


def fetch(place: str) -> tuple[Raw, tuple[str, ...]]:
    """The set of this name, with the digest of its rows, and its targets; UserError where it cannot be fetched."""
    hub, _, name = place.partition(":")
    if hub == "sklearn" and name.strip() not in (known := BUNDLED + FETCHED):
        near = nearest(name, known)
        hint = f" Did you mean {near!r}?" if near else ""
        raise UserError(f"scikit-learn has no set {name!r}.{hint}", f"It has {', '.join(known)}.", code="no-such-set")
    module, package = ("ucimlrepo", "ucimlrepo") if hub == "uci" else ("sklearn.datasets", "scikit-learn")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries and versions; the error has the reason
            frame, targets = _fetched(hub, importlib.import_module(module), name.strip())
    except ImportError as error:
        message = f"This needs the package {package!r}."
        raise UserError(message, f"Install it, or: {INSTEAD}", code="no-client") from error
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(
            f"The set {place!r} could not be fetched: {reason}.", INSTEAD, code="hub-unreachable"
        ) from error
    data = frame.to_csv(index=False).encode()
    opened = Opened(Path(place), "", b"", "hub", "", hashlib.sha256(data).hexdigest(), len(data))
    return typed_table(opened, frame, "hub"), tuple(map(str, targets))


def _fetched(hub: str, client: Any, name: str) -> tuple[pd.DataFrame, list[Any]]:
    by_number = name.isdecimal()
    if hub == "uci":
        data = client.fetch_ucirepo(id=int(name)).data if by_number else client.fetch_ucirepo(name=name).data
        return pd.concat([data.features, data.targets], axis=1), list(() if data.targets is None else data.targets)
    if hub == "openml":
        wanted = {"data_id": int(name)} if by_number else {"name": name, "version": "active"}
        found = client.fetch_openml(**wanted, as_frame=True, parser="auto", n_retries=1, delay=0.5)
        return found.frame, list(found.target_names or ())
    found = getattr(client, f"{'load' if name in BUNDLED else 'fetch'}_{name}")(as_frame=True)
    frame, targets = found.frame, list(pd.DataFrame(found.target))
    labels = list(getattr(found, "target_names", ()))
    if len(targets) == 1 and len(labels) == frame[targets[0]].nunique():
        frame = frame.assign(**{str(targets[0]): [str(labels[code]) for code in frame[targets[0]]]})
    return frame, targets
