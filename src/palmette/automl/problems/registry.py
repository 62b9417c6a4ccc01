"""Problems by name, and what a run is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.engine.registry import load, names

if TYPE_CHECKING:
    from palmette.automl.candidates import Blueprint
    from palmette.automl.problems.problem import Objective, Problem
    from palmette.automl.profile import Profile
    from palmette.automl.task_spec.spec import TaskSpec


def problem_names() -> list[str]:
    """All registered problems."""
    return names("problem")


def problem_named(name: str) -> type[Problem]:
    """The class of a problem.

    Raises:
        UserError: there is none of this name.
    """
    problem: type[Problem] = load("problem", name)
    return problem


def problem_of(blueprint: Blueprint) -> Problem:
    """The problem that a blueprint solves."""
    return problem_named(blueprint.problem)(blueprint)


def objective_of(task: TaskSpec, profile: Profile) -> Objective:
    """The number by which candidates are compared.

    Raises:
        UserError: the request names a metric or class that does not exist, or that the target does not allow for.
    """
    return problem_named(profile.split.problem).objective(task, profile)
