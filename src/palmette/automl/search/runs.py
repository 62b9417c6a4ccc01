"""The harness's side of a search: writes jobs, runs the driver in the sandbox, and verifies its results."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from palmette.automl.candidates import Blueprint, Candidate, OwnCode, Trial, substance
from palmette.automl.file_cells import with_contents
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.problems.registry import problem_of
from palmette.automl.search.job import (
    CONTEXT,
    ENCODINGS,
    FOLDS,
    GROUPS,
    JOB,
    LOG,
    OWN,
    ROWS,
    SearchJob,
    cores,
    run_module,
    uses_own_code,
)
from palmette.automl.search.results import (
    LOG_BYTES,
    CandidateLoad,
    CandidateResult,
    SearchLog,
    read_results,
    write_results,
)
from palmette.automl.search.stored_features import FeatureMemory
from palmette.automl.splitting import DataSplits
from palmette.engine.actor import Violation
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.reading import read_made

DRIVER = "palmette.automl.search.driver"
GRACE = 60.0  # seconds after its time limit when the driver is killed; long, because a fit may still be under way
OWN_SHARE, MOST_OWN = 0.3, 0.5
"""Share of the time for candidates with own code, beside the starts of the driver, and at most with them."""
START_SECONDS, LEAST_SECONDS = 3.0, 4.0
"""Time that the driver needs to start, and the shortest useful time for a run of it."""
LOOK_EVERY = 1.0  # seconds between two reads of the driver's log

MEMORY = FeatureMemory()
Progress = Callable[[str], None]


@dataclass(frozen=True)
class SearchRun:
    """The results of a search, and the time it took."""

    load: CandidateLoad
    seconds: float  # wall-clock time
    processor_seconds: float
    failures: tuple[Violation, ...] = ()
    """Runs of the driver that crashed, were killed or produced no results."""


@dataclass(frozen=True)
class Search:
    """Trains the candidates of a blueprint on given splits."""

    folder: Path  # holds the verified results, and the job folders during a search
    blueprint: Blueprint
    splits: DataSplits
    sandbox: Sandbox
    progress: Progress = lambda _: None

    def run(
        self, seconds: float, candidates: Sequence[Candidate] | None = None, modules: Sequence[OwnCode] = ()
    ) -> SearchRun:
        """Trains baselines and candidates, by default those of the blueprint, and writes the verified results.

        Candidates with own code run separately, once for each fold, with the targets of that fold hidden.
        """
        started, problem = time.monotonic(), problem_of(self.blueprint)
        every = list(self.blueprint.candidates if candidates is None else candidates)
        own = [one for one in every if uses_own_code(one)] if problem.has_target else []
        folds = problem.folds(self.splits)
        seconds -= time.monotonic() - started  # the first call imports scikit-learn
        waves = -(-len(np.unique(folds[folds >= 0])) // cores())
        own_seconds = own_code_seconds(seconds, waves) if own else 0.0
        runs = [self._plain([one for one in every if one not in own], modules, folds, seconds - own_seconds)]
        if own and not own_seconds:
            runs.append(_too_late(own))
        elif own:
            runs.append(HiddenFolds(self, problem, folds, modules).run(own, own_seconds / waves))
        load = CandidateLoad(
            trials=tuple(trial for one in runs for trial in one.load.trials),
            results=tuple(result for one in runs for result in one.load.results),
            violations=tuple(violation for one in runs for violation in one.load.violations),
            processor_seconds=sum(one.processor_seconds for one in runs),
        )
        write_results(self.folder, load)
        failures = tuple(failure for one in runs for failure in one.failures)
        return SearchRun(load, time.monotonic() - started, load.processor_seconds, failures)

    def drive(
        self, job: SearchJob, modules: Sequence[OwnCode], rows: DataSplits, folds: NDArray[np.int64], place: str
    ) -> ExecutionResult:
        """Runs a job on `rows` in the subfolder `place`."""
        folder = self.folder / place
        shutil.rmtree(folder, ignore_errors=True)
        (folder / OWN).mkdir(parents=True)
        for module in modules:
            (folder / OWN / module.path).write_text(module.text, encoding="utf-8")
        names = [one.name for one in self.blueprint.columns]
        target = [self.blueprint.target] if self.blueprint.target else []
        files = [one.name for one in self.blueprint.file_columns]
        with_contents(rows.train[[*names, *target]], files).to_parquet(folder / ROWS, index=False)
        if rows.context is not None:
            rows.context[names].to_parquet(folder / CONTEXT, index=False)
        (folder / ENCODINGS).mkdir()
        MEMORY.lay_out(rows.train[names], folder / ENCODINGS)
        np.save(folder / FOLDS, folds, allow_pickle=False)
        if rows.groups is not None:
            np.save(folder / GROUPS, rows.groups, allow_pickle=False)
        (folder / JOB).write_text(job.model_dump_json(), encoding="utf-8")
        done = run_module(self.sandbox, DRIVER, folder, job.seconds + GRACE)
        if not modules:
            MEMORY.keep(rows.train[names], folder / ENCODINGS)
        return done

    def _plain(
        self, candidates: Sequence[Candidate], modules: Sequence[OwnCode], folds: NDArray[np.int64], seconds: float
    ) -> SearchRun:
        """Runs baselines and candidates of registered plug-ins; own code only if there is no target that could leak."""
        started, problem = time.time(), problem_of(self.blueprint)
        dummy, *lines = problem.baselines()
        planned = [one for one in candidates if one.name != dummy.name]
        names, trained = {one.name for one in planned}, {*map(substance, planned)}
        lines = [one for one in lines if one.name not in names and substance(one) not in trained]
        job = SearchJob(
            blueprint=self.blueprint,
            candidates=(dummy, *planned[:1], *lines, *planned[1:]),
            baselines=tuple(sorted(one.name for one in (dummy, *lines))),
            seconds=max(seconds, 0.5),
            started=started,
            workers=cores(),
            tuning=self.blueprint.tuning,
        )
        folder = self.folder / "job"
        with _Watch(folder, problem, seconds, self.progress):
            done = self.drive(job, () if problem.has_target else modules, self.splits, folds, folder.name)
        load = read_results(folder, problem, len(folds), job.candidates)
        failures = () if done.ok and load.results else (failure(done, load),)
        shutil.rmtree(folder, ignore_errors=True)
        return SearchRun(load, done.seconds, load.processor_seconds, failures)


@dataclass(frozen=True)
class HiddenFolds:
    """Trains candidates with own code fold by fold, without the targets of the fold that they predict."""

    search: Search
    problem: Problem
    folds: NDArray[np.int64]
    modules: Sequence[OwnCode]

    def run(self, candidates: Sequence[Candidate], seconds: float) -> SearchRun:
        """Runs the driver once for each fold, several at a time, and combines the outputs."""
        numbers = [int(one) for one in np.unique(self.folds) if one >= 0]
        started = time.monotonic()
        with ThreadPoolExecutor(cores()) as pool:
            runs = list(pool.map(lambda fold: self._fold(fold, candidates, seconds), numbers))
        loads = dict(zip(numbers, (load for _, load in runs), strict=True))
        failures = tuple(failure(done, load) for done, load in runs if not done.ok)
        made = [self._whole(one, loads) for one in candidates]
        results = tuple(one for one in made if isinstance(one, CandidateResult))
        trials = tuple(one.trial if isinstance(one, CandidateResult) else one for one in made)
        spent = sum(one.processor_seconds for one in loads.values())
        load = CandidateLoad(trials, results, (), spent)
        return SearchRun(load, time.monotonic() - started, spent, failures)

    def _fold(
        self, fold: int, candidates: Sequence[Candidate], seconds: float
    ) -> tuple[ExecutionResult, CandidateLoad]:
        self.search.progress(f"own code: fold {fold + 1}")
        blueprint, splits, inside = self.search.blueprint, self.search.splits, self.folds == fold
        target = splits.train[blueprint.target].copy()
        shown = target[~inside].to_numpy()
        target[inside] = np.random.default_rng(blueprint.seed + fold).choice(shown, int(inside.sum()))
        train = splits.train.assign(**{blueprint.target: target})
        rows = DataSplits(train, splits.holdout.iloc[:0], splits.groups, context=splits.context)
        job = SearchJob(
            blueprint=blueprint,
            candidates=tuple(candidates),
            seconds=seconds,
            started=time.time(),
            workers=1,
            tuning=False,
            only_fold=fold,
        )
        place = f"job-{fold}"
        done = self.search.drive(job, self.modules, rows, self.folds, place)
        load = read_results(self.search.folder / place, self.problem, int(inside.sum()), candidates, whole=False)
        shutil.rmtree(self.search.folder / place, ignore_errors=True)
        return done, load

    def _whole(self, candidate: Candidate, loads: dict[int, CandidateLoad]) -> CandidateResult | Trial:
        """Combines and scores the outputs of all folds; returns a trial with the reason if a fold is missing."""
        parts: dict[int, Floats] = {}
        trials: list[Trial] = []
        for fold, load in loads.items():
            trials += [one for one in load.trials if one.candidate.name == candidate.name]
            if result := load.result(candidate.name):
                parts[fold] = result.outputs
        seconds = sum(one.seconds for one in trials)
        missing = "" if len(parts) == len(loads) else "a fold was not finished in time"
        note = next((one.note for one in trials if one.note), missing)
        status = "failed" if any(one.status == "failed" for one in trials) else "stopped"
        if not note:
            outputs = np.empty((len(self.folds), *next(iter(parts.values())).shape[1:]))
            for fold, part in parts.items():
                outputs[self.folds == fold] = part
            note = self.problem.output_error(outputs)
            status = "failed" if note else "finished"
        rounds = tuple(steps for one in trials for steps in one.rounds)
        trial = Trial(candidate=candidate, status=status, note=note, rounds=rounds, seconds=seconds)  # type: ignore[arg-type]  # one of the three
        if note:
            return trial
        score = self.problem.scorer(self.search.splits).utility(outputs)
        return CandidateResult(trial.model_copy(update={"score": float(score)}), outputs)


def own_code_seconds(seconds: float, waves: int) -> float:
    """The part of a search for candidates with own code, whose driver starts so many times; 0 where it is too short."""
    if waves * LEAST_SECONDS > MOST_OWN * seconds:
        return 0.0
    starts = waves * START_SECONDS
    return min(max(starts + OWN_SHARE * (seconds - starts), waves * LEAST_SECONDS), MOST_OWN * seconds)


def failure(done: ExecutionResult, load: CandidateLoad) -> Violation:
    """Describes a failed run of the driver, with its output as evidence."""
    wrong = "; ".join(one.message for one in load.violations)
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    how = "" if done.ok else f"the search {done.ended} {done.note} {last}".strip()
    message = "; ".join(filter(None, (how, wrong)))[:600] or "the search left nothing"
    return Violation(code="search-failed", message=message, evidence=done.stderr[-4000:])


def _too_late(own: Sequence[Candidate]) -> SearchRun:
    note = "the budget is too short to train own code fold by fold"
    trials = tuple(Trial(candidate=one, status="stopped", note=note, seconds=0.0) for one in own)
    return SearchRun(CandidateLoad(trials), 0.0, 0.0)


class _Watch:
    """Reports the number of tried candidates and the best score while the driver runs."""

    def __init__(self, folder: Path, problem: Problem, seconds: float, progress: Progress) -> None:
        self._folder, self._problem, self._progress = folder, problem, progress
        self._end = time.monotonic() + seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(LOOK_EVERY):
            self._progress(f"{self._state()}, {max(0.0, self._end - time.monotonic()):.0f} s left")

    def _state(self) -> str:
        try:
            trials = SearchLog.model_validate_json(read_made(self._folder, LOG, LOG_BYTES)).trials
        except (OSError, ValidationError):  # not written yet, or unreadable
            return "training starts"
        scores = [one.score for one in trials if one.score is not None]
        if not scores:
            return f"{len(trials)} candidates tried"
        metric = self._problem.metric
        best = max(scores) if metric.greater_is_better else -max(scores)
        return f"{len(trials)} candidates tried, best {metric.name} so far {best:.4f}"
