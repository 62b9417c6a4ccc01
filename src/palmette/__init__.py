"""Palmette writes machine-learning code that a team can merge.

>>> import palmette
>>> palmette.__version__
'0.2.0'
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.automl.api import AutoMLRun
from palmette.errors import (
    DeliveryError,
    DeveloperError,
    InputError,
    MachineError,
    Mistake,
    ModelError,
    PalmetteError,
    RunError,
    RunStopped,
    TopologyError,
    UserError,
)

if TYPE_CHECKING:
    from palmette.automl.api import automl
    from palmette.engine import Observer, RunResult
    from palmette.features.script_check import check_features
else:
    from palmette import automl  # a package that can be called

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """`check_features`, which is imported when it is asked for."""
    if name == "check_features":
        from palmette.features.script_check import check_features

        return check_features
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")


def build_features(run_file: str | Path, *, observer: Observer | None = None) -> RunResult:
    """Builds the feature view that a run file names, up to its pull request.

    Args:
        run_file: path of the run file; see docs/reference/run.md.
        observer: receives every event, e.g. to show progress.

    Returns:
        The run: its folder, its artefacts (`result.value("pull_request")`), its status.

    Raises:
        InputError: with every mistake in the run file, the specification and the registry.
        MachineError: something that the run needs is not installed.
    """
    from palmette.engine import new_run_folder, run_environment

    path = Path(os.path.realpath(run_file))
    return run_environment("features", {"run_file": str(path)}, new_run_folder(path.stem), observer)


__all__ = [
    "AutoMLRun", "DeliveryError", "DeveloperError", "InputError", "MachineError", "Mistake", "ModelError",
    "PalmetteError", "RunError", "RunStopped", "TopologyError", "UserError", "__version__", "automl",
    "build_features", "check_features",
]  # fmt: skip
