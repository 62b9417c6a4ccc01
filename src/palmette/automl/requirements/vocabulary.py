"""The words that the rules understand, from `vocabulary.yaml`, and where they stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from palmette.automl.requirements.model import Metric, Modality, Task
from palmette.documents import Model, read_document

UNMEASURED = "unmeasured"
ERROR = "error"
"""How wrong answers are, as long as it is not known which metric is meant."""


class MetricWords(Model):
    better: Literal["higher", "lower"]
    bounded: bool
    """Whether its best value is 1, so that 95 can only mean 95 %."""
    ratio: bool = False
    """Whether it is a share without being bounded, so that 12 % is 0.12."""
    tasks: tuple[Task, ...]
    phrases: tuple[str, ...]


class AlgorithmWords(Model):
    family: str
    phrases: tuple[str, ...]


class Units(Model):
    time: Mapping[str, float]
    """Phrase to seconds."""
    size: Mapping[str, float]
    """Phrase to bytes."""


class Spelling(Model):
    keys: tuple[str, ...]
    """Words for which one is taken that is a slip away."""
    meant: frozenset[str]
    """Words that are a slip away from a key, and right."""


class Vocabulary(Model):
    metrics: Mapping[Metric, MetricWords]
    algorithms: Mapping[str, AlgorithmWords]
    preferences: Mapping[str, tuple[str, ...]]
    deliverables: Mapping[str, tuple[str, ...]]
    devices: Mapping[str, tuple[str, ...]]
    libraries: Mapping[str, tuple[str, ...]]
    areas: Mapping[Modality, str]
    """What the paper calls the area of problems of a modality."""
    modalities: Mapping[Modality, tuple[str, ...]]
    domains: Mapping[str, tuple[str, ...]]
    synonyms: tuple[tuple[str, ...], ...]
    """Words of which one may stand in a request for another in a column's name."""
    outcomes: tuple[str, ...]
    """Words in the name of a column that tell that it is what one wants to know."""
    errors: tuple[str, ...]
    """Words for how wrong answers are, whatever the task."""
    unmeasured: tuple[str, ...]
    """Words for measures that no run takes."""
    foreign: frozenset[str]
    """Small words of other languages."""
    english: frozenset[str]
    """Words of which some are in whatever is asked for in English."""
    units: Units
    empty: frozenset[str]
    """Words that say nothing of what a target is."""
    spelling: Spelling
    not_names: frozenset[str]
    """Words before `data set` that are not its name."""


class Mention(NamedTuple):
    """A name of the vocabulary in a text."""

    name: str
    start: int
    end: int


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary; read once."""
    return read_document(Path(__file__).with_name("vocabulary.yaml"), Vocabulary)


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    joined = "|".join(phrase.replace(" ", r"[\s_-]*") for phrase in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", re.IGNORECASE)


def mentions(plain: str, words: Mapping[str, Iterable[str]]) -> list[Mention]:
    """Every mention of a name, in the order of the text; of overlapping ones the longest."""
    found = [
        Mention(name, match.start(), match.end())
        for name, phrases in words.items()
        for match in _pattern(tuple(phrases)).finditer(plain)
        if match.end() > match.start()
    ]
    kept: list[Mention] = []
    for one in sorted(found, key=lambda m: (m.start - m.end, m.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda m: m.start)


def metric_mentions(plain: str) -> list[Mention]:
    return mentions(plain, {name: words.phrases for name, words in vocabulary().metrics.items()})


def error_mentions(plain: str, metrics: Iterable[Mention]) -> list[Mention]:
    """Mentions of an error that is none of the metrics; they are called `error`."""
    found = mentions(plain, {ERROR: vocabulary().errors})
    return [one for one in found if all(one.end <= other.start or other.end <= one.start for other in metrics)]


def unmeasured_mentions(plain: str) -> list[Mention]:
    """Mentions of measures that there are and that are not taken; they are called `unmeasured`."""
    return mentions(plain, {UNMEASURED: vocabulary().unmeasured})


def algorithm_mentions(plain: str) -> list[Mention]:
    return mentions(plain, {name: words.phrases for name, words in vocabulary().algorithms.items()})
