"""Decides what the driver fits next: candidates in order, each track within its share of the time, then tuned settings.

The folds of a candidate run in parallel. A candidate starts only if it is expected to end in time; iterative learners
get a deadline for each fold. What may take long is first timed on a sample of rows. Two candidates always finish: the
dummy, and the first one of which a fold and the final fit are expected to end in time, on a tenth of the rows at least.
If there is none, the quickest finishes. The search uses as many rows as that candidate has time for.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.candidates import Candidate, Trial
from palmette.automl.composition import candidate_track, facts_of, learner_named
from palmette.automl.kinds import Track
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import problem_named
from palmette.automl.search.encoding_costs import LEAST_COST, EncodingCosts, usual_ratio
from palmette.automl.search.job import LEAST_ROWS, SearchJob, fold_numbers
from palmette.automl.search.tuning import Tuner
from palmette.automl.search.worker import ALL_ROWS, SAMPLE, SAMPLE_ROWS, FoldResult, FoldTask

LARGEST_SHARE = 0.5  # share of the remaining time within which an iterative learner has to end
LEAST_SECONDS = 1.5  # least time for each fit of the candidate that must finish, however little remains
MOST_OVERDUE = 3.0  # largest expected time of a candidate, as a multiple of the remaining time, if none fits in
SAMPLE_MULTIPLE = 5.0  # largest estimate of features, as a multiple of the remaining time, for which a sample is timed
TIMED_SHARE = 0.3  # estimate of a fold and the final fit, as a share of the time, from which a sample is timed
LEAST_STEPS = 0.1  # share of the usual steps of an iterative learner that have to end in time
LEAST_LEFT = 6.0  # seconds that a fold and the final fit may take, however little remains
REFIT_SHARE, LEAST_REFIT = 0.2, 5.0  # time for the final fit: as a share of the search time, and in seconds
LEAST_FINISHED = 3  # number of finished candidates needed before a tuned one can be stopped for its first folds
LEAST_SHARE = 0.1  # share of the rows from which a candidate is preferred to later ones that have time for all rows
AS_QUICK = 1.5  # time of a candidate, as a multiple of the quickest, up to which the order of the plan decides


@dataclass
class CandidateProgress:
    """A candidate that is being fitted, with the results of its folds so far."""

    candidate: Candidate
    pending: list[int]
    started: float
    until: float
    is_tuned: bool = False
    running: int = 0
    note: str = ""  # why the candidate was stopped
    missing: tuple[int, ...] = ()  # folds that there was no time for
    failed: bool = False
    seconds: float = 0.0
    encoding: float = 0.0  # part of `seconds` spent on encoding
    outputs: dict[int, Floats] = field(default_factory=dict)
    scores: dict[int, float | None] = field(default_factory=dict)
    rounds: dict[int, int | None] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return not self.pending and not self.running

    def give_up(self, note: str, failed: bool = False) -> None:
        """Stops fitting further folds."""
        self.pending.clear()
        self.note, self.failed = self.note or note, self.failed or failed


class Rating(NamedTuple):
    """Scores outputs during the search: greater is better, None if there is no score."""

    whole: Callable[[Floats], float | None]
    of_fold: Callable[[int, Floats], float | None]


class Schedule:
    """Decides what is fitted next, and records the results."""

    def __init__(
        self, job: SearchJob, folds: NDArray[np.int64], rating: Rating, start: float, end: float, starting: float = 0.0
    ) -> None:
        """Takes `start` and `end` as values of `time.monotonic()`, and the seconds that a program takes to start."""
        self.job, self.start, self.end, self.starting = job, start, end, starting
        self._middle, self._limit = (start + end) / 2, end + max(REFIT_SHARE * (end - start), LEAST_REFIT) - starting
        """Earliest end of the search, and the time by which a final fit has to end."""
        self.waiting = list(job.candidates)
        self.needed = ""  # the candidate that has to finish, once it is decided
        self._timing = 0  # number of samples that are being timed
        self._problem = problem_named(job.blueprint.problem)
        self.current: list[CandidateProgress] = []
        self.trials: list[Trial] = []
        self.used: dict[Track, float] = {}
        facts = facts_of(job.blueprint)
        self._fitting: dict[str, float] = {}
        self._timed: dict[str, float] = {}  # measured by expected seconds of a learner on a sample; 1 while it runs
        self._encoding = EncodingCosts(job.blueprint, facts)
        self._tuner = Tuner(facts, job.blueprint.seed)
        self._shares = job.shares
        self.take(folds, rating)
        self._fold_scores: dict[str, dict[int, float | None]] = {}

    def take(self, folds: NDArray[np.int64], rating: Rating) -> None:
        """Goes on with rows in these folds; nothing was fitted to others."""
        self.folds, self.rating, self.most_rows = folds, rating, len(folds)
        self._facts = replace(facts_of(self.job.blueprint), rows=len(folds))
        self._costs = {one.name: learner_named(one.learner).cost(self._facts).seconds for one in self.job.candidates}
        self._encoding.take(self._facts)

    @property
    def _samples_rows(self) -> bool:
        """Returns whether part of the rows is a smaller task of the same kind."""
        return self._problem.draws_rows and not self._problem.fits_all_rows and self.job.only_fold is None

    @property
    def _first(self) -> set[str]:
        """Returns the candidates that finish, however short the time."""
        return {self.needed, self.job.candidates[0].name}

    @property
    def is_complete(self) -> bool:
        """Returns whether the dummy and a candidate that is not a baseline are done, or no such candidate is left."""
        others = [one for one in self.trials if one.candidate.name not in self.job.baselines]
        left = [*self.waiting, *(one.candidate for one in self.current)]
        finished = any(one.status == "finished" for one in others)
        dummy = any(one.candidate.name == self.job.candidates[0].name for one in self.trials)
        return dummy and (finished or all(one.name in self.job.baselines for one in left))

    @property
    def has_fold(self) -> bool:
        """Returns whether the candidate that must finish has predicted a fold, which can be compared by itself."""
        begun = any(one.candidate.name == self.needed and one.outputs for one in self.current)
        dummy = any(one.candidate.name == self.job.candidates[0].name for one in self.trials)
        return begun and dummy and self._problem.draws_rows and not self._problem.fits_all_rows

    def next_task(self, now: float) -> FoldTask | None:
        """Returns the next fit, or None if no remaining fit would end in time."""
        for progress in list(self.current):
            if progress.pending and self._is_late(progress, now):
                progress.give_up("it would not finish in time")
                self._close(progress)
        started = next((one for one in self.current if one.pending), None)
        if started is None and (sample := self._next_sample(now)) is not None:
            return sample
        if not self.needed and not self._decided(now):
            return None
        started = started or self._begin(now)
        if started is None:
            return None
        waves = math.ceil(len(started.pending) / self.job.workers)
        started.running += 1
        least = LEAST_SECONDS if started.candidate.name == self.needed else 0.0
        return FoldTask(started.candidate, started.pending.pop(0), max(least, started.until - now) / waves)

    def record(self, task: FoldTask, result: FoldResult) -> None:
        """Records the result of a fit or of a sample."""
        if task.fold == SAMPLE:
            self._timing -= 1
            self._encoding.record_sample(task.candidate, result)
            if not result.shared and not result.note:
                self._record_timed(task.candidate, result)
            return
        progress = next(one for one in self.current if one.candidate.name == task.candidate.name)
        progress.running -= 1
        progress.seconds += result.seconds
        track = candidate_track(task.candidate)
        self.used[track] = self.used.get(track, 0.0) + result.seconds + result.shared
        progress.encoding += result.encoding
        self._encoding.record(task.candidate, result)
        if result.outputs is None:
            progress.give_up(result.note, failed=True)
        else:
            progress.outputs[task.fold] = result.outputs
            progress.rounds[task.fold] = result.rounds
            progress.scores[task.fold] = self.rating.of_fold(task.fold, result.outputs)
            needed = not self.is_complete and task.candidate.name == self.needed
            self._reserve(sum(self._refit(progress)) if needed else self._encoding.again(task.candidate))
            if progress.is_tuned and progress.pending and self._is_hopeless(progress):
                progress.give_up("its first folds scored below the median")
        self._close(progress)

    def abandon(self) -> None:
        """Stops running candidates because the time is up; the one that must finish keeps the folds that it has."""
        keeps = self.has_fold and not self.is_complete
        for progress in list(self.current):
            progress.running = 0
            if keeps and progress.candidate.name == self.needed:
                progress.missing = tuple(one for one in fold_numbers(self.folds) if one not in progress.outputs)
                progress.pending.clear()
            else:
                progress.give_up("the time was up")
            self._close(progress)

    def _begin(self, now: float) -> CandidateProgress | None:
        """Starts a waiting candidate within its track's share, else a tuned one; then either beyond the share.

        If none fits the time, starts the cheapest waiting candidate; its deadline may end it early.
        """
        for within in (True, False):
            for one in self.waiting:
                if one.name in self._first or (self._fits(one, now, within) and self._affords(one, now)):
                    return self._started(one, now)
            if tuned := self._next_tuned(now, within):
                return self._started(tuned, now, is_tuned=True)
        least = min((one for one in self.waiting if self._affords(one, now)), key=self.expected, default=None)
        if least is None or self.expected(least) > MOST_OVERDUE * (self.end - now) * self.job.workers:
            return None
        return self._started(least, now)

    def _fits(self, candidate: Candidate, now: float, within: bool) -> bool:
        """Returns whether a candidate is expected to end in time, and `within` the share of its track."""
        room = self._room(candidate_track(candidate), now) if within else math.inf
        return self.expected(candidate) <= min(room, (self.end - now) * self.job.workers)

    def _decided(self, now: float) -> bool:
        """Decides which candidate has to finish, and on how many rows, once all samples are timed."""
        if self._timing:
            return False
        others = [one for one in self.waiting if one.name not in self.job.baselines]
        left = max(self._limit - now, LEAST_LEFT)
        least_share = LEAST_SHARE if self._samples_rows else 1.0
        room = {one.name: max(left - self._encoding.loading(one), 0.0) for one in others}
        needed = next((one for one in others if least_share * self._seconds_needed(one) <= room[one.name]), None)
        if needed is None and others:
            least = min(map(self._seconds_needed, others))
            needed = next(one for one in others if self._seconds_needed(one) <= AS_QUICK * least)
        if needed and self._samples_rows:
            share = room[needed.name] / max(self._seconds_needed(needed), room[needed.name], 1e-3)
            self.most_rows = min(len(self.folds), max(LEAST_ROWS, int(share * len(self.folds))))
        if needed:
            self.needed = needed.name
            first = self.job.candidates[0].name
            self.waiting.sort(key=lambda one: (one.name != first, one is not needed))
        return self.most_rows == len(self.folds)

    def _seconds_needed(self, candidate: Candidate) -> float:
        """Returns the expected seconds of a fold of a candidate and of its final fit, without reading weights."""
        count, steps = self.job.blueprint.folds.count, learner_named(candidate.learner).has_steps
        once, fitting = self._encoding.shared(candidate), self._fitting_expected(candidate) / count
        fold = self._encoding.expected(candidate) + fitting * (LEAST_STEPS if steps else 1.0)
        return once / self.job.workers + fold + once + fold * count / max(count - 1, 1)

    def _next_sample(self, now: float) -> FoldTask | None:
        """Returns a task that times a candidate on a sample of rows, if it takes long and may be affordable."""
        most, left = SAMPLE_MULTIPLE * (self.end - now) * self.job.workers, max(self._limit - now, LEAST_LEFT)
        is_decided = bool(self.needed) or not self._samples_rows or len(self.folds) <= 2 * SAMPLE_ROWS
        for one in self.waiting:
            if self._encoding.begins_sample(one, most) or (not is_decided and self._begins_timing(one, left)):
                self._timing += 1
                return FoldTask(one, SAMPLE, LEAST_SECONDS)
            is_decided |= one.name not in self.job.baselines and self._seconds_needed(one) <= left
        return None

    def _begins_timing(self, candidate: Candidate, left: float) -> bool:
        seconds = self._seconds_needed(candidate) - self._encoding.shared(candidate)
        begins = candidate.learner not in self._timed and seconds > TIMED_SHARE * left
        self._timed |= {candidate.learner: 1.0} if begins else {}
        return begins

    def _record_timed(self, candidate: Candidate, result: FoldResult) -> None:
        """Corrects the estimates of a learner and of its encoders by a fit of one fold of few rows."""
        few = replace(self._facts, rows=SAMPLE_ROWS)
        due = learner_named(candidate.learner).cost(few).seconds / few.folds
        self._timed[candidate.learner] = (result.seconds - result.encoding) / max(due, 1e-6)
        self._encoding.record_timed(candidate, result.encoding)

    def _affords(self, candidate: Candidate, now: float) -> bool:
        """Returns whether new features can be computed now and once more in the final fit."""
        new = self._encoding.shared(candidate)
        return not new or now + new / self.job.workers + self._encoding.again(candidate) <= self._limit

    def _next_tuned(self, now: float, within: bool) -> Candidate | None:
        if not self.job.tuning or now >= self.end:
            return None
        ranked = sorted((one for one in self.trials if one.score is not None), key=lambda one: -(one.score or 0.0))
        usable = [one.candidate for one in ranked if one.candidate.tuned and self._fits(one.candidate, now, within)]
        return self._tuner.ask(usable)

    def _started(self, candidate: Candidate, now: float, is_tuned: bool = False) -> CandidateProgress:
        if not is_tuned:
            self.waiting.remove(candidate)
        numbers = fold_numbers(self.folds)
        if self.job.only_fold is not None:
            numbers = [self.job.only_fold]
        elif self._problem.fits_all_rows:
            numbers = [ALL_ROWS, *numbers]
        room = max(self._room(candidate_track(candidate), now) / self.job.workers, 0.25 * (self.end - now))
        until = now + max(0.0, min(LARGEST_SHARE * (self.end - now), room))
        progress = CandidateProgress(candidate, numbers, now, until, is_tuned)
        self.current.append(progress)
        return progress

    def expected(self, candidate: Candidate) -> float:
        """Returns the expected seconds of a candidate on one thread, including encoding that is not done yet.

        Fitting is estimated by earlier fits of the same learner, else by the learner's cost, as timed on a sample.
        """
        folds = 1 if self.job.only_fold is not None else self.job.blueprint.folds.count
        fitting = self._fitting_expected(candidate) / self.job.blueprint.folds.count
        return (fitting + self._encoding.expected(candidate)) * folds + self._encoding.shared(candidate)

    def _fitting_expected(self, candidate: Candidate) -> float:
        """Returns the expected seconds of a learner in all folds."""
        finished = [one for one in self.trials if one.status == "finished"]
        same = [self._fitting[one.candidate.name] for one in finished if one.candidate.learner == candidate.learner]
        if same:
            return statistics.median(same)
        cost = self._costs.get(candidate.name, 0.0)
        if candidate.learner in self._timed:
            return cost * self._timed[candidate.learner]
        known = {one.candidate.name: self._costs.get(one.candidate.name, 0.0) for one in finished}
        return cost * usual_ratio(self._fitting[name] / due for name, due in known.items() if due > LEAST_COST)

    def _room(self, track: Track, now: float) -> float:
        """Returns the worker seconds left of a track's share."""
        whole = self._shares.get(track, 0.0) * (self.end - self.start) * self.job.workers
        mine = (one for one in self.current if candidate_track(one.candidate) == track)
        running = sum(one.running * (now - one.started) for one in mine)
        return whole - self.used.get(track, 0.0) - running

    def _is_late(self, progress: CandidateProgress, now: float) -> bool:
        """Returns whether a candidate would end too late, judged by its folds; iterative learners never do."""
        done, in_steps = len(progress.outputs), all(one is not None for one in progress.rounds.values())
        if not done or in_steps or progress.candidate.name in self._first:
            return False
        waves = math.ceil(len(progress.pending) / self.job.workers)
        return now + progress.seconds / done * waves > self.end

    def _is_hopeless(self, progress: CandidateProgress) -> bool:
        """Returns whether a candidate scores worse on its folds than the median of the finished ones."""
        scored = self._fold_scores.values()
        others = [one for one in scored if all(one.get(fold) is not None for fold in progress.scores)]
        if len(others) < LEAST_FINISHED or None in progress.scores.values():
            return False
        own = statistics.fmean(one for one in progress.scores.values() if one is not None)
        means = [statistics.fmean(one[fold] or 0.0 for fold in progress.scores) for one in others]
        return own < statistics.median(means)

    def _close(self, progress: CandidateProgress) -> None:
        if not progress.ended or progress not in self.current:
            return
        self.current.remove(progress)
        score, status, note = None, "failed" if progress.failed else "stopped", progress.note
        if not note and progress.missing:
            status, note = "finished", f"measured in {len(progress.outputs)} of {len(fold_numbers(self.folds))} folds"
        elif not note:
            score = self.rating.whole(self.whole(progress))
            status, note = ("failed", "its outputs cannot be scored") if score is None else ("finished", "")
        folds = sorted(progress.scores)
        each = self._encoding.seconds(progress.candidate)  # although another candidate may have encoded these features
        spent = progress.seconds + max(0.0, each * len(progress.outputs) - progress.encoding)
        learning, loading, encoding = self._refit(progress)
        trial = Trial(
            candidate=progress.candidate,
            status=status,  # type: ignore[arg-type]  # one of the three
            note=note,
            score=score,
            missing=progress.missing,
            rounds=tuple(progress.rounds[fold] for fold in folds if fold != ALL_ROWS),
            seconds=round(spent, 3),
            learning=round(learning, 3),
            encoding=round(encoding, 3),
            loading=round(loading, 3),
        )
        self.trials.append(trial)
        if score is not None and score == max(one.score for one in self.trials if one.score is not None):
            self._reserve(learning + loading + encoding)
        if status == "finished":
            self._fitting[progress.candidate.name] = progress.seconds - progress.encoding
            self._fold_scores[progress.candidate.name] = progress.scores
            self.finished(progress.candidate.name, self.whole(progress))
        if progress.is_tuned:
            self._tuner.tell(progress.candidate.name, score, next(iter(progress.scores.values()), None))

    def _refit(self, progress: CandidateProgress) -> tuple[float, float, float]:
        """Returns the expected seconds of a fit on all rows: of the learner, before the first row, of encoding."""
        count = self.job.blueprint.folds.count
        whole = count / max(count - 1, 1)  # rows, as a multiple of those that a fold learns from
        learning = (progress.seconds - progress.encoding) / max(len(progress.outputs), 1)
        encoding = whole * self._encoding.seconds(progress.candidate) + self._encoding.repeated(progress.candidate)
        return whole * learning, self._encoding.loading(progress.candidate), encoding

    def _reserve(self, seconds: float) -> None:
        """Keeps time within the limit for the final fit, which follows the search."""
        self.end = min(self.end, max(self._middle, self._limit - seconds))

    def whole(self, progress: CandidateProgress) -> Floats:
        """Combines the outputs of the folds; the first column is that of the fit on all rows, if there was one."""
        outputs = progress.outputs
        parts = [(fold, one) for fold, one in outputs.items() if fold != ALL_ROWS]
        if self.job.only_fold is not None:
            return parts[0][1]
        made = np.zeros((len(self.folds), *parts[0][1].shape[1:]))
        for fold, part in parts:
            made[self.folds == fold] = part
        made[np.isin(self.folds, progress.missing)] = np.nan
        return np.column_stack([outputs[ALL_ROWS], made]) if ALL_ROWS in outputs else made

    def finished(self, name: str, outputs: Floats) -> None:
        """Called with the outputs of each finished candidate."""
