"""Excerpts of a README that are relevant to one kind of file, within a token limit.

Sections headed for other kinds of files are left out, except for rules about every file. Omissions are listed, so
that the excerpt is not mistaken for the whole.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from palmette.features.repository.readme import read_readme
from palmette.llm.text import estimate_tokens

Stage = Literal["config", "utilities", "scripts", "tests"]
"""The kind of file that the reader of the excerpt writes."""

_WORDS: dict[Stage, re.Pattern[str]] = {
    "config": re.compile(r"config|ya?ml|\bnames\b|naming|snake", re.IGNORECASE),
    "utilities": re.compile(r"util|helper|shared|deprecat|import|\bre-?use", re.IGNORECASE),
    "scripts": re.compile(r"script|feature|transform|\bjobs?\b|pipeline|util|helper|import", re.IGNORECASE),
    "tests": re.compile(r"\btests?\b|testing|pytest|fixture|assert", re.IGNORECASE),
}
"""Patterns of texts about each stage."""
_TITLES: dict[Stage, re.Pattern[str]] = {
    "config": re.compile(r"config", re.IGNORECASE),
    "utilities": re.compile(r"util|helper", re.IGNORECASE),
    "scripts": re.compile(r"script|feature|transform|\bjobs?\b|pipeline", re.IGNORECASE),
    "tests": re.compile(r"\btest", re.IGNORECASE),
}
"""Patterns of headings about each stage, which also mark sections for other stages."""
_NARROW: tuple[Stage, ...] = ("config", "utilities")
"""Stages that need only texts about them."""
_EVERYWHERE = re.compile(
    r"\b(every|all|each|any|no)\s+(\w+\s+)?(files?|modules?|functions?|code|imports?)\b|everywhere|line length",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"install|set.?up|licen[cs]e|contribut|deploy|getting started|usage|running", re.IGNORECASE)
_COMMANDS = re.compile(r"\s*(```|~~~)\w*\n\s*(\$ |(pip|make|git|python|pytest|ruff|docker|uv|poetry|spark-submit)\b)")
_TREE = re.compile(r"(?:(?:```|~~~)\w*\n)?(?:[│├└─|\s]*[\w.<>{}*-]+/\S*(?:[ \t]{2,}.*)?(?:\n|$))+(?:```|~~~)?")
"""A list of paths; the paths that matter are given to each actor."""
_LONGEST = 12
"""Maximum length of a block in lines."""
_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_BULLET = re.compile(r"([-*+]|\d+[.)])\s")


class _Block(NamedTuple):
    """A bullet, paragraph, table or code block, with its heading."""

    heading: str
    text: str


def excerpt(text: str, stage: Stage, tokens: int) -> str:
    """The parts of a README that are relevant to the stage, in file order; the most relevant ones if not all fit."""
    blocks = list(_blocks(text))
    scores = [_score(block, stage) for block in blocks]
    wanted = sorted((score, index) for index, score in enumerate(scores) if score is not None)
    kept: set[int] = set()
    for _, index in wanted:
        size = estimate_tokens(blocks[index].text) + 2
        if size <= tokens:
            kept.add(index)
            tokens -= size
    return "\n\n".join(_rendered(blocks, kept))


def _score(block: _Block, stage: Stage) -> int | None:
    """Rank of a block, where 0 is the most relevant; None to leave it out."""
    if _COMMANDS.match(block.text) or _TREE.fullmatch(block.text):
        return None
    if _WORDS[stage].search(block.heading):
        return 0
    named, general = bool(_WORDS[stage].search(block.text)), bool(_EVERYWHERE.search(block.text))
    if stage in _NARROW:
        return 1 if named else None
    elsewhere = any(pattern.search(block.heading) for pattern in _TITLES.values())
    if not named and not general and (elsewhere or _OPERATION.search(block.heading)):
        return None
    is_rule = read_readme(block.text) != read_readme("")
    return 1 if is_rule and (named or general) else 2 if is_rule or named or general else 3


def _blocks(text: str) -> Iterator[_Block]:
    heading, lines, fence = "", list[str](), ""
    for line in map(str.rstrip, text.splitlines()):
        opened = _FENCE.match(line)
        if fence or opened:
            lines.append(line)
            fence = "" if fence and opened and opened[1] == fence else fence or (opened[1] if opened else "")
            continue
        if not line.strip() or _HEADING.match(line) or _BULLET.match(line):
            if lines:
                yield _Block(heading, "\n".join(lines))
            lines = []
            heading = line if _HEADING.match(line) else heading
            if not line.strip() or _HEADING.match(line):
                continue
        lines.append(line)
        if len(lines) == _LONGEST:
            yield _Block(heading, "\n".join(lines))
            lines = []
    if lines:
        yield _Block(heading, "\n".join(lines))


def _rendered(blocks: list[_Block], kept: set[int]) -> Iterator[str]:
    """The selected blocks under their headings, with a list's bullets kept together, and a note about omissions."""
    heading, part = "", list[str]()
    for index in sorted(kept):
        block = blocks[index]
        if block.heading != heading or not part:
            yield from ["\n".join(part).rstrip()] if part else []
            heading, part = block.heading, [block.heading, ""] if block.heading else []
        part.append(block.text if _BULLET.match(block.text) else f"{block.text}\n")
    yield from ["\n".join(part).rstrip()] if part else []
    left_out = (block for index, block in enumerate(blocks) if index not in kept)
    if missing := dict.fromkeys(block.heading.lstrip("# ") or "the beginning" for block in left_out):
        yield f"[Left out, all or part of: {'; '.join(missing)}.]"
