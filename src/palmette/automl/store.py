"""What is too large or too binary for artefacts: fitted models, their predictions, rows in the form that code reads."""

from __future__ import annotations

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
