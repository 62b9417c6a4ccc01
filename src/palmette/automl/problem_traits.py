"""Properties of problems by name, for packages that do not import their code."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from palmette.engine.registry import load, names

if TYPE_CHECKING:
    from palmette.automl.kinds import Kind


def learning_task(name: str) -> str:
    """Returns the task whose metrics and learners a problem uses: classification, regression or clustering."""
    return str(load("problem", name).task)


def problems_of(tasks: Iterable[str], kinds: Collection[Kind]) -> tuple[str, ...]:
    """Returns the problems of these tasks, in their order, that suit samples with columns of these kinds."""
    every: dict[str, Any] = {name: load("problem", name) for name in names("problem")}
    special = frozenset(kind for one in every.values() for kind in one.needs) & {*kinds}
    return tuple(name for task in tasks for name, one in every.items() if one.task == task and one.needs == special)
