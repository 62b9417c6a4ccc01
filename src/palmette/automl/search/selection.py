"""Choosing what is delivered: the best candidate, or several together where that is better by more than noise.

Greedy ensemble selection (Caruana et al., *Ensemble Selection from Libraries of Models*, 2004): starting from the
best, whatever raises the score of the mean most is added, with replacement; how often it was added is its weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from palmette.automl.candidates import Ensembling
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer
from palmette.automl.search.results import CandidateResult
from palmette.automl.trials import ChosenMember, Selection

MOST_CANDIDATES = 12
"""Of the best, that an ensemble is chosen from: with more it is chosen by chance."""
FEW = 5
"""Members of a mean, a stack or a vote at most."""
ROUNDS = 25
PATIENCE = 6
"""Rounds without gain after which no more are tried."""
LEAST_GAIN = 1e-4
"""Share of the best candidate's utility that an ensemble has to gain, to be worth the time it takes to predict."""
ERRORS = 3.92
"""Standard errors in a 95 % interval."""


class Ranked(NamedTuple):
    """A candidate with its place."""

    result: CandidateResult
    utility: float


@dataclass(frozen=True)
class Ensemble:
    """Candidates with their weights, and what they give together."""

    parts: tuple[tuple[CandidateResult, float], ...]
    outputs: Floats
    how: Ensembling


def select(
    results: Sequence[CandidateResult],
    scorer: Scorer,
    ensembling: Ensembling = "best",
    taken: Mapping[str, float] | None = None,
) -> Selection:
    """The best candidate or ensemble of those that fit; where none does even alone, the best one of all.

    Args:
        results: Verified, at least one.
        scorer: Compares outputs.
        ensembling: The plan's policy.
        taken: By name, the share of a limit that a candidate takes; members take no more than 1 together.
    """
    shares = dict(taken or {})
    eligible = [one for one in results if shares.get(one.name, 0.0) <= 1.0]
    if not eligible:
        eligible, shares, ensembling = list(results), {}, "single"

    def fits(names: Collection[str]) -> bool:
        return sum(shares.get(name, 0.0) for name in names) <= 1.0

    ranked = sorted((Ranked(one, scorer.utility(one.outputs)) for one in eligible), key=lambda one: -one.utility)
    best = ranked[0].result
    single = Ensemble(((best, 1.0),), best.outputs, "single")
    chosen, reason = single, f"{best.name} is the best of {len(results)} candidates"
    if ensembling != "single" and scorer.blends and len(ranked) > 1:
        several = _together(ranked[:MOST_CANDIDATES], scorer, ensembling, fits)
        chosen, reason = _compared(single, several, scorer, ensembling)
    return _selection(chosen, ranked, scorer, reason)


def alone(result: CandidateResult, scorer: Scorer) -> Selection:
    """A candidate by itself, at its own decision."""
    single = Ensemble(((result, 1.0),), result.outputs, "single")
    return _selection(single, [Ranked(result, scorer.utility(result.outputs))], scorer, "")


def ensemble_outputs(selection: Selection, results: Sequence[CandidateResult], scorer: Scorer) -> Floats:
    """The outputs of a selection on the training rows.

    Raises:
        KeyError: a member has no result.
    """
    by_name = {one.name: one for one in results}
    parts = [(by_name[one.candidate.name], one.weight) for one in selection.members]
    return _put_together(parts, scorer, selection.ensembling).outputs


def _compared(single: Ensemble, several: Ensemble, scorer: Scorer, ensembling: Ensembling) -> tuple[Ensemble, str]:
    """The ensemble where the policy asks for it, or where it is better by more than noise; and why."""
    (best, _), *_ = single.parts
    if len(several.parts) == 1:
        return single, f"nothing makes {best.name} better"
    gain = scorer.gain(several.outputs, single.outputs)
    middle, error = (gain.low + gain.high) / 2, (gain.high - gain.low) / ERRORS
    gained = f"{scorer.metric.name} gains {middle:.2g} ± {error:.1g} (standard error) over {best.name}"
    names = f"{len(several.parts)} models together: {gained}"
    if ensembling != "best":
        return several, names
    if middle > error and middle > 0:
        return several, names
    return single, f"one model: with {len(several.parts)} the {gained}, which is no more than noise"


