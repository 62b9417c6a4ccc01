"""Palmette writes machine-learning code that a team can merge.

>>> import palmette
>>> palmette.__version__
'0.1.0'
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.errors import (
    DeliveryError,
    DeveloperError,
    InputError,
    MachineError,
    ModelError,
    PalmetteError,
    Problem,
    RunError,
    RunStopped,
    TopologyError,
    UserError,
)

if TYPE_CHECKING:
    from palmette.engine import Observer, RunResult

__version__ = "0.1.0"


def build_features(run_file: str | Path, *, observer: Observer | None = None) -> RunResult:
    """Builds the feature view that a run file names, up to its pull request.

    Args:
        run_file: path of the run file; see docs/reference/run.md.
        observer: told of every event, e.g. to show progress.

    Returns:
        The run: its folder, its artefacts (`result.value("pull_request")`), its status.

    Raises:
        InputError: with every mistake in the run file, the specification and the registry.
        MachineError: something that the run needs is not installed.
    """
    from palmette.engine import new_run_folder, run_environment

    path = Path(os.path.realpath(run_file))
    return run_environment("features", {"run_file": str(path)}, new_run_folder(path.stem), observer)


def build_model(
    request: str = "", data: str | Path | Sequence[str | Path] = (), *, observer: Observer | None = None, **options: Any
) -> RunResult:
    """Builds, verifies and delivers a model; also as `palmette.automl(...)`.

    Args:
        request: what to predict and what matters, in plain words; may be empty where the data say it.
        data: path of a file or folder, name of a set such as `sklearn:iris`, or several.
        observer: told of every event, e.g. to show progress.
        options: as those of `palmette automl`: budget (seconds), tracks, plans, topology, out, approve, human, model,
            planner, table, tokens, money, seed.

    Returns:
        The run: its folder, its artefacts (`result.value("assessment")`, `result.value("delivery")`), its status.

    Raises:
        InputError: the data cannot be read.
        UserError: the target cannot be learnt, or a name is unknown.
    """
    from palmette.automl.arguments import arguments_of
    from palmette.engine import new_run_folder, run_environment

    places = [data] if isinstance(data, str | Path) else list(data)
    arguments = arguments_of(request, [str(place) for place in places], **options)
    return run_environment("automl", arguments, new_run_folder("automl"), observer)


from palmette import automl  # noqa: E402 - it calls `build_model`

__all__ = [
    "DeliveryError",
    "DeveloperError",
    "InputError",
    "MachineError",
    "ModelError",
    "PalmetteError",
    "Problem",
    "RunError",
    "RunStopped",
    "TopologyError",
    "UserError",
    "__version__",
    "automl",
    "build_features",
    "build_model",
]
