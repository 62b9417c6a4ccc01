"""Computations in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palmette.features.spec.fsc import Feature
from palmette.features.spec.scope import Scope
from palmette.features.spec.sources import Sources


@dataclass(frozen=True)
class Reading:
    """What words were understood as."""

    computation: Mapping[str, Any]
    """One of the fields `aggregate`, `expression`, `lookup`, `derive` of a feature, and its value."""
    sentence: str
    """The reading in full words."""


@dataclass(frozen=True)
class Question:
    """What has to be asked before the words can be understood."""

    code: str
    text: str
    remedy: str
    readings: tuple[str, ...] = ()


@dataclass(frozen=True)
class WordsContext:
    """The names that words can mean."""

    scope: Scope
    sources: Sources

    @classmethod
    def of(cls, scope: Scope, sources: Sources) -> WordsContext:
        return cls(scope, sources)


def read_words(feature: Feature, context: WordsContext) -> Reading | Question:
    return Question("unknown-words", f"The words {feature.words!r} are not understood.", "Write an aggregate.")
