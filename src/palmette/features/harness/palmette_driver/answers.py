"""Writing answers, each within its time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Answers:
    """The folder of answers, and the clock: an item that takes too long ends the process."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self._seconds = seconds

    def write(self, index: int, answer: dict[str, Any]) -> None:
        """Written whole or not at all."""
        part = self.folder / f"{index}.part"
        part.write_text(json.dumps(answer), encoding="utf-8")
        part.replace(self.folder / f"{index}.json")

    @contextmanager
    def timed(self, index: int) -> Iterator[None]:
        """Bounds the time of item `index`. A thread, because untrusted code may replace signal handlers."""
        clock = threading.Timer(self._seconds, self._too_late, (index,))
        clock.daemon = True
        clock.start()
        try:
            yield
        finally:
            clock.cancel()

    def _too_late(self, index: int) -> None:
        self.write(index, {"error": f"TimeoutError: it ran longer than {self._seconds:g} s"})
        os._exit(3)
