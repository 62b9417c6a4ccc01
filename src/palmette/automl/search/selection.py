"""Choosing what is delivered: the best candidate, or several together where that is better by more than noise.

Greedy ensemble selection (Caruana et al., *Ensemble Selection from Libraries of Models*, 2004): from the best
one on, the candidate that raises the score of the mean most is added, with replacement; its weight is how often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.candidates import Ensembling
from palmette.automl.formatting import many, metric, number
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer, SupervisedScorer
from palmette.automl.search.results import CandidateResult
from palmette.automl.trials import ChosenMember, Selection

MOST_CANDIDATES = 12
"""Of the best, that an ensemble is chosen from: among more, noise decides."""
FEW = 5
"""Members of a mean, a stack or a vote at most."""
ROUNDS = 25
PATIENCE = 6
"""Rounds without gain after which no more are tried."""
LEAST_GAIN = 1e-4
"""Share of the best candidate's utility that an ensemble has to gain, to be worth the time it takes to predict."""
MOST_SHARED = 8
"""Candidates that a scorer weights together."""
MOST_CROSSED = 8_000
"""Numbers in the outputs of a candidate, above which a choice flatters the score by less than it costs to measure."""
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
    folds: NDArray[np.int64] | None = None,
) -> Selection:
    """The best candidate or ensemble of those that fit; where none does even alone, the best one of all.

    Args:
        results: Verified, at least one.
        scorer: Compares outputs.
        ensembling: The plan's policy.
        taken: By name, the share of a limit that a candidate takes; members take no more than 1 together.
        folds: (n,); where they are given, the score of few rows is cross-fitted.
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
    chosen, reason = single, f"{best.name} is the best of {many(len(results), 'candidate')}"
    if ensembling != "single" and scorer.blends and len(ranked) > 1:
        several = _together(ranked[:MOST_CANDIDATES], scorer, ensembling, fits)
        chosen, reason = _compared(single, several, scorer, ensembling)
    made = _selection(chosen, best, scorer, reason)
    crossed = None if folds is None else crossfitted_score(results, scorer, chosen.how, folds)
    return made if crossed is None else made.model_copy(update={"score": crossed})


def crossfitted_score(
    results: Sequence[CandidateResult], scorer: Scorer, ensembling: Ensembling, folds: NDArray[np.int64]
) -> float | None:
    """The score of choices that are made on the rows of all other folds, weights and decision included.

    On the rows that it is made on, the best of many candidates looks better than it is. None where the rows are many,
    or where the scorer has no parts.
    """
    if not isinstance(scorer, SupervisedScorer) or ensembling == "stacking" or results[0].outputs.size > MOST_CROSSED:
        return None
    made = np.zeros_like(results[0].outputs)
    for fold in np.unique(folds):
        here = folds == fold
        rest = scorer.part(~here)
        chosen = select([one.part(~here) for one in results], rest, ensembling)
        outputs = ensemble_outputs(chosen, [one.part(here) for one in results], rest)
        made[here] = outputs * (1.0 if chosen.class_weights is None else np.array(chosen.class_weights))
    return scorer.score(made)


def alone(result: CandidateResult, scorer: Scorer) -> Selection:
    """A candidate by itself, at its own decision."""
    single = Ensemble(((result, 1.0),), result.outputs, "single")
    return _selection(single, result, scorer, "")


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
        return single, f"{best.name} alone, as no ensemble is better"
    gain = scorer.gain(several.outputs, single.outputs)
    middle, error = (gain.low + gain.high) / 2, (gain.high - gain.low) / ERRORS
    gained = f"{number(middle, 2)} ± {number(error, 1)} (standard error) in {metric(scorer.metric.name)}"
    if ensembling != "best" or middle > max(error, 0):
        return several, f"an ensemble of {len(several.parts)} models, which gains {gained} over {best.name}"
    return single, f"{best.name} alone, as an ensemble of {len(several.parts)} gains only {gained}: within noise"


def _together(
    ranked: Sequence[Ranked], scorer: Scorer, ensembling: Ensembling, fits: Callable[[Collection[str]], bool]
) -> Ensemble:
    """The best ensemble of a kind: of the best few, with the scorer's weights or with equal ones, or found greedily."""
    has_weights = ensembling != "stacking" and scorer.shares([ranked[0].result.outputs]) is not None
    if ensembling in ("best", "weighted") and not has_weights:
        picked = _greedy(ranked, scorer, fits)
        parts = [(ranked[place].result, count / picked.total()) for place, count in sorted(picked.items())]
        return _put_together(parts, scorer, "weighted" if len(parts) > 1 else "single")
    found = list[Ensemble]()
    for count in range(2, min(MOST_SHARED if has_weights else FEW, len(ranked)) + 1):
        some = [one.result for one in ranked[:count]]
        shares = scorer.shares([one.outputs for one in some]) if has_weights else None
        if fits({one.name for one in some}):
            parts = list(zip(some, shares or [1 / count] * count, strict=True))
            found.append(_put_together(parts, scorer, "weighted" if has_weights else ensembling))
    single = _put_together([(ranked[0].result, 1.0)], scorer, "single")
    choices = [single, *found] if has_weights or not found else found
    return max(choices, key=lambda one: scorer.utility(one.outputs))


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


def _selection(chosen: Ensemble, best: CandidateResult, scorer: Scorer, reason: str) -> Selection:
    """At the decision that suits the outputs."""
    weights = scorer.class_weights(chosen.outputs)
    score = scorer.score(chosen.outputs, weights)
    return Selection(
        metric=scorer.metric.name,
        score=score,
        apparent_score=score,
        members=tuple(_member(one, weight) for one, weight in chosen.parts),
        ensembling=chosen.how,
        class_weights=weights,
        best_single=best.name,
        reason=reason,
    )


def _member(result: CandidateResult, weight: float) -> ChosenMember:
    """With the mean of the steps of its folds, where it learns in steps."""
    rounds = [one for one in result.trial.rounds if one is not None]
    whole = bool(rounds) and len(rounds) == len(result.trial.rounds)
    steps = max(1, round(fmean(rounds))) if whole else None
    return ChosenMember(candidate=result.trial.candidate, rounds=steps, weight=weight)
