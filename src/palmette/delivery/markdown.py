"""Writes Markdown from untrusted text: markup in a specification is displayed literally."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]~|])")
_LIVE = re.compile(r"(?<!\w)([@#!])(?=[\w\[])")
_WORD_JOINER = "\u2060"


def text(value: object) -> str:
    r"""`value` as one line of prose: without markup, HTML, or mentions of people or issues.

    >>> text("a | b <img> *c*")
    'a \\| b &lt;img&gt; \\*c\\*'
    """
    return _escaped(" ".join(str(value).split()))


def _escaped(line: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return _LIVE.sub(rf"\1{_WORD_JOINER}", escaped)


def prose(value: object) -> str:
    r"""Like `text`, but keeps code between backticks.

    >>> prose("`a < b` and c < d")
    '`a < b` and c &lt; d'
    """
    spans = re.split(r"(`[^`]+`)", " ".join(str(value).split()))
    return "".join(code(span[1:-1]) if index % 2 else _escaped(span) for index, span in enumerate(spans))


def code(value: object) -> str:
    r"""`value` as a code span that also works inside a table.

    >>> code("a || b")
    '`a \\|\\| b`'
    """
    line = " ".join(str(value).split())
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}".replace("|", "\\|")


def block(value: str, language: str = "") -> str:
    """`value` as a fenced block, with a longer fence if it contains fences."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", value)), default=0) + 1)
    return f"{fence}{language}\n{value.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Cells must be Markdown, made by `text` or `code`."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def items(lines: Iterable[str]) -> str:
    """A list. Lines must be Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def sections(parts: Iterable[tuple[str, str]]) -> str:
    """Second-level sections, without empty ones."""
    return "\n\n".join(f"## {title}\n\n{content.strip()}" for title, content in parts if content.strip()) + "\n"
