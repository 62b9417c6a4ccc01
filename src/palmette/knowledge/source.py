"""The protocol of knowledge sources: a subject in, findings with their references out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import Field

from palmette.documents import Model
from palmette.engine.registry import create, names


class Subject(Model):
    """What is to be found out about."""

    task: str
    """E.g. `classification`."""
    modality: str = "tabular"
    figures: Mapping[str, float] = Field(default_factory=dict)
    """Meta-features of the data, by name."""
    signs: frozenset[str] = frozenset()
    """What holds of request and data, by code: e.g. `imbalanced`, `explainable`."""
    words: tuple[str, ...] = ()
    """What to look for in texts, the most telling first."""


class KnowledgeFinding(Model):
    """Something that is known to help."""

    text: str
    """One sentence."""
    source: str
    """Where it is from, so that it can be found again; unique among the findings of a source."""
    because: str
    """What in the subject makes it apply."""
    algorithms: tuple[str, ...] = ()
    """What it speaks for."""


class LookupResult(Model):
    """What a source gave."""

    note: str
    """Where was looked, and what came of it, in one sentence."""
    findings: tuple[KnowledgeFinding, ...] = ()
    """The most telling first."""


class KnowledgeSource(Protocol):
    """A source of findings; when it cannot be reached, it returns none and a note with the reason."""

    def find(self, subject: Subject) -> LookupResult:
        """What is known about a subject."""


def look_up(subject: Subject) -> tuple[LookupResult, ...]:
    """What every registered source knows about a subject, in the order of their names."""
    sources: list[KnowledgeSource] = [create("knowledge", name) for name in names("knowledge")]
    return tuple(source.find(subject) for source in sources)
