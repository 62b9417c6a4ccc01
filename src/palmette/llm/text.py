"""Texts for and from models: an estimate of their tokens, visible characters, and fenced code blocks.

Tokenisers differ and their tables must be downloaded, so there is one estimate for all models: a token for every
three bytes of UTF-8. English prose takes a token for about 4.5, code for about 3.5, Chinese for about 3, so the
estimate is rarely too low, as a budget requires.
"""

import re
import unicodedata
from typing import NamedTuple

BYTES_PER_TOKEN = 3
MOST = 400_000  # token limit of a run without other limits; a feature view takes about a tenth


def token_limit(tokens: int | None, money: float | None) -> int | None:
    """Token limit of a run, from the given limits; None if only money is limited.

    >>> token_limit(None, None), token_limit(None, 2.5), token_limit(1000, 2.5)
    (400000, None, 1000)
    """
    return MOST if tokens is None and money is None else tokens


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text.

    >>> estimate_tokens(""), estimate_tokens("a word or two")
    (0, 5)
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


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


_OPENING = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[ \t]*(?P<label>[^`\n]*)$")

ALIASES = {"py": "python", "python3": "python", "yml": "yaml", "jsonc": "json", "json5": "json", "md": "markdown"}


class Block(NamedTuple):
    """One fenced block."""

    language: str  # in lower case, by its usual name; empty if the fence names none
    label: str
    """The text after the language, e.g. the field that the block is for."""
    text: str
    closed: bool  # false if the text ends inside the block


class SplitText(NamedTuple):
    """Blocks and prose of a text."""

    blocks: list[Block]
    prose: str  # the text outside of blocks


def split_blocks(text: str) -> SplitText:
    """The fenced blocks of a text and the prose around them.

    A block ends at a fence that is at least as long as the one that opened it, of the same kind.

    >>> split_blocks("Here:\\n```py script\\nx = 1\\n```\\nDone.").blocks
    [Block(language='python', label='script', text='x = 1\\n', closed=True)]
    """
    blocks: list[Block] = []
    prose: list[str] = []
    inside: list[str] = []
    opened: re.Match[str] | None = None
    for line in text.splitlines(keepends=True):
        if opened is None:
            opened = _OPENING.match(line.rstrip("\r\n"))
            if opened is None:
                prose.append(line)
        elif len(bare := line.strip()) >= len(opened["fence"]) and bare == opened["fence"][0] * len(bare):
            blocks.append(_block(opened, inside, closed=True))
            opened, inside = None, []
        else:
            inside.append(line)
    if opened is not None:
        blocks.append(_block(opened, inside, closed=False))
    return SplitText(blocks, "".join(prose))


def _block(opened: re.Match[str], inside: list[str], *, closed: bool) -> Block:
    language = opened["language"].casefold()
    return Block(ALIASES.get(language, language), opened["label"].strip(), "".join(inside), closed)
