"""The input of the driver: a job and the files in its folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from palmette.automl.candidates import Blueprint, Candidate
from palmette.documents import Model

JOB = "job.json"
ROWS = "train.parquet"
"""Typed training rows by column name, including the target."""
CONTEXT = "context.parquet"
"""Context rows without the target; absent if the data has none."""
FOLDS = "folds.npy"
"""(n,): the fold of each row."""
GROUPS = "groups.npy"
"""(n,): equal for rows that must stay in one fold; absent if each row is independent."""
LOG = "trials.json"
OUTPUTS = "outputs"
"""Folder of the out-of-fold outputs, `<candidate>.npy`."""
OWN = "own"
"""Folder of the modules that a language model wrote."""
ENCODINGS = "encodings"
"""Folder of encoded folds, shared by the workers."""


class SearchJob(Model):
    """Candidates to train on given folds."""

    blueprint: Blueprint
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    """In training order; the first is the dummy."""
    baselines: tuple[str, ...] = ()
    """Names of the candidates that serve as reference for the others."""
    seconds: float = Field(gt=0)
    """Wall-clock time, counted from `started`."""
    started: float
    """Unix time."""
    workers: int = Field(ge=1)
    """Number of parallel fits, one thread each."""
    tuning: bool = True
    """Whether the remaining time is spent on tuning the settings of `tuned` candidates."""
    only_fold: int | None = None
    """The only fold to predict, if any. Its rows carry the targets of other rows, to hide their own."""

    @classmethod
    def read(cls, folder: Path) -> SearchJob:
        """Reads the job in `folder`."""
        return cls.model_validate_json((folder / JOB).read_text("utf-8"))


def uses_own_code(candidate: Candidate) -> bool:
    """Returns whether a candidate uses a class that a model wrote; names of registered plug-ins have no dot."""
    return bool(candidate.features) or "." in candidate.learner
