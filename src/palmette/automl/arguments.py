"""Arguments of the environment `automl`, from a command or a Python call; imports little, so commands start fast."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from palmette.knowledge.datasets import is_named

STAGES = {"plan": "guideline_writer", "deploy": "deployer"}
"""Stages that a person can approve, and the actor that waits for approval."""
RUN_OPTIONS = ("topology", "model", "models", "planner", "human", "tokens", "money")
"""Options for the run; all others are fields of the task."""


def title_of(data: Sequence[object]) -> str:
    """Returns the title of a run: `house` for house.csv, `sklearn-iris` for sklearn:iris, the folder's name for `.`."""
    place = Path(str(data[0]).replace(":", "-")) if data and isinstance(data[0], str | Path) else Path("/")
    return (place if place.name.strip(".") else place.resolve()).stem


def arguments_of(
    request: str,
    data: Sequence[str] = (),
    *,
    task: str | Path | None = None,
    approve: Sequence[str] = (),
    holdout: float | None = None,
    dry_run: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Returns the arguments of the environment, with absolute paths.

    Args:
        request: The sentence; may be empty.
        data: Paths of files and folders, or names of data sets.
        task: Path of a task file.
        approve: Stages or actors that a person must approve.
        holdout: Share of the rows in the hold-out; a shorthand for a part of `split`.
        dry_run: Whether to stop after planning.
        options: `RUN_OPTIONS` and fields of `TaskFile`; None and empty values are ignored.
    """
    some = {name: value for name, value in options.items() if value not in (None, "", (), [], {})}
    given = to_jsonable_python(some, fallback=str)
    run = {name: given.pop(name) for name in RUN_OPTIONS if name in given}
    if holdout is not None:
        given["split"] = ",".join(filter(None, [str(given.get("split", "")), f"{holdout:g}"]))
    if data:
        given["data"] = [_place(place) for place in data]
    if "out" in given:
        given["out"] = str(Path(given["out"]).absolute())
    if dry_run:
        run["topology"] = "dry_run"
    return {
        "request": request,
        "task": str(Path(task).absolute()) if task else "",
        "approve": [STAGES.get(name, name) for name in approve],
        "flags": given,
        **run,
    }


def _place(place: str, folder: Path | None = None) -> str:
    """Makes a path absolute; data set names and blank texts, e.g. from an unset variable, stay as they are."""
    is_path = place.strip() and not is_named(place)
    return str((folder or Path.cwd()) / place) if is_path else place


def places_of(named: Sequence[str], file: Path) -> tuple[str, ...]:
    """Returns the paths in a task file as absolute paths, resolved relative to the file."""
    return tuple(_place(place, file.parent) for place in named)
