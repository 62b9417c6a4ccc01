"""Writing answers, each within its time, by functions that are held here: elsewhere others may put something else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from hmac import new
from json import dumps
from pathlib import Path
from typing import Any

PATIENCE = 5
"""How much longer an item may take on the clock than of this process's own time: Spark works elsewhere, and the
machine may be busy."""
_LOOK_EVERY = 0.2


def seal(nonce: str, index: int, text: str, frame: bytes) -> str:
    """A signature of an answer and its frame; computing it takes the nonce."""
    return new(nonce.encode(), f"{index}\n{text}\n".encode() + frame, sha256).hexdigest()


class Answers:
    """The folder of answers, and the clock: an item that takes too long ends the process."""

    def __init__(self, folder: Path, seconds: float, root: str, nonce: str) -> None:
        """With `nonce` answers are sealed: untrusted code in this process does not see it."""
        self.folder = folder
        self._nonce = nonce
        self._seconds = seconds
        self._root = dumps(f"{root}/")[1:-1]

    def write(self, index: int, answer: dict[str, Any]) -> None:
        """Written whole or not at all; paths are relative to the root, whose place differs from run to run."""
        part, frame = self.folder / f"{index}.part", self.folder / f"{index}.arrow"
        text = dumps(answer).replace(self._root, "")
        content = frame.read_bytes() if frame.exists() else b""
        part.write_text(f"{seal(self._nonce, index, text, content)}\n{text}", encoding="utf-8")
        part.replace(self.folder / f"{index}.json")

    @contextmanager
    def timed(self, index: int) -> Iterator[None]:
        """Bounds the time of item `index`. A thread, because untrusted code may replace signal handlers."""
        done = threading.Event()
        threading.Thread(target=self._watch, args=(index, done), daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _watch(self, index: int, done: threading.Event) -> None:
        worked, waited = time.process_time(), time.monotonic()
        while not done.wait(_LOOK_EVERY):
            own, clock = time.process_time() - worked, time.monotonic() - waited
            if own > self._seconds or clock > PATIENCE * self._seconds:
                self.write(index, {"error": f"TimeoutError: it ran longer than {self._seconds:g} s"})
                os._exit(3)
