"""Candidates that a model proposes: a learner that is allowed, with settings that it accepts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import count
from typing import Literal

from pydantic import Field

from palmette.automl.candidates import Candidate, Setting, Strategy
from palmette.automl.composition import learner_named
from palmette.automl.planning.drafting import PlanContext
from palmette.documents import Model


class NewCandidate(Model):
    learner: str
    """As it is listed."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Those that differ from the learner's defaults."""
    target_transform: Literal["none", "log", "log1p"] = "none"
    """Of a regression."""
    class_weights: Literal["none", "balanced"] = "none"
    """Of a classification."""
    reason: str
    """What in these data favours it; one sentence."""


def objections(proposed: Iterable[NewCandidate], known: PlanContext) -> Iterator[str]:
    """Why candidates cannot be trained, in sentences."""
    for one in proposed:
        if one.learner not in known.constraints.allowed:
            yield f"{one.learner!r} is not a listed learner."
            continue
        learner = learner_named(one.learner)
        accepted, ranges = learner.settings(), learner.ranges(known.facts)
        for name, value in one.settings.items():
            if name not in accepted:
                yield f"{one.learner} has no setting {name!r}; it accepts {', '.join(accepted) or 'none'}."
            elif name in ranges and (why := ranges[name].objection(value)):
                yield f"The setting {name!r} of {one.learner} {why}."
        if known.blueprint.classes and one.target_transform != "none":
            yield f"{one.learner}: only numbers are transformed, and the target has classes."
        if not known.blueprint.classes and one.class_weights != "none":
            yield f"{one.learner}: there are no classes to weigh."


def made_of(one: NewCandidate, usual: Strategy, taken: Container[str]) -> Candidate:
    """The candidate, with a name of its own; `usual` is the strategy of candidates that state none."""
    asked = Strategy(target_transform=one.target_transform, class_weights=one.class_weights)
    names = (f"{one.learner}-planned-{number}" for number in count(1))
    return Candidate(
        name=next(name for name in names if name not in taken),
        learner=one.learner,
        settings=one.settings,
        strategy=usual if asked == Strategy() else asked,
        reason=one.reason,
    )


def learner_lines(known: PlanContext) -> Iterator[str]:
    """The allowed learners, with the settings that each accepts."""
    for name in known.constraints.allowed:
        one = learner_named(name)
        accepted = "; ".join(f"{setting}: {words}" for setting, words in one.settings().items())
        yield f"{name}: {one.description} {accepted}"
