"""What other packages ask of a problem by its name; they need none of its code."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from palmette.engine.registry import load, names

if TYPE_CHECKING:
    from palmette.automl.kinds import Kind


def learning_task(name: str) -> str:
    """The task whose metrics and learners a problem uses: classification, regression or clustering."""
    task: str = load("problem", name).task
    return task


def sees_all_rows(name: str) -> bool:
    """Whether every fit of a problem sees all rows, without targets that are hidden from it."""
    sees: bool = load("problem", name).sees_all_rows
    return sees


def needs_of(name: str) -> frozenset[Kind]:
    """Kinds of columns without which a problem has nothing to solve."""
    kinds: frozenset[Kind] = load("problem", name).needs
    return kinds


def problems_of(tasks: Iterable[str], kinds: Collection[Kind]) -> tuple[str, ...]:
    """The problems of these tasks, in their order, that samples with columns of these kinds are for."""
    every: dict[str, Any] = {name: load("problem", name) for name in names("problem")}
    special = frozenset(kind for one in every.values() for kind in one.needs) & {*kinds}
    return tuple(name for task in tasks for name, one in every.items() if one.task == task and one.needs == special)
