"""Fenced code blocks in Markdown text, parsed line by line."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENING = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[ \t]*(?P<label>[^`\n]*)$")

ALIASES = {"py": "python", "python3": "python", "yml": "yaml", "jsonc": "json", "json5": "json", "md": "markdown"}


class Block(NamedTuple):
    """One fenced block."""

    language: str
    """In lower case, by its usual name; empty if the fence names none."""
    label: str
    """The text after the language, e.g. the field that the block is for."""
    text: str
    closed: bool
    """False if the text ends inside the block."""


class SplitText(NamedTuple):
    """Blocks and prose of a text."""

    blocks: list[Block]
    prose: str
    """The text outside of blocks."""


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
        elif _closes(line, opened["fence"]):
            blocks.append(_block(opened, inside, closed=True))
            opened, inside = None, []
        else:
            inside.append(line)
    if opened is not None:
        blocks.append(_block(opened, inside, closed=False))
    return SplitText(blocks, "".join(prose))


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)


def _block(opened: re.Match[str], inside: list[str], *, closed: bool) -> Block:
    language = opened["language"].casefold()
    return Block(ALIASES.get(language, language), opened["label"].strip(), "".join(inside), closed)
