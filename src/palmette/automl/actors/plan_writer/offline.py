"""The rules of the plan writer: bets, held to the wishes, with preparation and reasons from profile and insights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, product

from palmette.automl.actors.plan_writer.bets import TUNINGS, Bet, Mood, bets
from palmette.automl.artefacts import Knowledge, Plan, Plans, Settings, Track
from palmette.automl.planning.algorithms import TREES, available, track_of
from palmette.automl.planning.costs import Cost, cost
from palmette.automl.planning.facts import preparation, size_of, training_rows, validation
from palmette.automl.planning.limits import MARGIN, needs, together
from palmette.automl.planning.wishes import RESOURCES, Wishes, wishes_of
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model
from palmette.engine import Violation

PATIENCE = 2.0
"""By how many times an algorithm alone may be expected to take the time that there is for all: estimates are rough."""
INSIGHTS = 3
"""That a plan cites at most."""


class PlanWriterInput(Model):
    requirements: Requirements
    profile: Profile
    knowledge: Knowledge = Knowledge()
    settings: Settings = Settings()
    tracks: tuple[Track, ...] = ("traditional",)


def wishes(input: PlanWriterInput) -> Wishes:
    """The wishes, of the algorithms that are here."""
    return wishes_of(input.requirements, available(input.profile, input.tracks))


def substance(plan: Plan) -> tuple[object, ...]:
    """What makes two plans the same, whatever they are called and in whatever order they try."""
    tuning = " ".join(plan.tuning.casefold().split())
    return frozenset(plan.tracks), frozenset(plan.algorithms), plan.ensemble, tuning


def plans(input: PlanWriterInput, reasons: Sequence[Violation], before: Plans | None) -> Plans | None:
    """As many plans as are wanted, none of which was there before; None where nothing is left to bet on."""
    old = before.plans if before else ()
    known, names = {substance(one) for one in old}, {one.name for one in old}
    made: list[Plan] = []
    revision = 1 + max((one.revision for one in old), default=0) if reasons else 0
    for one in _candidates(input, reasons):
        if substance(one) in known or len(made) == input.settings.plans:
            continue
        name = next(name for name in _names(one.name) if name not in names)
        made.append(one.model_copy(update={"name": name, "revision": revision}))
        known.add(substance(one))
        names.add(name)
    return Plans(plans=tuple(made)) if made else None


def _names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _candidates(input: PlanWriterInput, reasons: Sequence[Violation]) -> Iterator[Plan]:
    """Plans in the order of their promise: the bets, then the bets tuned otherwise."""
    wanted, task = wishes(input), input.profile.aim.task
    allowed = _affordable(input, wanted, bool(reasons))
    mood = _mood(input, wanted, allowed, reasons)
    known = [(bet, _algorithms(bet, allowed, wanted)) for bet in bets(task, mood)]
    usable = [(bet, found) for bet, found in known if len(found) >= bet.least]
    if wanted.preferred:
        usable.sort(key=lambda one: wanted.preferred[0] not in one[1])
    yield from (_plan(bet, found, input, wanted, reasons) for bet, found in usable)
    if task != "clustering":
        for bet, found in usable:
            for tuning, ensemble in product(TUNINGS, (True, False)):
                varied = bet._replace(tuning=tuning, ensemble=ensemble)
                yield _plan(varied, found, input, wanted, reasons)


def _algorithms(bet: Bet, allowed: Sequence[str], wanted: Wishes) -> tuple[str, ...]:
    """Those of a bet that may be used; first what the request names, where it is part of the bet."""
    found = [name for name in bet.algorithms or allowed if name in allowed]
    first = [name for name in wanted.preferred if name in found]
    return tuple(dict.fromkeys([*first, *found]))


def _affordable(input: PlanWriterInput, wanted: Wishes, again: bool) -> list[str]:
    """The allowed algorithms that are expected to keep time and limits, else, at first, those that may by a margin.

    Where none can, it is the one that comes closest.
    """
    patience = PATIENCE * input.settings.seconds
    needed = {name: _cost(name, input) for name in wanted.allowed}
    limits = {name: max((limit.times for limit in needs(needed[name], wanted.limits)), default=0.0) for name in needed}
    quick = [name for name in needed if needed[name].seconds <= patience]
    for margin in (1.0,) if again else (1.0, MARGIN):
        if fitting := [name for name in quick if limits[name] <= margin]:
            return fitting
    return sorted(needed, key=lambda name: max(limits[name], needed[name].seconds / patience))[:1]


def _cost(name: str, input: PlanWriterInput) -> Cost:
    used = sum(one.kind not in ("identifier", "constant") for one in input.profile.columns)
    return cost(name, size_of(input.profile, input.requirements, used))


def _mood(input: PlanWriterInput, wanted: Wishes, allowed: Sequence[str], reasons: Sequence[Violation]) -> Mood:
    """What plans are for: what was missed, then what is preferred, then what all models together would miss."""
    about = " ".join(f"{one.subject} {one.message}" for one in reasons)
    if any(quantity in about for quantity in RESOURCES):
        return "lean"
    if reasons:
        return "score"
    if "explainable" in wanted.lean:
        return "explain"
    needed = needs(together(_cost(name, input) for name in allowed), wanted.limits)
    return "lean" if wanted.lean or any(one.times > 1 for one in needed) else "usual"


def _plan(
    bet: Bet, algorithms: tuple[str, ...], input: PlanWriterInput, wanted: Wishes, reasons: Sequence[Violation]
) -> Plan:
    profile = input.profile
    return Plan(
        name=bet.name,
        idea=bet.idea,
        preparation=tuple(preparation(profile, only_trees=TREES.issuperset(algorithms))),
        tracks=tuple(dict.fromkeys(track_of(name) for name in algorithms)),
        algorithms=algorithms,
        validation=validation(profile, input.requirements),
        tuning=bet.tuning,
        ensemble=bet.ensemble if wanted.ensemble is None else wanted.ensemble,
        reasons=tuple(_reasons(algorithms, input, wanted, reasons)),
    )


def _reasons(
    algorithms: Iterable[str], input: PlanWriterInput, wanted: Wishes, reasons: Sequence[Violation]
) -> Iterator[str]:
    yield from (f"Earlier plans failed: {one.message}" for one in reasons[:1])
    if wanted.named:
        yield f"The request asks for {' or '.join(wanted.named)}."
    yield from (f"Asked for: {one}." for one in wanted.limits)
    columns = len(input.profile.columns)
    yield f"{training_rows(input.profile)} training rows, {columns} columns."
    own = set(algorithms)
    apt = [one for one in input.knowledge.insights if not one.algorithms or own & set(one.algorithms)]
    yield from (f"{one.text} ({one.source})" for one in apt[:INSIGHTS])
