"""Protects the terminal: only our own styles reach it, and control characters in other text are made visible.

Names of files and columns, values, traces and answers are untrusted and may contain control sequences. The guard
covers everything that a command prints, so that individual messages need no escaping.
"""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

LAST_STANDARD = 2  # descriptor of the last of the three standard streams
ERASE_LINE = "\r\x1b[2K"  # written by itself
_OURS = r"\x1b\[(?:[012]|3[0-7])m|\r\n"  # bold, dim and colours as click writes them, and line ends
_STEERING = re.compile(rf"({_OURS})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""The text with control characters and unencodable ones replaced by their code points.

    >>> harmless("\x1b[1mbold\x1b[0m \x1b]0;owned\x07 a\rb \udcff")
    '\x1b[1mbold\x1b[0m <U+001B>]0;owned<U+0007> a<U+000D>b <U+DCFF>'
    """
    return _STEERING.sub(lambda found: found[1] or f"<U+{ord(found[0]):04X}>", text)


def guard() -> None:
    """Lets only harmless text reach a terminal; output to files and pipes is unchanged.

    A closed pipe for progress does not end a run. Results that cannot be written to a file are
    an error.
    """
    while (spare := os.open(os.devnull, os.O_RDWR)) <= LAST_STANDARD:  # else opened files would take these
        pass
    os.close(spare)
    for name, lost in (("stdout", BrokenPipeError), ("stderr", OSError)):
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open
        if not isinstance(stream, Guarded):
            setattr(sys, name, Guarded(stream, lost))


class Guarded:
    """A text stream that passes only harmless text to a terminal."""

    def __init__(self, stream: TextIO, lost: type[OSError]) -> None:
        """`lost`: raised if the reader has gone."""
        self._stream, self._lost = stream, lost
        self._is_screen = stream.isatty()

    def write(self, text: str) -> int:
        with suppress(self._lost):
            self._stream.write(harmless(text) if self._is_screen and text != ERASE_LINE else text)
        return len(text)

    def flush(self) -> None:
        with suppress(self._lost):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
