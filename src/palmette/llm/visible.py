"""Makes invisible and reordering characters visible."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Control and format characters, unassigned and private code points, line and paragraph separators."""
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks without a glyph, except variation selectors of emoji."""


def visible(text: str) -> str:
    r"""The text with each invisible character as its code point; line feeds and tabs stay.

    >>> visible("if role != '\u202euser':\r\n\t# ok\u200b")
    "if role != '<U+202E>user':\n\t# ok<U+200B>"
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if _shows(char) else f"<U+{ord(char):04X}>" for char in text)


def _shows(char: str) -> bool:
    return char in "\n\t" or (unicodedata.category(char) not in _INVISIBLE and not _FILLERS.match(char))
