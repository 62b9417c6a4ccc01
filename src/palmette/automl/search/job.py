"""A job of the driver, the files in its folder, and the sandbox that runs it with code of a language model."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import FailFast, Field

from palmette.automl.candidates import Blueprint, Candidate, Trial
from palmette.automl.composition import candidate_track
from palmette.automl.kinds import Track
from palmette.automl.weights import FOLDER, weights_folder
from palmette.documents import Model
from palmette.engine.registry import packages
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command
from palmette.sandbox.reading import read_made

JOB = "job.json"
ROWS = "train.parquet"  # typed training rows by column name, including the target
CONTEXT = "context.parquet"  # context rows without the target; absent if the data has none
FOLDS = "folds.npy"  # (n,): the fold of each row
GROUPS = "groups.npy"  # (n,): equal for rows that must stay in one fold; absent if each row is independent
LOG = "trials.json"
LOG_BYTES = 1 << 22
MOST_TRIALS = 1000  # more than any search produces
OUTPUTS = "outputs"  # folder of the out-of-fold outputs, `<candidate>.npy`
OWN = "own"  # folder of the modules that a language model wrote
ENCODINGS = "encodings"  # folder of encoded folds, shared by the workers
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment variables that limit each library to one thread, for programs that parallelize by processes."""
UNOPENED = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Environment variable with which a program that looks for a GPU may still fork workers that use it."""
FILE_MB = 4096  # largest file that the program may write, in MB
LIBRARY = "lib"
LEAST_ROWS = 100  # fewest rows that the search goes on with, and that a model is fitted on


def sampled_rows(count: int, most: int, seed: int) -> NDArray[np.int64]:
    """Returns the positions of `most` random rows of `count`, in their order."""
    return np.sort(np.random.default_rng(seed).permutation(count)[:most])


def fold_numbers(folds: NDArray[np.int64]) -> list[int]:
    """Returns the numbers of folds; rows with a negative number are never predicted."""
    return [int(one) for one in np.unique(folds) if one >= 0]


class SearchJob(Model):
    """Candidates to train on given folds."""

    blueprint: Blueprint
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    """In training order; the first is the dummy."""
    baselines: tuple[str, ...] = ()
    """Names of the candidates that serve as reference for the others."""
    seconds: float = Field(gt=0)
    """Wall-clock time, counted from `started`."""
    started: float = Field(default_factory=time.time)
    """Unix time."""
    workers: int = Field(default_factory=lambda: cores(), ge=1)
    tuning: bool = True
    only_fold: int | None = None
    """The only fold to predict, if any. Its rows carry the targets of other rows, to hide their own."""

    @property
    def shares(self) -> dict[Track, float]:
        """Each track's share of the time."""
        given = {one: max(self.blueprint.shares.get(one, 0.0), 0.0) for one in map(candidate_track, self.candidates)}
        total = sum(given.values())
        return {track: share / total if total else 1 / len(given) for track, share in given.items()}


class SearchLog(Model):
    """The driver's log; its scores only guide the search."""

    trials: Annotated[tuple[Trial, ...], Field(max_length=MOST_TRIALS), FailFast()] = ()
    processor_seconds: float = 0.0
    rows: int = 0
    """Number of rows that were sampled; 0 for all."""
    starting: float = 0.0
    """Seconds that the driver took to start."""

    @classmethod
    def read(cls, folder: Path) -> "SearchLog":
        """Reads the log in the folder of a job, or of verified results."""
        return cls.model_validate_json(read_made(folder, LOG, LOG_BYTES))


def uses_own_code(candidate: Candidate) -> bool:
    """Returns whether a candidate uses a class that a model wrote; names of registered plug-ins have no dot."""
    return bool(candidate.features) or "." in candidate.learner


def run_module(sandbox: Sandbox, module: str, folder: Path, seconds: float) -> ExecutionResult:
    """Runs `python -m module folder`. The program may write to `folder`, and read installed packages and plug-ins."""
    library, models, parts = folder / LIBRARY, weights_folder(), list[Path]()
    library.mkdir(parents=True, exist_ok=True)  # other files beside the packages stay unreadable
    for name in packages("kind", "encoder", "learner", "problem"):
        place = sys.modules[name]
        package = Path(next(iter(getattr(place, "__path__", [place.__file__])))).resolve()
        parts += [package, *package.parent.glob(f"{name}.egg-info")]  # plug-ins of a source tree
    for part in parts:
        link = library / part.name
        if not link.is_symlink():
            link.symlink_to(part, target_is_directory=True)
    return sandbox.run(
        python_command("-m", module, str(folder)),
        cwd=folder,
        access=Access(read=(*parts, *([models] if models else [])), write=(folder,), gpu=True),
        env={**ONE_THREAD, **UNOPENED, "PYTHONPATH": str(library)} | ({FOLDER: str(models)} if models else {}),
        limits=Limits(seconds=seconds, file_mb=FILE_MB, disk_mb=4 * FILE_MB),
    )


def cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
