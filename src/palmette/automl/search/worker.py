"""A worker of the driver: fits one candidate on one fold at a time, with one thread."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.calls import build, source
from palmette.automl.candidates import Blueprint, Candidate, Strategy
from palmette.automl.composition import encoder_of, fit_fold, learner_of
from palmette.automl.learners.learner import FoldData
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.search.job import OWN

if TYPE_CHECKING:
    import pandas as pd

ALL_ROWS = -1
"""In the place of a fold: fitted on all rows, which are also predicted."""
DUMMY = "dummy"
"""The learner that looks at no features."""
CACHED_BYTES = 1 << 28
"""Of encoded folds that a worker keeps in memory."""
INNER_SHARE = 0.15
"""Of the training rows that early stopping looks at where the targets of a fold are hidden."""


class FoldTask(NamedTuple):
    """A fit."""

    candidate: Candidate
    fold: int
    seconds: float
    """For learners that learn in steps, once the rows are encoded."""


class FoldResult(NamedTuple):
    """What came of it."""

    outputs: Floats | None
    """(m,) or (m, k) of the rows of the fold; None where it failed."""
    rounds: int | None
    seconds: float
    encoding: float = 0.0
    """Of these seconds, those for features that no worker had encoded before."""
    note: str = ""
    """Why it failed."""


@dataclass
class Workspace:
    """The rows of a job, shared by all workers."""

    folder: Path
    blueprint: Blueprint
    problem: Problem
    rows: pd.DataFrame
    """With the target."""
    frame: pd.DataFrame
    """Typed columns, without it."""
    folds: NDArray[np.int64]
    hidden: bool = False
    """Whether the targets of the rows that are predicted are those of other rows."""
    rounds: Mapping[str, int] = field(default_factory=dict)
    """By candidate, steps that are known."""
    _cached: OrderedDict[str, tuple[Any, Any]] = field(default_factory=OrderedDict)

    def fit(self, task: FoldTask) -> FoldResult:
        """Fits a candidate on the rows of other folds and predicts those of its own; failures are results."""
        started = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outputs, rounds, encoding = self._fitted(task)
        except Exception as error:  # noqa: BLE001 - of any library or own class: one candidate must not end the search
            return FoldResult(None, None, time.monotonic() - started, note=_note(error, self.folder))
        return FoldResult(outputs, rounds, time.monotonic() - started, encoding)

    def _fitted(self, task: FoldTask) -> tuple[Floats, int | None, float]:
        """Outputs, rounds, and the seconds of encoding."""
        candidate, strategy = task.candidate, task.candidate.strategy
        valid = self.folds == task.fold if task.fold != ALL_ROWS else np.ones(len(self.folds), dtype=bool)
        learnt = ~valid if task.fold != ALL_ROWS else valid
        started = time.monotonic()
        train, test = self._encoded(candidate, task.fold, learnt, valid)
        encoding = time.monotonic() - started
        target = self.problem.encoded_target(self.rows, strategy)
        own, others = (None, None) if target is None else (target[learnt], target[valid])
        rounds = None
        if self.hidden and own is not None:
            known = self.rounds.get(candidate.name)
            rounds = known or self._rounds_inside(candidate, train, own, task.seconds / 2)
        estimator = build(learner_of(candidate, self.blueprint, rounds))
        if rounds is None:
            deadline = time.monotonic() + task.seconds
            rounds = fit_fold(candidate, estimator, FoldData(train, own, test, others), deadline)
        else:
            estimator.fit(train, own)  # as the delivered package does: the targets of the fold stop nothing early
        return self.problem.outputs(estimator, test, strategy), rounds, encoding

    def _rounds_inside(self, candidate: Candidate, train: Any, own: Any, seconds: float) -> int | None:
        """Steps by early stopping on part of the training rows."""
        random = np.random.default_rng(self.blueprint.seed)
        inner = random.permutation(len(own)) < INNER_SHARE * len(own)
        estimator = build(learner_of(candidate, self.blueprint))
        data = FoldData(train[~inner], own[~inner], train[inner], own[inner])
        return fit_fold(candidate, estimator, data, time.monotonic() + seconds)

    def _encoded(self, candidate: Candidate, fold: int, learnt: NDArray[Any], valid: NDArray[Any]) -> tuple[Any, Any]:
        """The features of training rows and rows to predict; made once for each encoder and fold."""
        if candidate.learner == DUMMY:
            return np.zeros((int(learnt.sum()), 1)), np.zeros((int(valid.sum()), 1))
        encoder, scale = encoder_of(candidate, self.blueprint), candidate.strategy.target_transform
        name = f"{encoding_key(candidate, self.blueprint)}-{fold}.pickle"
        if name in self._cached:
            self._cached.move_to_end(name)
            return self._cached[name]
        path = self.folder / name
        if path.exists():
            made: tuple[Any, Any] = pickle.loads(path.read_bytes())
        else:
            target = self.problem.encoded_target(self.rows, Strategy(target_transform=scale))
            transformer = build(encoder)
            train = transformer.fit_transform(self.frame[learnt], None if target is None else target[learnt])
            made = train, transformer.transform(self.frame[valid])
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(pickle.dumps(made, protocol=5))
            part.replace(path)
        self._cached[name] = made
        while len(self._cached) > 1 and sum(map(_bytes, self._cached.values())) > CACHED_BYTES:
            self._cached.popitem(last=False)
        return made


def encoding_key(candidate: Candidate, blueprint: Blueprint) -> str:
    """Equal for candidates whose features are the same."""
    text = f"{source(encoder_of(candidate, blueprint))} {candidate.strategy.target_transform}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def work(pipe: Connection, workspace: Workspace) -> None:
    """Answers tasks until the other side hangs up."""
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(workspace.fit(task))


def _bytes(made: tuple[Any, Any]) -> int:
    return sum(int(getattr(getattr(one, "data", one), "nbytes", 0)) for one in made)


def _note(error: Exception, folder: Path) -> str:
    """The error, with the lines of own modules that it came through."""
    steps = traceback.extract_tb(error.__traceback__)
    paths = [(Path(one.filename), one.lineno) for one in steps]
    own = [f' File "{path.name}", line {line}' for path, line in paths if path.parent == folder.parent / OWN]
    return f"{type(error).__name__}: {error}"[:600] + "".join(own[-3:])
