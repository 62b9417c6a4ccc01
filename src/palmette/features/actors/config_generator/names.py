"""Matches the name of a configuration field with the usual names of a fact."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from palmette.documents import Model, parse_document, read_text

Names = Annotated[tuple[str, ...], BeforeValidator(str.split)]


class FactNames(Model):
    """The usual names of a fact."""

    names: Names = ()
    perhaps: Names = ()


class TeamVocabulary(Model):
    """What teams call things in their configurations."""

    facts: Mapping[str, Mapping[str, FactNames]]
    """By record and fact."""
    abbreviations: Mapping[str, str]
    types: Mapping[str, Names]
    """Other names of Spark types, closest first."""


VOCABULARY = parse_document(read_text(Path(__file__).with_name("facts.yaml")), TeamVocabulary, "facts.yaml")

STRONG = 0.9
"""The minimum score at which a name identifies the content of a field."""
WEAK = 0.6
"""The minimum score at which a name may identify the content, if nothing contradicts it."""

_NOISE = frozenset({"column", "field", "value", "the", "of", "list", "config", "spec", "def", "definition", "settings"})


def tokens(name: str) -> tuple[str, ...]:
    """Words of a snake-, kebab- or camel-case name, in the singular and without abbreviations.

    >>> tokens("eventTimeCols")
    ('event', 'time', 'column')
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    words = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
    return tuple(_singular(VOCABULARY.abbreviations.get(word, word)) for word in words)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "as")) and len(word) > 3:
        return word[:-1]
    return word


def similarity(name: str, known: str, context: Iterable[str] = ()) -> float:
    """Similarity of a field's name to a known name, from 0 to 1; `context` has the names of the enclosing sections.

    >>> similarity("eventTimeColumn", "event_time")
    0.95
    """
    left, right = tokens(name), tokens(known)
    if left == right or "".join(left) == "".join(right):
        return 1.0
    ignored = _NOISE | {word for item in context for word in tokens(item)}
    left_bare, right_bare = (tuple(word for word in side if word not in ignored) for side in (left, right))
    if left_bare and left_bare == right_bare:
        return 0.95
    if left_bare and set(left_bare) == set(right_bare):
        return STRONG
    common, union = set(left_bare) & set(right_bare), set(left_bare) | set(right_bare)
    return 0.85 * len(common) / len(union) if union else 0.0


def best_similarity(name: str, known: Sequence[str], context: Iterable[str] = ()) -> float:
    """The highest similarity to any of the names; earlier names win ties by a small margin."""
    context = tuple(context)
    return max((similarity(name, item, context) - 0.001 * index for index, item in enumerate(known)), default=0.0)
