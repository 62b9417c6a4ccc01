"""The arguments of the environment `automl`, from a command or a Python call; light, so that commands start quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palmette.knowledge.datasets import is_named

STAGES = {"plan": "guideline_writer", "deploy": "deployer"}
"""What a person may want to agree to, and the actor that waits for it."""
RUN_OPTIONS = ("topology", "model", "models", "planner", "human", "tokens", "money")
"""Options that say how the run works; every other one is a field of the task."""


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
    """The arguments, with absolute paths.

    Args:
        request: the sentence; may be empty.
        data: paths of files and folders, or names of sets.
        task: path of a task file.
        approve: stages or actors that a person must agree to.
        holdout: share of the rows that are held out; also a part of `split`.
        dry_run: whether the run ends with the plans.
        options: `RUN_OPTIONS`, and fields of `TaskFile`; those that are None or empty are not given.
    """
    given = {name: _plain(value) for name, value in options.items() if value not in (None, "", (), [], {})}
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
    """A path that holds from anywhere; an empty one, as of a variable that is not set, is no path."""
    is_path = place.strip() and not is_named(place)
    return str((folder or Path.cwd()) / place) if is_path else place


def places_of(named: Sequence[str], file: Path) -> tuple[str, ...]:
    """The places that a task file names, relative to it, with absolute paths."""
    return tuple(_place(place, file.parent) for place in named)


def _plain(value: Any) -> Any:
    """A value that JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
