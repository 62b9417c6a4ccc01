"""The classes and the groups that a request speaks of: their names and how many they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from palmette.automl.requirements.quantities import Amount, amounts
from palmette.automl.requirements.text import Span, Text

_WORD = r"[A-Za-z0-9_'&+-]+"
_KINDS = (
    r"(?:categor(?:y|ies)|class(?:es)?|labels?|types?|kinds?|groups?|species|levels?|"
    r"genres?)"
)
_GROUPS = (
    r"(?:groups?|clusters?|segments?|topics?|categories|types?|kinds?|sorts?|classes|bins|buckets|"
    r"families|communities|personas?|parts)"
)

_MEASURED = (
    r"\b(?:recall|precision|sensitivity|f-?1|f score|hit rate)\b(?:[^.;]|\.\d){0,60}?"
    r"\b(?:of|for|on)\s+(?:the\s+)?(?:class\s+|label\s+)?"
)
_CLASS = r"(?:positive|interesting|relevant) (?:class|label|case|value|one)|(?:class|label|case|value) of interest"
_POSITIVE = rf"\b(?:the )?(?:{_CLASS})(?:es|s)?\s*(?:is|are|=|:|being|should be|must be)?\s*"
_IS_POSITIVE = rf"(?:is|are|as|being|=|counts? as)\s+(?:the\s+)?(?:{_CLASS}|positives?\b)"


class Classes(NamedTuple):
    names: tuple[str, ...] = ()
    number: int | None = None
    words: str = ""


def classes(text: Text) -> Classes:
    """The classes of a classification, as far as the request tells."""
    names, words = _names(text)
    if (
        match := re.search(rf"\b(\d+)\s+(?:(?!{_KINDS}\b)[\w-]+\s+){{0,2}}{_KINDS}\b", text.plain, re.I)
    ) is not None and 2 <= int(match[1]) <= 1000:
        return Classes(
            names if len(names) == int(match[1]) else (), int(match[1]), words or text.quote(match.start(), match.end())
        )
    if names:
        return Classes(names, len(names), words)
    if (match := re.search(r"\bbinary\b|\byes/no\b|\btwo-class\b", text.plain, re.I)) is not None:
        return Classes((), 2, text.quote(match.start(), match.end()))
    if (
        match := re.search(
            r"\bwhether\b(?! or\b)|\b(?:predict|tell|know|determine|forecast|guess) if\b|"
            r"\b(?:detect|flag|spot)(?:s|ing)? (?!the |which |what )[\w-]+",
            text.plain,
            re.I,
        )
    ) is not None:
        return Classes((), 2, text.quote(match.start(), match.end()))
    return Classes()


class Groups(NamedTuple):
    """How many groups are wanted; a number, or bounds of it."""

    number: int | None = None
    least: int | None = None
    most: int | None = None
    words: str = ""


_OF_GROUPS = rf"(?:(?!{_GROUPS}\b)[\w-]+\s+){{0,3}}?{_GROUPS}\b"
_RANGE = re.compile(rf"\b(\d+)\s*(?:to|-|or|and|until)\s*(\d+)\s+(?:of them\b|{_OF_GROUPS})", re.I)
_NEAR = 3
"""Words between a comparison and the number of groups that it bounds."""


def clusters(text: Text) -> Groups:
    """How many groups are wanted."""
    if (match := _RANGE.search(text.plain)) is not None and 2 <= int(match[1]) <= int(match[2]):
        return Groups(None, int(match[1]), int(match[2]), text.quote(match.start(), match.end()))
    return next((one for one in _counted(text) if _can_be(one)), Groups())


def _can_be(groups: Groups) -> bool:
    return all(one is None or one >= 2 for one in (groups.number, groups.least, groups.most))


def _spoken_of(text: Text, amount: Amount) -> bool:
    """Whether groups are what the sentence was about before a number."""
    before = text.plain[text.sentence(amount.start).start : amount.span.start]
    return re.search(rf"\b{_GROUPS}\b", before, re.I) is not None


def _counted(text: Text) -> Iterator[Groups]:
    for amount in amounts(text, []):
        after = re.match(rf"\s+{_OF_GROUPS}", text.plain[amount.end :], re.I)
        if after is None and amount.comparison and _spoken_of(text, amount):
            after = re.match(r"(?: of them)?(?=\s*(?:[.,;)]|$))", text.plain[amount.end :])
        if after is None or amount.unit or amount.value % 1:
            continue
        count, sign = int(amount.value), amount.comparison
        if amount.compared and len(text.plain[amount.compared.end : amount.start].split()) > _NEAR:
            sign = None
        words = text.quote(amount.span.start if sign else amount.start, amount.end + after.end())
        match sign:
            case ">=" | ">":
                yield Groups(least=count + (sign == ">"), words=words)
            case "<=" | "<":
                yield Groups(most=count - (sign == "<"), words=words)
            case _:
                yield Groups(count, words=words)
    for pattern in (
        r"\bk\s*=\s*(\d+)",
        rf"\b{_GROUPS}\s*(?:=|:)\s*(\d+)",
        rf"\bnumber of {_GROUPS}\s*(?:is|=|:|should be|of)?\s*(\d+)",
        r"\binto (\d+)\b",
    ):
        if (match := re.search(pattern, text.plain, re.I)) is not None:
            yield Groups(int(match[1]), words=text.quote(match.start(), match.end()))


def speaks_of_positive(text: Text) -> Span | None:
    """Where it is said which class is the positive one."""
    match = re.search(rf"(?<!\S)\S{{1,60}}\s+{_IS_POSITIVE}|{_POSITIVE}[^\s;,.?!]*", text.plain, re.I)
    return Span(match.start(), match.end()) if match else None


def measured_class(text: str, values: Sequence[str], named: Sequence[str] = ()) -> str | None:
    """The one of a column's values that a metric is told to be of: `recall of 'bad'`, `precision for edible`.

    Args:
        named: Classes as the request calls them; one stands for a value of a single letter that it begins with.
    """
    called = {value: value for value in values}
    called |= {name: value for name in named for value in values if value.casefold() == name[:1].casefold()}
    found = {
        value
        for name, value in called.items()
        if re.search(
            rf"(?:{_MEASURED}|{_POSITIVE})[\"'`]?{re.escape(name)}(?![\w-])|"
            rf"(?<![\w-]){re.escape(name)}[\"'`]?\s+{_IS_POSITIVE}", text, re.I
        ) is not None
    }
    return found.pop() if len(found) == 1 else None


def _names(text: Text) -> tuple[tuple[str, ...], str]:
    plain = text.plain
    numbered = list(re.finditer(rf"({_WORD})\s*\((\d+)\)", plain))
    if len(numbered) >= 2 and numbered[-1].end() - numbered[0].start() < 40 * len(numbered):
        return tuple(match[1] for match in numbered), text.quote(numbered[0].start(), numbered[-1].end())
    if (match := re.search(rf"\b{_KINDS}\s*:\s*([^.\n;:]+)", plain, re.I)) is not None and "," in match[1]:
        items = [
            item.strip() for item in re.split(r",\s*(?:and|or)\s+|,\s*|\s+(?:and|or)\s+", match[1]) if item.strip()
        ]
        if 2 <= len(items) <= 50 and all(len(item.split()) <= 5 for item in items):
            return tuple(items), text.quote(match.start(), match.end())
    for pattern in (
        rf"\bas\s+(?:an?\s+|either\s+)?({_WORD})\s+or\s+(?:an?\s+)?(?!not\b)({_WORD})",
        rf"\b(?:is|are|be)\s+(?:an?\s+|either\s+)?({_WORD})\s+or\s+(?:an?\s+)?(?!not\b)"
        rf"({_WORD})",
        rf"\b(?:tell|tells|distinguish(?:es)?|separate|discriminate|"
        rf"differentiate)\s+(?:between\s+)?({_WORD})\s+(?:from|and)\s+({_WORD})",
        rf"\blabels?\s+(?:with|of|are|is)?\s*({_WORD})\s+(?:and|or)\s+({_WORD})\b",
        rf"\b({_WORD})\s+or\s+({_WORD})\s*\?",
        rf"\b({_WORD})\s+(?:vs\.?|versus)\s+({_WORD})",
    ):
        if (match := re.search(pattern, plain, re.I)) is not None and not _empty(match[1]) and not _empty(match[2]):
            return (match[1], match[2]), text.quote(match.start(), match.end())
    return (), ""


def _empty(word: str) -> bool:
    return word.casefold() in (
        "the",
        "a",
        "an",
        "more",
        "less",
        "possible",
        "many",
        "much",
        "well",
        "soon",
        "it",
        "not",
        "than",
        "better",
        "higher",
        "lower",
    )
