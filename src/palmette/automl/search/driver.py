"""The program that trains candidates in the sandbox: `python -m palmette.automl.search.driver FOLDER`.

The folder holds `job.json`, `train.parquet`, `folds.npy`, and `own/` with the modules that a language model wrote. The
driver writes `trials.json` and `outputs/<candidate>.npy` as candidates finish. Each worker is a process that fits with
one thread, because parallel fits use the cores better than one fit that uses all of them.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import time
from contextlib import closing
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import build
from palmette.automl.composition import reader_of
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import problem_of
from palmette.automl.search import job as files
from palmette.automl.search.job import SearchJob, SearchLog, fold_numbers, sampled_rows
from palmette.automl.search.schedule import LEAST_REFIT, REFIT_SHARE, Rating, Schedule
from palmette.automl.search.stored_features import write_array
from palmette.automl.search.worker import FoldResult, FoldTask, Workspace, work
from palmette.automl.splitting.data_splits import DataSplits
from palmette.engine.storage import write_whole

ENDING = 0.5  # seconds reserved for writing the last files and for the sandbox to exit
FIRST_FOLD = 30.0  # seconds beyond the time limit for the first fold of the one candidate that must finish


def main(folder: Path) -> None:
    """Runs the job in `folder`."""
    job = SearchJob.model_validate_json((folder / files.JOB).read_text("utf-8"))
    starting = max(0.0, time.time() - job.started)
    start = time.monotonic() - starting
    sys.path.insert(0, str(folder / files.OWN))
    for name in (files.OUTPUTS, files.ENCODINGS):
        (folder / name).mkdir(exist_ok=True)
    workspace = _workspace(folder, job)
    end = start + job.seconds - ENDING
    rating = _rating(workspace, job.only_fold is not None)
    schedule = RecordedSchedule(job, workspace.folds, rating, start, end, starting)
    schedule.folder, schedule.total = folder, len(workspace.rows)
    schedule.kept = np.arange(schedule.total)
    _search(schedule, workspace)
    if schedule.most_rows < schedule.total:
        schedule.kept = sampled_rows(schedule.total, schedule.most_rows, job.blueprint.seed)
        workspace = workspace.sampled(schedule.kept)
        schedule.take(workspace.folds, _rating(workspace, hidden=False))
        _search(schedule, workspace)
    schedule.abandon()
    schedule.write()


def _search(schedule: Schedule, workspace: Workspace) -> None:
    """Sends fits to workers until the time is up, no remaining fit would end in time, or fewer rows are wanted."""
    patience = max(0.0, LEAST_REFIT - REFIT_SHARE * (schedule.end - schedule.start))  # only in a short search
    with closing(Pool(workspace, schedule.job.workers)) as pool:
        while True:
            later = 0.0 if schedule.is_complete else patience if schedule.has_fold else FIRST_FOLD
            limit, now = schedule.end + later, time.monotonic()
            if now >= limit:
                return
            while pool.has_idle and (task := schedule.next_task(time.monotonic())) is not None:
                pool.send(task)
            if not pool.is_busy:
                return
            for task, result in pool.results(limit - now):
                schedule.record(task, result)


def _workspace(folder: Path, job: SearchJob) -> Workspace:
    rows = pd.read_parquet(folder / files.ROWS)
    reader, context, groups = build(reader_of(job.blueprint)), folder / files.CONTEXT, folder / files.GROUPS
    frame = reader.fit_transform(rows.drop(columns=job.blueprint.target, errors="ignore"))
    beside = reader.transform(pd.read_parquet(context)) if context.exists() else None
    problem = problem_of(job.blueprint)
    return Workspace(
        folder=folder / files.ENCODINGS,
        blueprint=job.blueprint,
        problem=problem,
        rows=rows,
        frame=problem.inputs(frame, beside),
        folds=np.load(folder / files.FOLDS, allow_pickle=False),
        groups=np.load(groups, allow_pickle=False) if groups.exists() else None,
    )


def _rating(workspace: Workspace, hidden: bool) -> Rating:
    """Scores outputs by the problem's metric. If targets are `hidden`, all complete outputs score the same."""
    if hidden:
        return Rating(lambda outputs: 0.0 if np.isfinite(outputs).all() else None, lambda _, __: None)
    problem, rows, folds = workspace.problem, workspace.rows, workspace.folds
    every = problem.scorer(DataSplits(rows, rows.iloc[:0], None))
    parts = {fold: every.part(folds == fold) for fold in fold_numbers(folds)}

    def whole(outputs: Floats) -> float | None:
        return None if problem.output_error(outputs) else _finite(every.utility(outputs))

    def of_fold(fold: int, outputs: Floats) -> float | None:
        part = parts.get(fold)
        return _finite(part.utility(outputs)) if part and np.isfinite(outputs).all() else None

    return Rating(whole, of_fold)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class RecordedSchedule(Schedule):
    """A schedule that writes outputs and trials to the job's folder."""

    folder: Path
    total: int  # number of rows
    kept: NDArray[np.int64]  # positions of those that are searched

    def finished(self, name: str, outputs: Floats) -> None:
        every = outputs
        if len(self.kept) < self.total:
            every = np.full((self.total, *outputs.shape[1:]), np.nan)
            every[self.kept] = outputs
        write_array(self.folder / files.OUTPUTS / f"{name}.npy", np.ascontiguousarray(every, dtype=np.float64))
        self.write()

    def write(self) -> None:
        """Writes all trials so far, and the processor time of this process and of the workers that have ended."""
        log = SearchLog(
            trials=tuple(self.trials),
            processor_seconds=round(sum(os.times()[:4]), 2),
            rows=len(self.kept) if len(self.kept) < self.total else 0,
            starting=round(self.starting, 2),
        )
        write_whole(self.folder / files.LOG, log.model_dump_json().encode())


