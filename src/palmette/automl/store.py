"""Storage for data too large for artefacts, or binary: fitted models, their predictions, and typed rows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from palmette.errors import DeveloperError


class Store:
    """Named folders next to a run's artefacts, which refer to them by name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        """Returns the folder with a name; it may not exist."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise DeveloperError(f"{name!r} does not name a folder in the store.", code="store-name")
        return self.root / name

    def fresh(self, name: str) -> Path:
        """Returns an empty folder with a name; deletes its earlier contents."""
        folder = self.folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
