"""Plain requests in other languages, word by word into the English that the rules know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from palmette.automl.requirements.vocabulary import vocabulary
from palmette.documents import Model, read_document

_WORD = re.compile(r"[^\W\d_]+")


class _Languages(Model):
    de: Mapping[str, tuple[str, ...]]
    fr: Mapping[str, tuple[str, ...]]
    es: Mapping[str, tuple[str, ...]]
    pt: Mapping[str, tuple[str, ...]]


class Language(NamedTuple):
    """The words of a language, and what they are in English."""

    name: str
    words: re.Pattern[str]
    """One group for each phrase."""
    english: tuple[str, ...]
    """By number of the group, from 0: what the phrase is in English."""

    def translated(self, match: re.Match[str]) -> str:
        """What stands for a phrase, with the blank that keeps it from its neighbour."""
        assert match.lastindex is not None
        return self.english[match.lastindex - 1] + (" " if match[0].endswith("'") else "")


def language_of(text: str) -> Language | None:
    """The language other than English of which a text has the most words; None where English has as many.

    >>> language_of("Sage den Preis voraus").name, language_of("Predict the price")
    ('de', None)
    """
    known = vocabulary()
    plain = _WORD.findall(text.casefold())
    least = sum(word in known.english or word in known.empty for word in plain)
    counts = {one: sum(len(_WORD.findall(match[0])) for match in one.words.finditer(text)) for one in _languages()}
    best = max(counts, key=lambda one: counts[one])
    return best if counts[best] > least else None


@cache
def _languages() -> tuple[Language, ...]:
    made = read_document(Path(__file__).with_name("languages.yaml"), _Languages)
    return tuple(_compiled(name, getattr(made, name)) for name in _Languages.model_fields)


def _compiled(name: str, table: Mapping[str, tuple[str, ...]]) -> Language:
    pairs = [(phrase, english) for english, phrases in table.items() for phrase in phrases]
    pairs.sort(key=lambda pair: -len(pair[0]))
    groups = "|".join(f"({re.sub(r'[(](?![?])', '(?:', phrase).replace(' ', ' +')})" for phrase, _ in pairs)
    return Language(name, re.compile(rf"(?<!\w)(?:{groups})(?:(?<=')|(?!\w))", re.I), tuple(one for _, one in pairs))
