"""The harness's side of a search: writes jobs, runs the driver in the sandbox, and verifies its results."""

import dataclasses
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from palmette.automl.candidates import Blueprint, Candidate, OwnCode, Trial, substance
from palmette.automl.kinds import with_contents
from palmette.automl.problems.problem import Problem, problem_of
from palmette.automl.search import job as files
from palmette.automl.search.job import SearchJob, SearchLog, cores, fold_numbers, run_module, uses_own_code
from palmette.automl.search.results import CandidateLoad, CandidateResult, read_results, write_results
from palmette.automl.search.stored_features import FeatureMemory
from palmette.automl.splitting.data_splits import DataSplits
from palmette.errors import counted
from palmette.sandbox import ExecutionResult, Sandbox

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
class Search:
    """Trains the candidates of a blueprint on given splits."""

    folder: Path  # holds the verified results, and the job folders during a search
    blueprint: Blueprint
    splits: DataSplits
    sandbox: Sandbox
    progress: Progress = lambda _: None

    @cached_property
    def problem(self) -> Problem:
        return problem_of(self.blueprint)

    @cached_property
    def folds(self) -> NDArray[np.int64]:
        """(n,): the fold of each training row; negative for rows that are never predicted."""
        return self.problem.folds(self.splits)

    def run(
        self, seconds: float, candidates: Sequence[Candidate] | None = None, modules: Sequence[OwnCode] = ()
    ) -> CandidateLoad:
        """Trains baselines and candidates, by default those of the blueprint, and writes the verified results.

        Candidates with own code run separately, once for each fold, with the targets of that fold hidden.
        """
        started = time.monotonic()
        every = list(self.blueprint.candidates if candidates is None else candidates)
        own = [one for one in every if uses_own_code(one)] if self.problem.has_target else []
        waves = -(-len(fold_numbers(self.folds)) // cores())
        seconds -= time.monotonic() - started  # the first call imports scikit-learn
        own_seconds = own_code_seconds(seconds, waves) if own else 0.0
        loads = [self._run_registered([one for one in every if one not in own], modules, seconds - own_seconds)]
        if own and own_seconds:
            loads.append(self._run_own(own, modules, own_seconds / waves))
        elif own:
            note = "the budget is too short to train own code fold by fold"
            stopped = (Trial(candidate=one, status="stopped", note=note, seconds=0.0) for one in own)
            loads.append(CandidateLoad(tuple(stopped)))
        load = dataclasses.replace(CandidateLoad.merged(loads), seconds=time.monotonic() - started)
        write_results(self.folder, load)
        return load

    def drive(self, job: SearchJob, modules: Sequence[OwnCode], rows: pd.DataFrame, place: str) -> ExecutionResult:
        """Runs a job on training rows in the subfolder `place`."""
        folder = self.folder / place
        shutil.rmtree(folder, ignore_errors=True)
        for name in (files.OWN, files.ENCODINGS):
            (folder / name).mkdir(parents=True)
        for module in modules:
            (folder / files.OWN / module.path).write_text(module.text, encoding="utf-8")
        names = [one.name for one in self.blueprint.columns]
        target = [self.blueprint.target] if self.blueprint.target else []
        paths = [one.name for one in self.blueprint.file_columns]
        with_contents(rows[[*names, *target]], paths).to_parquet(folder / files.ROWS, index=False)
        if self.splits.context is not None:
            self.splits.context[names].to_parquet(folder / files.CONTEXT, index=False)
        MEMORY.lay_out(rows[names], folder / files.ENCODINGS)
        np.save(folder / files.FOLDS, self.folds, allow_pickle=False)
        if self.splits.groups is not None:
            np.save(folder / files.GROUPS, self.splits.groups, allow_pickle=False)
        (folder / files.JOB).write_text(job.model_dump_json(), encoding="utf-8")
        done = run_module(self.sandbox, DRIVER, folder, job.seconds + GRACE)
        if not modules:
            MEMORY.keep(rows[names], folder / files.ENCODINGS)
        return done

    def _run_registered(
        self, candidates: Sequence[Candidate], modules: Sequence[OwnCode], seconds: float
    ) -> CandidateLoad:
        """Runs baselines and candidates of registered plug-ins; own code only if there is no target that could leak."""
        dummy, *lines = self.problem.baselines()
        planned = [one for one in candidates if one.name != dummy.name]
        names, trained = {one.name for one in planned}, {*map(substance, planned)}
        simple = {*map(substance, lines)}
        lines = [one for one in lines if one.name not in names and substance(one) not in trained]
        # What others are compared with comes early, also where it is a candidate of the plan.
        rest = sorted(planned[1:], key=lambda one: substance(one) not in simple)
        job = SearchJob(
            blueprint=self.blueprint,
            candidates=(dummy, *planned[:1], *lines, *rest),
            baselines=tuple(sorted(one.name for one in (dummy, *lines))),
            seconds=max(seconds, 0.5),
            tuning=self.blueprint.tuning,
        )
        folder = self.folder / "job"
        with _reported(folder, self.problem, seconds, self.progress):
            done = self.drive(job, () if self.problem.has_target else modules, self.splits.train, folder.name)
        load = read_results(folder, self.problem, len(self.folds), job.candidates, self.folds)
        shutil.rmtree(folder, ignore_errors=True)
        return load if done.ok and load.results else load.after_failure(done)

    def _run_own(self, candidates: Sequence[Candidate], modules: Sequence[OwnCode], seconds: float) -> CandidateLoad:
        """Runs the driver once for each fold, several at a time, and combines the outputs."""

        def run(fold: int) -> CandidateLoad:
            self.progress(f"own code: fold {fold + 1}")
            load, done = self.run_fold(fold, candidates, modules, seconds, workers=1)
            return load if done.ok else load.after_failure(done)

        with ThreadPoolExecutor(cores()) as pool:
            numbers = fold_numbers(self.folds)
            loads = dict(zip(numbers, pool.map(run, numbers), strict=True))
        made = CandidateLoad.merged(self._combined(one, loads) for one in candidates)
        every = CandidateLoad.merged(loads.values())
        return dataclasses.replace(every, trials=made.trials, results=made.results, violations=())

    def run_fold(
        self, fold: int | None, own: Sequence[Candidate], modules: Sequence[OwnCode], seconds: float, workers: int
    ) -> tuple[CandidateLoad, ExecutionResult]:
        """Trains candidates on the other folds, without the targets of the rows of this one; on each fold for None."""
        train, count = self.splits.train, len(self.folds)
        if fold is not None:
            inside, target = self.folds == fold, train[self.blueprint.target].copy()
            count = int(inside.sum())
            target[inside] = np.random.default_rng(self.blueprint.seed + fold).choice(target[~inside].to_numpy(), count)
            train = train.assign(**{self.blueprint.target: target})
        job = SearchJob(
            blueprint=self.blueprint,
            candidates=tuple(own),
            seconds=seconds,
            workers=workers,
            tuning=False,
            only_fold=fold,
        )
        folder = self.folder / f"job-{fold}"
        done = self.drive(job, modules, train, folder.name)
        load = read_results(folder, self.problem, count, own, whole=fold is None)
        shutil.rmtree(folder, ignore_errors=True)
        return load, done

    def _combined(self, candidate: Candidate, loads: Mapping[int, CandidateLoad]) -> CandidateLoad:
        """Combines and scores the outputs of all folds; without a result, the trial has the reason."""
        trials = [one for load in loads.values() for one in load.trials if one.candidate.name == candidate.name]
        parts = {fold: found.outputs for fold, load in loads.items() if (found := load.result(candidate.name))}
        missing = "" if len(parts) == len(loads) else "a fold was not finished in time"
        trial = Trial(
            candidate=candidate,
            status="failed" if any(one.status == "failed" for one in trials) else "stopped",
            note=next((one.note for one in trials if one.note), missing),
            rounds=tuple(steps for one in trials for steps in one.rounds),
            seconds=sum(one.seconds for one in trials),
            learning=max((one.learning for one in trials), default=0.0),
            encoding=max((one.encoding for one in trials), default=0.0),
        )
        if trial.note:
            return CandidateLoad((trial,))
        outputs = np.empty((len(self.folds), *next(iter(parts.values())).shape[1:]))
        for fold, part in parts.items():
            outputs[self.folds == fold] = part
        if wrong := self.problem.output_error(outputs):
            return CandidateLoad((trial.model_copy(update={"status": "failed", "note": wrong}),))
        score = float(self.problem.scorer(self.splits).utility(outputs))
        trial = trial.model_copy(update={"status": "finished", "score": score})
        return CandidateLoad((trial,), (CandidateResult(trial, outputs),))


def own_code_seconds(seconds: float, waves: int) -> float:
    """The part of a search for candidates with own code, whose driver starts so many times; 0 where it is too short."""
    if waves * LEAST_SECONDS > MOST_OWN * seconds:
        return 0.0
    starts = waves * START_SECONDS
    return min(max(starts + OWN_SHARE * (seconds - starts), waves * LEAST_SECONDS), MOST_OWN * seconds)


@contextmanager
def _reported(folder: Path, problem: Problem, seconds: float, progress: Progress) -> Iterator[None]:
    """Reports the number of tried candidates and the best score while the driver runs."""
    end, done = time.monotonic() + seconds, threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_EVERY):
            progress(f"{_state(folder, problem)}, {max(0.0, end - time.monotonic()):.0f} s left")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _state(folder: Path, problem: Problem) -> str:
    try:
        trials = SearchLog.read(folder).trials
    except (OSError, ValidationError):  # not written yet, or unreadable
        return "training starts"
    scores = [one.score for one in trials if one.score is not None]
    if not scores:
        return f"{counted(len(trials), 'candidate')} tried"
    metric = problem.guide
    best = max(scores) if metric.greater_is_better else -max(scores)
    return f"{counted(len(trials), 'candidate')} tried, best {metric.name} so far {best:.4f}"
