"""What a program has left that would lead whoever reads its files astray: links out of its folders, pipes, devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_CLOCK = 2.0
"""Seconds by which the times of files may be behind the clock."""


def swept(folders: Iterable[Path], since: float) -> str:
    """Removes them from the folders, where they have come since a time, and says which; empty when there were none."""
    folders = [folder.resolve() for folder in folders]
    removed = []
    for path, found in _entries(folders):
        is_new = found.st_ctime >= since - _CLOCK
        if is_new and not stat.S_ISREG(found.st_mode) and (not path.is_symlink() or _leads_out(path, folders)):
            with suppress(OSError):
                path.unlink()
                removed.append(path.name)
    names = ", ".join(map(repr, removed[:5])) + (f" and {len(removed) - 5} more" if len(removed) > 5 else "")
    return f"it left what is no file, or leads out of its folders: {names}; removed" if removed else ""


def _leads_out(link: Path, folders: list[Path]) -> bool:
    target = Path(os.path.realpath(link))  # unlike resolve, at peace with links in a circle
    return not any(target.is_relative_to(folder) for folder in folders)


def _entries(folders: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """All that is no folder."""
    todo = [str(folder) for folder in folders]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                else:
                    with suppress(OSError):
                        yield Path(entry.path), entry.stat(follow_symlinks=False)
