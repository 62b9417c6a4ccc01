"""A temporary folder that is gone when its process is, however that ended: what a killed one left, the next removes."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from palmette.sandbox.supervisor.folders import remove

_LOCK = ".lock"
_AGE = 60.0
"""Seconds after which a folder that nobody holds is nobody's."""


class Place:
    """Made at once; the kernel lets go of it with this process."""

    def __init__(self, prefix: str) -> None:
        _tidy(prefix)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        self._held = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        remove(str(self.folder))
        os.close(self._held)


def _tidy(prefix: str) -> None:
    """Removes this user's folders of that kind whose processes are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            found = path.lstat()
            if found.st_uid != os.getuid() or found.st_mtime > time.time() - _AGE:
                continue
            held = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(str(path))
            finally:
                os.close(held)
