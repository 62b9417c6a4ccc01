"""Writes answers within their time limits. Functions are imported early, before untrusted code could replace them."""

import os
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from hmac import new
from json import dumps
from pathlib import Path
from typing import Any

PATIENCE = 5
"""Ratio of the wall-clock limit of an item to its processor time: Spark works in another process, and the machine
may be busy.
"""
_LOOK_EVERY = 0.2


def seal(nonce: str, index: int, text: str) -> str:
    """Signs an answer; the signature requires the nonce."""
    return new(nonce.encode(), f"{index}\n{text}".encode(), sha256).hexdigest()


def _text(value: Any) -> str:
    """A value of a frame that JSON lacks, in a form that `palmette.features.frame_json` reads if it has its type."""
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)


class Answers:
    """The folder of answers, with a time limit: an item that exceeds it ends the process."""

    def __init__(self, folder: Path, seconds: float, root: str, nonce: str) -> None:
        """Answers are signed with `nonce`, which untrusted code in this process is not given."""
        self.folder = folder
        self._nonce = nonce
        self._seconds = seconds
        self._root = dumps(f"{root}/")[1:-1]

    def write(self, index: int, answer: dict[str, Any]) -> None:
        """Writes an answer atomically, with paths relative to the root, which differs between runs."""
        part = self.folder / f"{index}.part"
        text = dumps(answer, default=_text).replace(self._root, "")
        part.write_text(f"{seal(self._nonce, index, text)}\n{text}", encoding="utf-8")
        part.replace(self.folder / f"{index}.json")

    @contextmanager
    def timed(self, index: int) -> Iterator[None]:
        """Limits the time of item `index`. Uses a thread, because untrusted code may replace signal handlers."""
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