def _together(
    ranked: Sequence[Ranked], scorer: Scorer, ensembling: Ensembling, fits: Callable[[Collection[str]], bool]
) -> Ensemble:
    """The best ensemble of a kind."""
    if ensembling in ("best", "weighted"):
        picked = _greedy(ranked, scorer, fits)
        parts = [(ranked[place].result, count / picked.total()) for place, count in sorted(picked.items())]
        return _put_together(parts, scorer, "weighted" if len(parts) > 1 else "single")
    found = [_put_together([(ranked[0].result, 1.0)], scorer, "single")]
    for count in range(2, FEW + 1):
        some = [one.result for one in ranked[:count]]
        if len(some) == count and fits({one.name for one in some}):
            found.append(_put_together([(one, 1 / count) for one in some], scorer, ensembling))
    return max(found[1:] or found, key=lambda one: scorer.utility(one.outputs))


def _put_together(parts: Sequence[tuple[CandidateResult, float]], scorer: Scorer, how: Ensembling) -> Ensemble:
    outputs = [one.outputs for one, _ in parts]
    weights = [weight for _, weight in parts]
    is_classes = outputs[0].ndim == 2
    if len(parts) > 1 and how == "voting" and is_classes:
        outputs = [np.eye(one.shape[1])[one.argmax(axis=1)] for one in outputs]
    if len(parts) > 1 and how == "stacking":
        return Ensemble(tuple(parts), scorer.stacked(outputs), how)
    made = scorer.blended(outputs, weights) if len(parts) > 1 else outputs[0]
    return Ensemble(tuple(parts), made, how)


def _greedy(ranked: Sequence[Ranked], scorer: Scorer, fits: Callable[[Collection[str]], bool]) -> Counter[int]:
    """How often each place was picked in the best ensemble on the way."""
    picked, total = Counter({0: 1}), ranked[0].result.outputs
    found, utility, since = picked.copy(), ranked[0].utility, 0
    for count in range(2, ROUNDS + 1):
        if since >= PATIENCE:
            break
        names = {ranked[place].result.name for place in picked}
        utilities = {
            place: scorer.utility(scorer.blended([total, one.result.outputs], [count - 1, 1]))
            for place, one in enumerate(ranked)
            if fits({*names, one.result.name})
        }
        place = max(utilities, key=utilities.__getitem__)
        picked[place] += 1
        total = scorer.blended([total, ranked[place].result.outputs], [count - 1, 1])
        since += 1
        if utilities[place] > utility:
            found, utility, since = picked.copy(), utilities[place], 0
    return found if utility - ranked[0].utility > LEAST_GAIN * abs(ranked[0].utility) else Counter({0: 1})


def _selection(chosen: Ensemble, ranked: Sequence[Ranked], scorer: Scorer, reason: str) -> Selection:
    """At the decision that suits the outputs."""
    best = ranked[0].result
    weights = scorer.class_weights(chosen.outputs)
    by_track: dict[str, float] = {}
    for one in ranked:
        by_track.setdefault(
            one.result.track, scorer.score(one.result.outputs, scorer.class_weights(one.result.outputs))
        )
    return Selection(
        metric=scorer.metric.name,
        score=scorer.score(chosen.outputs, weights),
        members=tuple(_member(one, weight) for one, weight in chosen.parts),
        ensembling=chosen.how,
        class_weights=weights,
        best_single=best.name,
        single_score=scorer.score(best.outputs, scorer.class_weights(best.outputs)),
        reason=reason,
        by_track=by_track,
    )


def _member(result: CandidateResult, weight: float) -> ChosenMember:
    """With the mean of the steps of its folds, where it learns in steps."""
    rounds = [one for one in result.trial.rounds if one is not None]
    whole = bool(rounds) and len(rounds) == len(result.trial.rounds)
    steps = max(1, round(fmean(rounds))) if whole else None
    return ChosenMember(candidate=result.trial.candidate, rounds=steps, weight=weight)
