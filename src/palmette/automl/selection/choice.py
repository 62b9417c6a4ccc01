"""Choosing what is delivered: the best candidate, or a weighted mean of several where that is better.

Greedy ensemble selection (Caruana et al., *Ensemble Selection from Libraries of Models*, 2004): starting from the
best, whatever raises the score of the mean most is added, with replacement; how often it was added is its weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from palmette.automl.measure.metrics import Floats
from palmette.automl.selection.candidates import Candidate
from palmette.automl.selection.judge import Scorer
from palmette.documents import Model

MOST_CANDIDATES = 12
"""Of the best ones, that an ensemble is chosen from: with more it is chosen by chance."""
ROUNDS = 25
PATIENCE = 6
"""Rounds without gain after which no more are tried."""
LEAST_GAIN = 1e-4
"""Share of the single best's worth that an ensemble must gain, to be worth the time it takes to answer."""


class Member(Model):
    """A candidate in the delivered model; enough to fit it again."""

    track: str = "traditional"
    name: str
    algorithm: str
    settings: dict[str, str | bool | int | float]
    rounds: tuple[int | None, ...]
    weight: float

    @classmethod
    def of(cls, candidate: Candidate, weight: float = 1.0) -> Member:
        """The candidate as it was fitted."""
        kept = candidate.trial.model_dump(include={"track", "name", "algorithm", "settings", "rounds"})
        return cls(**kept, weight=weight)


class Selection(Model):
    """What is delivered; as JSON it is the project's `members.json`."""

    metric: str
    score: float
    """Out of fold, measured by the harness, at the decision that is kept."""
    members: tuple[Member, ...]
    class_weights: tuple[float, ...] | None = None
    best_single: str
    single_score: float
    """Of the best candidate alone, at its own decision."""

    def outputs(self, candidates: Collection[Candidate]) -> Floats:
        """The out-of-fold outputs of the whole."""
        by_name = {one.name: one.outputs for one in candidates}
        return _mean([(by_name[member.name], member.weight) for member in self.members])


class _Ranked(NamedTuple):
    candidate: Candidate
    worth: float


Fits = Callable[[Collection[str]], bool]
"""Whether candidates of these names may be delivered together."""


def select(candidates: Sequence[Candidate], judge: Scorer, taken: Mapping[str, float] | None = None) -> Selection:
    """The best single candidate or ensemble of those that fit; where none does even alone, of all.

    Args:
        taken: By name, the share of the room that a candidate takes; members take no more than 1 together.
    """
    shares = taken or {}

    def fits(names: Collection[str]) -> bool:
        return sum(shares.get(name, 0.0) for name in names) <= 1.0

    eligible = [one for one in candidates if fits({one.name})]
    if not eligible:
        eligible, shares = list(candidates), {}
    ranked = sorted((_Ranked(one, judge.worth(one.outputs)) for one in eligible), key=lambda one: -one.worth)
    best = ranked[0]
    picked, worth = _greedy(ranked[: MOST_CANDIDATES if judge.blends else 1], judge, fits)
    if worth - best.worth <= LEAST_GAIN * abs(best.worth):
        picked = Counter({0: 1})
    parts = [(ranked[place].candidate, count / picked.total()) for place, count in sorted(picked.items())]
    return _selection(parts, best.candidate, judge)


def alone(candidate: Candidate, judge: Scorer) -> Selection:
    """A candidate by itself, at its own decision."""
    return _selection([(candidate, 1.0)], candidate, judge)


def _selection(parts: Sequence[tuple[Candidate, float]], best: Candidate, judge: Scorer) -> Selection:
    """Candidates with their weights, at the decision that suits their mean."""
    outputs = _mean([(one.outputs, weight) for one, weight in parts])
    weights = judge.class_weights(outputs)
    return Selection(
        metric=judge.metric.name,
        score=judge.score(outputs, weights),
        members=tuple(Member.of(one, weight) for one, weight in parts),
        class_weights=weights,
        best_single=best.name,
        single_score=judge.score(best.outputs, judge.class_weights(best.outputs)),
    )


def _greedy(ranked: Sequence[_Ranked], judge: Scorer, fits: Fits) -> tuple[Counter[int], float]:
    """How often each place was picked in the best ensemble on the way, and its worth."""
    picked, total = Counter({0: 1}), ranked[0].candidate.outputs
    found, worth, since = picked.copy(), ranked[0].worth, 0
    for count in range(2, ROUNDS + 1):
        if since >= PATIENCE:
            break
        names = {ranked[place].candidate.name for place in picked}
        worths = {
            place: judge.worth((total + one.candidate.outputs) / count)
            for place, one in enumerate(ranked)
            if fits({*names, one.candidate.name})
        }
        place = max(worths, key=worths.__getitem__)
        picked[place] += 1
        total = total + ranked[place].candidate.outputs
        since += 1
        if worths[place] > worth:
            found, worth, since = picked.copy(), worths[place], 0
    return found, worth


def _mean(parts: Sequence[tuple[Floats, float]]) -> Floats:
    first, *others = [outputs * weight for outputs, weight in parts]
    return sum(others, start=first)
