"""What the driver is given: a job, and the folder that it lies in."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from palmette.automl.candidates import Blueprint, Candidate
from palmette.documents import Model

JOB = "job.json"
ROWS = "train.parquet"
"""Typed training rows by column name, with the target."""
CONTEXT = "context.parquet"
"""Rows beside them without the target; absent where there are none."""
FOLDS = "folds.npy"
"""(n,): the fold of each row."""
GROUPS = "groups.npy"
"""(n,): equal for rows that stay together; absent where each is on its own."""
LOG = "trials.json"
OUTPUTS = "outputs"
"""Folder of out-of-fold outputs, `<candidate>.npy`."""
OWN = "own"
"""Folder of modules that a model has written."""
ENCODINGS = "encodings"
"""Folder of encoded folds, which workers share."""


class SearchJob(Model):
    """Candidates to train on given folds."""

    blueprint: Blueprint
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    """In the order in which they are trained; the first is the dummy."""
    baselines: tuple[str, ...] = ()
    """Names of those that others are compared with."""
    seconds: float = Field(gt=0)
    """By the clock, from `started` on."""
    started: float
    """Seconds since 1970."""
    workers: int = Field(ge=1)
    """Fits that run side by side, one thread each."""
    tuning: bool = True
    """Whether time that is left is spent on the settings of `tuned` candidates."""
    only_fold: int | None = None
    """The only fold that is predicted. The targets of its rows are those of other rows, so no class can learn them."""

    @classmethod
    def read(cls, folder: Path) -> SearchJob:
        """The job in a folder."""
        return cls.model_validate_json((folder / JOB).read_text("utf-8"))


def uses_own_code(candidate: Candidate) -> bool:
    """Whether a candidate has a class that a model has written; names of registered plug-ins have no dot."""
    return bool(candidate.features) or "." in candidate.learner
