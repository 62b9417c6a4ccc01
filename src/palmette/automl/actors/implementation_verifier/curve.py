"""The learning curve: out-of-fold scores of the strongest candidate on parts of the training rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from palmette.automl.artefacts import Comparison, CurvePoint
from palmette.automl.candidates import Candidate
from palmette.automl.problems.registry import problem_of
from palmette.automl.search.job import SearchJob, uses_own_code
from palmette.automl.search.results import read_results
from palmette.automl.search.runs import Search

PARTS = (0.25, 0.5)
FEWEST = 100
"""Rows below which a part shows little."""
LONGEST = 4.0
"""Seconds of the candidate's fits on all rows above which there is no curve."""
LEAST_BUDGET = 60.0
"""Seconds of training below which a curve would take too large a share of the run."""
SECONDS = 10.0


def learning_curve(search: Search, comparison: Comparison) -> tuple[CurvePoint, ...]:
    """Scores by rows, that of all rows last; nothing where it would take long or show little."""
    member = max(comparison.selection.members, key=lambda one: one.weight)
    row = next((one for one in comparison.leaderboard if one.name == member.candidate.name), None)
    counts = [round(part * len(search.splits.train)) for part in PARTS]
    short = search.blueprint.seconds < LEAST_BUDGET or counts[0] < FEWEST
    if row is None or short or row.seconds > LONGEST or uses_own_code(member.candidate):
        return ()
    with ThreadPoolExecutor(len(counts)) as beside:
        scores = list(beside.map(lambda count: _score(search, member.candidate, count), counts))
    return _points([*counts, len(search.splits.train)], [*scores, row.score])


def _points(counts: Sequence[int], scores: Sequence[float | None]) -> tuple[CurvePoint, ...]:
    found = [CurvePoint(rows=count, score=one) for count, one in zip(counts, scores, strict=True) if one is not None]
    return tuple(found) if len(found) == len(counts) else ()


def _score(search: Search, candidate: Candidate, count: int) -> float | None:
    """Of the candidate on so many rows; None where it did not finish."""
    problem, target = problem_of(search.blueprint), search.blueprint.target
    classes = search.splits.train[target].astype(str).to_numpy() if search.blueprint.classes else None
    splits = search.splits.sample(count, search.blueprint.seed, classes, least=search.blueprint.folds.count)
    job = SearchJob(
        blueprint=search.blueprint,
        candidates=(candidate.model_copy(update={"tuned": False}),),
        seconds=SECONDS,
        started=time.time(),
        workers=1,
        tuning=False,
    )
    place = f"curve-{count}"
    search.drive(job, (), splits, problem.folds(splits), place)
    found = read_results(search.folder / place, problem, len(splits.train)).result(candidate.name)
    if found is None:
        return None
    scorer = problem.scorer(splits)
    return scorer.score(found.outputs, scorer.class_weights(found.outputs))