class Pool:
    """Worker processes, each connected by a pipe because the sandbox may lack the semaphores that a queue needs."""

    def __init__(self, workspace: Workspace, count: int) -> None:
        self._workspace = workspace
        # Forked workers share the rows. Forking is safe: the environment limits libraries to one thread.
        self._context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._workers: dict[Connection, BaseProcess] = {}
        self._tasks: dict[Connection, FoldTask] = {}
        for _ in range(count):
            self._start()

    @property
    def has_idle(self) -> bool:
        return len(self._tasks) < len(self._workers)

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def send(self, task: FoldTask) -> None:
        """Gives a task to an idle worker."""
        pipe = next(one for one in self._workers if one not in self._tasks)
        self._tasks[pipe] = task
        pipe.send(task)

    def results(self, seconds: float) -> list[tuple[FoldTask, FoldResult]]:
        """Returns the finished fits, after waiting at most `seconds` for the first."""
        ready, found = wait(list(self._tasks), max(0.0, seconds)), list[tuple[FoldTask, FoldResult]]()
        for pipe in [one for one in self._tasks if one in ready]:
            task = self._tasks.pop(pipe)
            try:
                found.append((task, pipe.recv()))
            except (EOFError, ConnectionError):
                process = self._workers.pop(pipe)
                process.join()
                self._start()
                note = f"its process ended with exit code {process.exitcode}"
                found.append((task, FoldResult(None, None, 0.0, note=note)))
        return found

    def close(self) -> None:
        """Kills all workers."""
        for pipe, process in self._workers.items():
            process.kill()
            process.join()
            pipe.close()

    def _start(self) -> None:
        own, other = self._context.Pipe()
        process = self._context.Process(  # type: ignore[attr-defined]  # every context has it
            target=work, args=(other, self._workspace), daemon=True
        )
        process.start()
        other.close()
        self._workers[own] = process


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # skips the teardown of libraries, which takes a noticeable part of a second
