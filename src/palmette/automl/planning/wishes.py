"""What a request wants of the model, in terms of algorithms that are here and of numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from palmette.automl.planning.algorithms import meant
from palmette.automl.requirements import Constraint, Requirements

LEAN = frozenset({"speed", "small", "simple", "cheap", "explainable"})
"""Preferences that speak for one light model rather than many."""
RESOURCES = ("training time", "prediction time", "model size")
"""Quantities of a constraint that can be estimated before anything is trained."""


class Wishes(NamedTuple):
    """What plans must keep to."""

    allowed: tuple[str, ...]
    """The algorithms that may be planned, in the order in which they are to be tried."""
    required: frozenset[str]
    """Of those, the ones of which the delivered model must be; empty where any will do."""
    named: tuple[str, ...]
    """Names of the request that the model must be one of, as it has them."""
    preferred: tuple[str, ...]
    """To be tried first."""
    ensemble: bool | None
    """Whether several models together are wanted; None where that is open."""
    lean: frozenset[str]
    """Preferences for little rather than much."""
    limits: tuple[Constraint, ...]
    """Constraints on time and size."""


def wishes_of(requirements: Requirements, here: Sequence[str]) -> Wishes:
    """What a request wants, of the algorithms that are here; nothing is allowed where it wants only others."""
    named = requirements.model.algorithms
    together = {one.mood for one in named if one.name == "ensemble"}
    musts = [one.name for one in named if one.mood == "must" and one.name != "ensemble"]
    forbidden = {name for one in named if one.mood == "not" for name in meant(one.name)}
    required = {name for one in musts for name in meant(one)} - forbidden
    first = [name for one in named if one.mood in ("must", "may") for name in here if name in meant(one.name)]
    allowed = [name for name in dict.fromkeys([*first, *here]) if name not in forbidden]
    if musts:
        allowed = [name for name in allowed if name in required]
    return Wishes(
        allowed=tuple(allowed),
        required=frozenset(required),
        named=tuple(musts),
        preferred=tuple(name for name in dict.fromkeys(first) if name in allowed),
        ensemble=True if "must" in together else False if "not" in together else None,
        lean=LEAN & {one.name for one in requirements.knowledge.preferences},
        limits=tuple(one for one in requirements.problem.constraints if one.quantity in RESOURCES),
    )
