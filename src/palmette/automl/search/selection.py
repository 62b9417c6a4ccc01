"""Chooses the model to deliver: the best candidate, or an ensemble if it is better by more than noise.

Greedy ensemble selection (Caruana et al., *Ensemble Selection from Libraries of Models*, 2004) starts with the best
candidate and repeatedly adds, with replacement, the one that raises the score of the mean most. A candidate's weight
is how often it was added.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from palmette.automl.candidates import ChosenMember, Ensembling, Selection
from palmette.automl.formatting import metric, number
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer
from palmette.automl.search.results import CandidateResult

MOST_CANDIDATES = 12  # number of best candidates that an ensemble is chosen from; with more, noise decides
MOST_ALIKE = 3  # number of these that have the same learner: their errors are alike
FEW = 5  # most members of a mean, a stack or a vote
ROUNDS = 25
PATIENCE = 6  # rounds without gain after which the greedy search stops
LEAST_GAIN = 1e-4
"""Least gain of an ensemble, as a share of the best candidate's utility, that justifies its slower predictions."""
MOST_SHARED = 8  # most candidates that a scorer weights jointly
MOST_CROSSED = 8_000
"""Most values in a candidate's outputs for which cross-fitting is worth its cost; with more, the bias is small."""
ERRORS = 3.92  # width of a 95 % interval in standard errors


@dataclass(frozen=True)
class Ensemble:
    """Weighted candidates and their combined outputs."""

    parts: tuple[tuple[CandidateResult, float], ...]
    outputs: Floats
    how: Ensembling


def select(
    results: Sequence[CandidateResult],
    scorer: Scorer,
    ensembling: Ensembling = "best",
    taken: Callable[[Collection[str]], float] = lambda _: 0.0,
    folds: NDArray[np.int64] | None = None,
) -> Selection:
    """Selects the best candidate or ensemble that keeps the limits; if no candidate does, the one closest to them.

    Args:
        results: Verified results, at least one.
        scorer: Compares outputs.
        ensembling: The plan's policy.
        taken: Share of the limits that candidates use together, by their names: at most 1.
        folds: (n,); if given, the score is cross-fitted when there are few rows.
    """
    eligible = [one for one in results if taken([one.name]) <= 1.0]
    several = f"the best of {len(results)} candidates" if len(results) > 1 else "the only candidate that was measured"
    if not eligible:
        several = "closest to the limits of time and size, which no candidate keeps"
        eligible, ensembling = [min(results, key=lambda one: taken([one.name]))], "single"

    def fits(names: Collection[str]) -> bool:
        return taken(names) <= 1.0

    ranked = sorted(eligible, key=lambda one: -scorer.utility(one.outputs))
    best = ranked[0]
    if ensembling == "best" and scorer.shares([best.outputs]) is not None:
        ensembling = "weighted"  # a scorer that weighs members averages all that do no harm
    single = Ensemble(((best, 1.0),), best.outputs, "single")
    chosen, reason = single, f"{best.name} is {several}"
    if ensembling != "single" and scorer.blends and len(ranked) > 1:
        together = _together(_diverse(ranked), scorer, ensembling, fits)
        chosen, reason = _compared(single, together, scorer, ensembling)
    made = _selection(chosen, best, scorer, reason)
    crossed = None if folds is None else crossfitted_score(eligible, scorer, chosen.how, folds)
    return made if crossed is None else made.model_copy(update={"score": crossed})


def crossfitted_score(
    results: Sequence[CandidateResult], scorer: Scorer, ensembling: Ensembling, folds: NDArray[np.int64]
) -> float | None:
    """Scores each fold by a selection made on the other folds, including weights and decision thresholds.

    The best of many candidates looks better than it is on the rows that it was selected on. Returns None if there are
    many rows, or if the scorer cannot score parts.
    """
    if ensembling == "stacking" or results[0].outputs.size > MOST_CROSSED:
        return None
    made = np.zeros_like(results[0].outputs)
    for fold in np.unique(folds):
        here = folds == fold
        if (rest := scorer.part(~here)) is None:
            return None
        chosen = select([one.part(~here) for one in results], rest, ensembling)
        outputs = ensemble_outputs(chosen, [one.part(here) for one in results], rest)
        decided = chosen.class_weights is not None and scorer.metric.needs == "labels"
        made[here] = outputs * np.array(chosen.class_weights) if decided else outputs
    return scorer.score(made)


def alone(result: CandidateResult, scorer: Scorer) -> Selection:
    """Returns the selection that consists of one candidate."""
    single = Ensemble(((result, 1.0),), result.outputs, "single")
    return _selection(single, result, scorer, "")


def ensemble_outputs(selection: Selection, results: Sequence[CandidateResult], scorer: Scorer) -> Floats:
    """Returns the outputs of a selection on the training rows."""
    by_name = {one.name: one for one in results}
    parts = [(by_name[one.candidate.name], one.weight) for one in selection.members]
    return _put_together(parts, scorer, selection.ensembling).outputs


