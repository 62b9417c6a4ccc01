"""Prompt context: named sections of data, the most relevant first, packed into a number of tokens.

Every section is quoted in a fence longer than any inside it, so that its content cannot end it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from palmette.documents import Model
from palmette.llm.answerer import AnswerError
from palmette.llm.text import estimate_tokens, visible

NEEDED = 0  # the rank of sections that are never cut
WORTH_CUTTING = 40  # with less room than this many tokens, a long item is left out instead of cut


class Section(Model):
    """A section of the prompt: data, never an instruction."""

    name: str
    """As in the prompt file: `{{name}}`."""
    items: tuple[str, ...]
    """Texts that are kept or left out one by one, the most relevant first."""
    rank: int = 1
    """Sections of a lower rank are packed first; those of rank 0 are never cut."""
    language: str = ""
    """Language of the fence, e.g. `python`."""


def section(name: str, *items: str, rank: int = 1, language: str = "") -> Section:
    """A section without its empty items."""
    return Section(name=name, items=tuple(item for item in items if item.strip()), rank=rank, language=language)


def pack(sections: Iterable[Section], tokens: int) -> dict[str, str]:
    """The texts of sections by name, quoted, in at most this many tokens (not counting fences and notes).

    Raises:
        AnswerError: the sections that must not be cut do not fit.
    """
    sections = list(sections)
    room, kept = tokens, dict[str, str]()
    for one in sorted(sections, key=lambda part: part.rank):
        chosen = list(one.items) if one.rank == NEEDED else _fitting(one.items, room)
        room -= sum(estimate_tokens(text) for text in chosen)
        if room < 0:
            message = f"What the prompt must show takes {-room} tokens more than there is room for, with {one.name!r}."
            raise AnswerError(message, "Raise `prompt_tokens`.", code="prompt-too-long")
        left_out = sum(map(estimate_tokens, one.items)) - sum(map(estimate_tokens, chosen))
        kept[one.name] = _shown(one, chosen, left_out)
    return {one.name: kept[one.name] for one in sections}


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that nothing inside it can close, with nothing in it that cannot be seen.

    >>> print(fenced("a ``` b", "text"))
    ````text
    a ``` b
    ````
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = visible(text).rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def _fitting(items: Sequence[str], room: int) -> list[str]:
    """The items that fit, in order; the first one that does not is cut at a line, and the rest is left out."""
    chosen = _first(items, room)
    room -= sum(map(estimate_tokens, chosen))
    if len(chosen) < len(items) and room >= WORTH_CUTTING and (start := _start(items[len(chosen)], room)):
        chosen.append(start)
    return chosen


def _start(text: str, room: int) -> str:
    """The first lines of a text that fit."""
    return "".join(_first(text.splitlines(keepends=True), room))


def _first(parts: Sequence[str], room: int) -> list[str]:
    sizes = accumulate(map(estimate_tokens, parts))
    return [part for part, size in zip(parts, sizes, strict=True) if size <= room]


def _shown(one: Section, chosen: list[str], left_out: int) -> str:
    if not chosen:
        return f"(left out: about {left_out} tokens)" if left_out else "(none)"
    text = fenced("\n\n".join(item.strip("\n") for item in chosen), one.language)
    return f"{text}\n(about {left_out} tokens more were left out for room)" if left_out else text


def clipped(text: str, tokens: int) -> str:
    """The text if it fits; otherwise its first lines, quoted, with a note."""
    left_out = estimate_tokens(text) - tokens
    if left_out <= 0:
        return text
    return f"{fenced(_start(text, tokens))}\n(about {left_out} tokens more were left out for room)"


def abridged(text: str, most: int) -> str:
    """The start and the end of a text of more than `most` characters; the cause of an error is at its end."""
    return text if len(text) <= most else f"{text[: most // 3]}\n[...]\n{text[-2 * most // 3 :]}"


def without(text: str, replaced: Mapping[str, str]) -> str:
    """A text with machine-specific parts such as folders replaced, the longest first."""
    for old in sorted(filter(None, replaced), key=len, reverse=True):
        text = text.replace(old, replaced[old])
    return text
