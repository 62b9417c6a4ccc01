"""What reaches the screen: our own styles, and of everything else only what shows.

Names of files and columns, values, traces and answers come from elsewhere and may hold sequences that steer a terminal:
they are written out. This holds for all that a command prints, so that no message has to think of it.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

_OURS = r"\x1b\[(?:[012]|3[0-7])m|\r\x1b\[2K|\r\n"
"""Bold, dim and colours, as click writes them; a line of progress that is taken back; ends of lines."""
_STEERING = re.compile(rf"({_OURS})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""The text with what steers a terminal, and what cannot be written, as its number.

    >>> harmless("\x1b[1mbold\x1b[0m \x1b]0;owned\x07 a\rb \udcff")
    '\x1b[1mbold\x1b[0m <U+001B>]0;owned<U+0007> a<U+000D>b <U+DCFF>'
    """
    return _STEERING.sub(lambda found: found[1] or f"<U+{ord(found[0]):04X}>", text)


def guard() -> None:
    """Lets only harmless text through to the screen; what goes into files and pipes stays as it is."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty():
            setattr(sys, name, Harmless(stream))


class Harmless:
    """A stream of text that lets only harmless text through."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(harmless(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
