"""Palmette writes machine-learning code that a team can merge.

>>> import palmette
>>> palmette.__version__
'0.1.0'
"""

from __future__ import annotations

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

    path = Path(run_file).resolve()
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
    from palmette.engine import new_run_folder, run_environment

    places = [data] if isinstance(data, str | Path) else list(data)
    arguments = automl_arguments(request, [str(place) for place in places], **options)
    return run_environment("automl", arguments, new_run_folder("automl"), observer)


def automl_arguments(  # noqa: PLR0913 - what a person may say of a run
    request: str,
    data: Sequence[str],
    *,
    budget: float = 120.0,
    tracks: Sequence[str] = ("traditional",),
    plans: int = 3,
    out: str | Path | None = None,
    approve: Sequence[str] = (),
    seed: int = 0,
    **other: Any,
) -> dict[str, Any]:
    """The arguments of the environment `automl`, with paths made absolute."""
    stages = {"plan": "guideline_writer", "deploy": "deployer"}
    settings = {"seconds": budget, "plans": plans, "seed": seed, "out": str(Path(out).absolute()) if out else ""}
    return {
        "text": request,
        "data": [place if _is_set(place) else str(Path(place).absolute()) for place in data],
        "settings": settings,
        "tracks": list(tracks),
        "approve": [stages.get(name, name) for name in approve],
        **{name: value for name, value in other.items() if value is not None},
    }


def _is_set(place: str) -> bool:
    return place.partition(":")[0] in ("openml", "uci", "sklearn")


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
    "build_features",
    "build_model",
]
