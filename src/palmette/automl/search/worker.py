"""A worker of the driver: fits one candidate on one fold at a time, with one thread."""

import pickle
import time
import traceback
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import Call, build
from palmette.automl.candidates import Blueprint, Candidate
from palmette.automl.composition import encoder_of, encoding_key, fit_fold, learner_named, learner_of
from palmette.automl.learners.learner import FoldData
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.search.job import OWN, sampled_rows
from palmette.automl.search.stored_features import sampled_seconds, with_stored
from palmette.automl.splitting.data_splits import DataSplits
from palmette.engine.storage import write_whole

ALL_ROWS = -1  # used in place of a fold number: fit on all rows and predict them
SAMPLE = -2  # used in place of a fold number: fit on a few rows, or encode them, to estimate the time for all
SAMPLE_ROWS = 1000  # rows of a timed fit
DUMMY = "dummy"  # the learner that ignores features


class FoldTask(NamedTuple):
    """A fit to perform."""

    candidate: Candidate
    fold: int
    seconds: float  # time for an iterative learner, counted from the end of encoding


class FoldResult(NamedTuple):
    """The result of a fit."""

    outputs: Floats | None  # (m,) or (m, k) for the rows of the fold; None if the fit failed
    rounds: int | None
    seconds: float  # total time except `shared`
    encoding: float = 0.0
    """Part of `seconds` spent on features that no worker had encoded before; for a sample of shared features, on what
    comes before the first row, such as reading weights."""
    shared: float = 0.0
    """Seconds spent on features that all folds share; for a sample, the estimate for all rows."""
    note: str = ""  # why the fit failed


@dataclass
class Workspace:
    """The data of a job, shared by all workers."""

    folder: Path
    blueprint: Blueprint
    problem: Problem
    rows: pd.DataFrame  # includes the target
    frame: Any  # typed columns without the target, as the problem's encoders expect them
    folds: NDArray[np.int64]
    groups: NDArray[np.int64] | None = None  # (n,): equal for rows that must stay in one fold

    def fit(self, task: FoldTask) -> FoldResult:
        """Fits a candidate without a fold's rows and predicts them. Returns failures as results."""
        started = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if task.fold != SAMPLE:
                    return self._fitted(task)
                loading, whole = sampled_seconds(encoder_of(task.candidate, self.blueprint), self.frame)
                if whole:
                    return FoldResult(None, None, time.monotonic() - started, encoding=loading, shared=whole)
                few = self.sampled(sampled_rows(len(self.rows), SAMPLE_ROWS, self.blueprint.seed))
                return few._fitted(task._replace(fold=int(few.folds.max())))._replace(outputs=None)
        except Exception as error:  # noqa: BLE001 - a library or own class may raise anything; one candidate must not end the search
            paths = [(Path(one.filename), one.lineno) for one in traceback.extract_tb(error.__traceback__)]
            own = self.folder.parent / OWN
            steps = [f' File "{path.name}", line {line}' for path, line in paths if path.parent == own]
            note = " ".join(f"{type(error).__name__}: {error}".split())[:600] + "".join(steps[-3:])
            return FoldResult(None, None, time.monotonic() - started, note=note)

    def sampled(self, kept: NDArray[np.int64]) -> "Workspace":
        """Returns a workspace of the rows at these positions, with features of its own."""
        folder = self.folder / str(len(kept))
        folder.mkdir(exist_ok=True)
        rows, frame = (one.iloc[kept].reset_index(drop=True) for one in (self.rows, self.frame))
        groups = None if self.groups is None else self.groups[kept]
        return replace(self, folder=folder, rows=rows, frame=frame, folds=self.folds[kept], groups=groups)

    def _fitted(self, task: FoldTask) -> FoldResult:
        candidate, strategy = task.candidate, task.candidate.strategy
        valid = learnt = np.ones(len(self.folds), dtype=bool)
        if task.fold != ALL_ROWS:
            learnt, valid = self.problem.fold_rows(self.rows, self.folds, task.fold)
        started = time.monotonic()
        encoder = encoder_of(candidate, self.blueprint)
        if candidate.learner != DUMMY:
            encoder = with_stored(encoder, self.frame, self.folder)
        shared = time.monotonic() - started
        target = self.problem.encoded_target(self.rows, strategy)
        own = None if target is None else target[learnt]
        train, test = self._encoded(task, encoder, learnt, valid, own)
        encoding = time.monotonic() - started - shared
        if own is not None and learner_named(candidate.learner).stops_early:
            rounds = self._steps(candidate, train, own, learnt, task.seconds / 2)
            estimator = build(learner_of(candidate, self.blueprint, rounds)).fit(train, own)
        else:
            estimator = build(learner_of(candidate, self.blueprint))
            rounds = fit_fold(candidate, estimator, FoldData(train, own, test, None), time.monotonic() + task.seconds)
        outputs = self.problem.outputs(estimator, test, strategy)
        made = outputs if task.fold == ALL_ROWS else outputs[self.folds[valid] == task.fold]
        return FoldResult(made, rounds, time.monotonic() - started - shared, encoding, shared)

    def _steps(
        self, candidate: Candidate, train: Any, own: Any, learnt: NDArray[np.bool_], seconds: float
    ) -> int | None:
        """Finds the number of steps by early stopping on part of the training rows; scored rows must not decide it."""
        rows = self.rows[learnt].reset_index(drop=True)
        groups = None if self.groups is None else self.groups[learnt]
        inner = self.problem.folds(DataSplits(rows, rows.iloc[:0], groups)) == 0
        inner &= np.isin(own, own[~inner]) if own.dtype.kind != "f" else True  # keeps only classes that are learnt
        data = FoldData(train[~inner], own[~inner], train[inner], own[inner])
        estimator = build(learner_of(candidate, self.blueprint))
        return fit_fold(candidate, estimator, data, time.monotonic() + seconds)

    def _encoded(
        self, task: FoldTask, encoder: Call, learnt: NDArray[Any], valid: NDArray[Any], own: NDArray[Any] | None
    ) -> tuple[Any, Any]:
        """Returns the features of training and predicted rows, computed once for each encoder, scale and fold."""
        if task.candidate.learner == DUMMY and self.problem.has_target:
            return np.zeros((int(learnt.sum()), 1)), np.zeros((int(valid.sum()), 1))
        path = self.folder / f"{encoding_key(task.candidate, self.blueprint)}-{task.fold}.pickle"
        if path.exists():
            made: tuple[Any, Any] = pickle.loads(path.read_bytes())
            return made
        transformer = build(encoder)
        made = transformer.fit_transform(self.frame[learnt], own), transformer.transform(self.frame[valid])
        write_whole(path, pickle.dumps(made, protocol=5))
        return made


def work(pipe: Connection, workspace: Workspace) -> None:
    """Processes tasks until the driver closes the pipe."""
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(workspace.fit(task))
