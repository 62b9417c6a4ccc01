"""Names of metrics and learners, and the rules for sentences, from `vocabulary.yaml`."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from palmette.automl.task_spec.spec import Level, Preference
from palmette.documents import Model, read_document


class MetricWords(Model):
    problem: str
    also: tuple[str, ...] = ()
    """Other problems that the metric applies to."""
    better: Literal["higher", "lower"]
    share: bool = False
    ratio: bool = False
    names: tuple[str, ...]


class Denied(Model):
    """A wish that is understood but cannot be met."""

    name: str = ""
    words: tuple[str, ...]
    reason: str
    """Why it cannot be met, or an alternative."""


class Rule(Model):
    """Patterns that set a field; the file explains the options."""

    field: str
    level: Level | None = None
    after: Literal["", "noun"] = ""
    negative: bool = False
    free: bool = False
    loose: bool = False
    patterns: tuple[str, ...] = ()


class Vocabulary(Model):
    metrics: Mapping[str, MetricWords]
    learners: Mapping[str, tuple[str, ...]]
    prefer: Mapping[Preference, tuple[str, ...]]
    comparisons: Mapping[str, tuple[str, ...]]
    refused: tuple[Denied, ...]
    other: Mapping[str, tuple[str, ...]]
    unmet: tuple[Denied, ...]
    given: tuple[str, ...]
    filler: tuple[str, ...]
    short_words: frozenset[str]
    parts: Mapping[str, str]
    guards: Mapping[str, str]
    rules: tuple[Rule, ...]


@cache
def vocabulary() -> Vocabulary:
    """Returns the vocabulary, which is read once."""
    return read_document(Path(__file__).with_name("vocabulary.yaml"), Vocabulary)


def names_pattern(names: Iterable[str]) -> str:
    """Returns a regular expression for names; blanks and underscores match nothing, a blank, `-` or `_`."""
    return "|".join(sorted((re.sub("[ _]", r"[\\s_-]{0,2}", name) for name in names), key=len, reverse=True))


def _named(text: str, known: Mapping[str, Iterable[str]]) -> str:
    plain = " ".join(text.split())
    patterns = ((name, names_pattern([name, *names])) for name, names in known.items())
    return next((name for name, pattern in patterns if re.fullmatch(pattern, plain, re.I)), "")


def metric_named(text: str) -> str:
    """Returns the metric that a text names, or ''.

    >>> metric_named("macro F1"), metric_named("ROC-AUC"), metric_named("adjusted Rand"), metric_named("speed")
    ('f1_macro', 'roc_auc', 'adjusted_rand', '')
    """
    return _named(text, {name: words.names for name, words in vocabulary().metrics.items()})


def learner_named(text: str) -> str:
    """Returns the learner or family that a text names, or '': `Random Forests` is `random_forest`."""
    return _named(text, vocabulary().learners)
