"""Reading back what training left: a list of trials, and out-of-fold predictions that are verified row by row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FailFast, Field, TypeAdapter, ValidationError

from palmette.automl.measure.metrics import Floats
from palmette.documents import Model
from palmette.engine.actor import Violation
from palmette.sandbox.reading import read_made

SUM_TOLERANCE = 1e-4
"""By how much the probabilities of a row may miss 1."""
NUMBER_BYTES = 64
"""More than any number is written with."""
TRIALS_BYTES = 1 << 22
MOST_TRIALS = 1000
"""More than any search comes to, and what is read of them."""

Rounds = Annotated[int, Field(ge=0, le=1_000_000)]
"""All that validation rows may tell a fit: too few different numbers to hold their targets."""


class Trial(Model):
    """What training says of a candidate that it tried; its score is not believed."""

    track: str = "traditional"
    name: str
    algorithm: str
    settings: dict[str, str | bool | int | float]
    status: Literal["finished", "stopped", "failed"]
    note: str = ""
    score: float | None = None
    fold_scores: tuple[float | None, ...] = ()
    rounds: tuple[Rounds | None, ...] = ()
    seconds: float


_TRIALS = TypeAdapter(Annotated[tuple[Trial, ...], Field(max_length=MOST_TRIALS), FailFast()])
"""The first that is wrong is told alone: there may be as many as bytes."""


@dataclass(frozen=True)
class Candidate:
    """A trial that finished, with its verified predictions."""

    trial: Trial
    outputs: Floats
    """(n, k) where there are k outputs, e.g. probabilities; (n,) where there is one, on the scale that was learnt."""

    @property
    def name(self) -> str:
        return self.trial.name


@dataclass(frozen=True)
class Expected:
    """What the predictions must be of."""

    folds: NDArray[np.int64]
    """(n,): the fold that each training row was given."""
    outputs: tuple[str, ...]
    """The columns after row and fold: the classes, or the target as it is learnt."""
    probabilities: bool


@dataclass(frozen=True)
class Found:
    """What was read: every trial, the candidates that hold, and what was wrong with the others."""

    trials: tuple[Trial, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    violations: tuple[Violation, ...] = ()


def read_candidates(folder: Path, expected: Expected) -> Found:
    """The candidates in the folder that `train.py --out` wrote."""
    path = folder / "trials.json"
    try:
        trials = _TRIALS.validate_json(read_made(folder, path.name, TRIALS_BYTES))
    except (OSError, ValidationError) as error:
        return Found(violations=(_violation("trials-unreadable", path.name, f"cannot be read: {error}"),))
    finished = [trial for trial in trials if trial.status == "finished"]
    read = [_read(folder / "out_of_fold", trial, expected) for trial in finished]
    good = tuple(one for one in read if isinstance(one, Candidate))
    wrong = tuple(one for one in read if isinstance(one, Violation))
    if not good and not wrong:
        notes = "; ".join(f"{trial.name}: {trial.note}" for trial in trials if trial.note)
        wrong = (_violation("no-candidate", path.name, f"has no candidate that finished: {notes}"),)
    return Found(trials, good, wrong)


def _read(folder: Path, trial: Trial, expected: Expected) -> Candidate | Violation:
    """The verified predictions of a trial, or what is wrong with them."""
    if not re.fullmatch(r"[\w-]+", trial.name):
        return _violation("trials-unreadable", trial.name, "is no name of a file")
    header = ("row", "fold", *expected.outputs)
    try:
        content = read_made(folder, f"{trial.name}.csv", most_bytes(header, len(expected.folds)))
        found = tuple(next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")), ()))
        if found != header:
            return _violation("out-of-fold-columns", trial.name, f"has the columns {found}, not {header}")
        table = _numbers(content, len(header))
    except (OSError, ValueError, csv.Error) as error:
        return _violation("out-of-fold-unreadable", trial.name, f"cannot be read: {error}")
    problem = _problem(table, expected)
    if problem:
        return _violation(*problem[:1], trial.name, problem[1])
    outputs = table[np.argsort(table[:, 0]), 2:]
    return Candidate(trial, outputs if len(expected.outputs) > 1 else outputs[:, 0])


def most_bytes(header: Sequence[str], rows: int) -> int:
    """How large a table of so many rows of numbers may be; nothing larger is read."""
    return NUMBER_BYTES * len(header) * (rows + 1) + 2 * len(",".join(header).encode())


def _numbers(content: bytes, columns: int) -> Floats:
    import pandas as pd

    table: Floats = pd.read_csv(io.BytesIO(content), header=None, skiprows=1, dtype=float).to_numpy()
    if table.shape[1] != columns:
        raise ValueError(f"rows have {table.shape[1]} values, not {columns}")
    return table


def _problem(table: Floats, expected: Expected) -> tuple[str, str] | None:
    """The code and words of the first thing that is wrong with predictions; (rows, 2 + outputs)."""
    count = len(expected.folds)
    if len(table) != count or not np.array_equal(np.sort(table[:, 0]), np.arange(count)):
        return "out-of-fold-rows", f"predicts {len(table)} rows, not each of the {count} training rows once"
    folds, outputs = table[:, 1], table[:, 2:]
    strayed = np.flatnonzero(folds != expected.folds[table[:, 0].astype(int)])
    if strayed.size:
        return "out-of-fold-folds", f"has row {table[strayed[0], 0]:.0f} in another fold than it was given"
    if not np.isfinite(outputs).all():
        return "out-of-fold-values", "has predictions that are not finite"
    if expected.probabilities and not are_probabilities(outputs):
        return "out-of-fold-values", "has rows whose probabilities are negative or do not sum to 1"
    return None


def are_probabilities(outputs: Floats) -> bool:
    """Whether the rows (n, k) are finite, not negative and sum to 1; of others a metric says anything."""
    return bool((outputs >= 0).all() and (abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all())


def _violation(code: str, subject: str, said: str) -> Violation:
    message = f"{subject} {said}"
    return Violation(code=code, message=message[:600], subject=subject)
