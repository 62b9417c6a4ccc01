"""What is too large or too binary for artefacts: fitted models, their predictions, rows in the form that code reads."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from palmette.errors import DeveloperError


class Store:
    """Folders beside the artefacts of a run, by name; artefacts refer to them by name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        """The folder of this name, which may be absent."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise DeveloperError(f"{name!r} is no name of a folder in the store.", code="store-name")
        return self.root / name

    def fresh(self, name: str) -> Path:
        """The folder of this name, empty."""
        folder = self.folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


def cache_folder(name: str) -> Path:
    """A folder of this name in the user's cache, which is made where there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palmette" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
