"""The rules of the knowledge retriever: what the sources found, the narrowest first."""

from __future__ import annotations

from itertools import chain, zip_longest

from palmette.automl.artefacts import Insight, Knowledge, Track
from palmette.automl.planning.algorithms import available
from palmette.automl.planning.facts import figures_of
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model
from palmette.knowledge import Finding, Found, Subject, look_up

MOST = 8
"""Insights that are handed on at most."""


class KnowledgeInput(Model):
    requirements: Requirements
    profile: Profile
    tracks: tuple[Track, ...] = ("traditional",)


def subject_of(input: KnowledgeInput) -> Subject:
    """What is to be found out about; nothing in it is a value of the data."""
    profile, wanted = input.profile, input.requirements
    codes = [fact.code for fact in profile.suggestions]
    return Subject(
        task=profile.aim.task,
        figures=figures_of(profile),
        signs=frozenset([
            *codes,
            *(leak.code for leak in profile.leaks),
            *(one.name for one in wanted.knowledge.preferences),
            *(f"cut-{profile.holdout.strategy}",),
            *(one.quantity.replace(" ", "-") for one in wanted.problem.constraints),
        ]),
        words=tuple(dict.fromkeys(WORDS[code] for code in codes if code in WORDS))[:3],
    )


WORDS = {
    "imbalanced": "class imbalance",
    "many-categories": "high-cardinality",
    "few-rows": "small data",
    "text-column": "text features",
    "zero-inflated": "zero-inflated",
    "wide": "high-dimensional",
    "many-classes": "many classes",
}
"""By code of a suggestion: what papers call it."""


def found(input: KnowledgeInput) -> tuple[Found, ...]:
    """What every source found."""
    return look_up(subject_of(input))


def usable(sources: tuple[Found, ...], input: KnowledgeInput) -> list[Finding]:
    """The findings of all sources in turn, without those for algorithms that are not here."""
    here = set(available(input.profile, input.tracks))
    turns = zip_longest(*(one.findings for one in sources))
    found = [one for one in chain.from_iterable(turns) if one is not None]
    return [one for one in found if not one.algorithms or here & set(one.algorithms)]


def knowledge(input: KnowledgeInput) -> Knowledge:
    """The first findings, as they stand."""
    sources = found(input)
    insights = tuple(Insight.model_validate(one.model_dump()) for one in usable(sources, input)[:MOST])
    return Knowledge(insights=insights, sources=tuple(one.note for one in sources))
