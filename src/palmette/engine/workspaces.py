"""The private folders of invocations, below `work`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from palmette.engine.storage_errors import disk_errors


def workspace_name(invocation: int, actor: str) -> str:
    """Name of an invocation's folder."""
    return f"{invocation:03d}-{actor}"


class Workspaces:
    """The workspaces of one run."""

    def __init__(self, run: Path) -> None:
        self._run, self._root = run, run / "work"

    def make(self, invocation: int, actor: str, item: int | None = None) -> Path:
        """The folder of an invocation, or of one element of a fan-out."""
        folder = self._root / f"{workspace_name(invocation, actor)}{'' if item is None else f'-{item}'}"
        with disk_errors(self._run):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def clear(self, invocation: int, actor: str) -> None:
        """Deletes an invocation's folders; they are kept only for failures."""
        mine = re.compile(rf"{re.escape(workspace_name(invocation, actor))}(-\d+)?")
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if mine.fullmatch(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