def _compared(single: Ensemble, several: Ensemble, scorer: Scorer, ensembling: Ensembling) -> tuple[Ensemble, str]:
    """Chooses the ensemble if the policy asks for one or it is better by more than noise; also returns the reason."""
    (best, _), *_ = single.parts
    if len(several.parts) == 1:
        return single, f"{best.name} alone, as no ensemble is better"
    gain = scorer.gain(several.outputs, single.outputs)
    middle, error = (gain.low + gain.high) / 2, (gain.high - gain.low) / ERRORS
    gained = f"{number(middle, 2)} ± {number(error, 1)} (standard error) in {metric(scorer.metric.name)}"
    if ensembling != "best" or middle > max(error, 0):
        return several, f"an ensemble of {len(several.parts)} models, which gains {gained} over {best.name}"
    return single, f"{best.name} alone, as an ensemble of {len(several.parts)} gains only {gained}: within noise"


def _diverse(ranked: Sequence[CandidateResult]) -> list[CandidateResult]:
    """Returns the candidates that an ensemble is chosen from, best first."""
    alike = Counter[str]()
    found = list[CandidateResult]()
    for one in ranked:
        learner = one.trial.candidate.learner
        alike[learner] += 1
        if alike[learner] <= MOST_ALIKE:
            found.append(one)
    return found[:MOST_CANDIDATES]


def _together(
    ranked: Sequence[CandidateResult], scorer: Scorer, ensembling: Ensembling, fits: Callable[[Collection[str]], bool]
) -> Ensemble:
    """Returns a policy's best ensemble: the top candidates with the scorer's or equal weights, or a greedy choice."""
    has_weights = ensembling != "stacking" and scorer.shares([ranked[0].outputs]) is not None
    if ensembling in ("best", "weighted") and not has_weights:
        picked = _greedy(ranked, scorer, fits)
        parts = [(ranked[place], count / picked.total()) for place, count in sorted(picked.items())]
        return _put_together(parts, scorer, "weighted" if len(parts) > 1 else "single")
    found = list[Ensemble]()
    for count in range(2, min(MOST_SHARED if has_weights else FEW, len(ranked)) + 1):
        some = ranked[:count]
        shares = _of_learners(some, scorer.shares([one.outputs for one in some])) if has_weights else None
        if fits({one.name for one in some}):
            parts = list(zip(some, shares or [1 / count] * count, strict=True))
            found.append(_put_together(parts, scorer, "weighted" if has_weights else ensembling))
    single = _put_together([(ranked[0], 1.0)], scorer, "single")
    choices = [single, *found] if has_weights or not found else found
    best = max(choices, key=lambda one: scorer.utility(one.outputs))
    if not has_weights:
        return best
    # Few origins pick members badly: take the mean of most members that is not worse by more than noise.
    return next(one for one in reversed(choices) if one is best or scorer.gain(best.outputs, one.outputs).low <= 0)


def _of_learners(results: Sequence[CandidateResult], shares: Sequence[float] | None) -> list[float]:
    """Divides the weights so that candidates of one learner, whose errors are alike, weigh as much as one candidate."""
    learners = [one.trial.candidate.learner for one in results]
    divided = np.array(shares) / [learners.count(one) for one in learners]
    return [float(one) for one in divided / divided.sum()]


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


def _greedy(ranked: Sequence[CandidateResult], scorer: Scorer, fits: Callable[[Collection[str]], bool]) -> Counter[int]:
    """Counts how often each rank is picked in the best ensemble of the greedy search."""
    picked, total = Counter({0: 1}), ranked[0].outputs
    first = utility = scorer.utility(total)
    found, since = picked.copy(), 0
    for count in range(2, ROUNDS + 1):
        if since >= PATIENCE:
            break
        names = {ranked[place].name for place in picked}
        utilities = {
            place: scorer.utility(scorer.blended([total, one.outputs], [count - 1, 1]))
            for place, one in enumerate(ranked)
            if fits({*names, one.name})
        }
        place = max(utilities, key=utilities.__getitem__)
        picked[place] += 1
        total = scorer.blended([total, ranked[place].outputs], [count - 1, 1])
        since += 1
        if utilities[place] > utility:
            found, utility, since = picked.copy(), utilities[place], 0
    return found if utility - first > LEAST_GAIN * abs(first) else Counter({0: 1})


def _selection(chosen: Ensemble, best: CandidateResult, scorer: Scorer, reason: str) -> Selection:
    weights = scorer.class_weights(chosen.outputs)
    score, members = scorer.score(chosen.outputs, weights), []
    for one, weight in chosen.parts:
        rounds = [steps for steps in one.trial.rounds if steps is not None]
        whole = bool(rounds) and len(rounds) == len(one.trial.rounds)  # else some folds report no steps
        steps = max(1, round(fmean(rounds))) if whole else None
        members.append(ChosenMember(candidate=one.trial.candidate, rounds=steps, weight=weight))
    return Selection(
        metric=scorer.metric.name,
        score=score,
        apparent_score=score,
        members=tuple(members),
        ensembling=chosen.how,
        class_weights=weights,
        best_single=best.name,
        reason=reason,
    )
