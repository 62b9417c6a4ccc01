"""Problems by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.engine.registry import load

if TYPE_CHECKING:
    from palmette.automl.candidates import Blueprint
    from palmette.automl.problems.problem import Problem


def problem_named(name: str) -> type[Problem]:
    """Returns the class of a problem.

    Raises:
        UserError: there is no problem of this name.
    """
    problem: type[Problem] = load("problem", name)
    return problem


def problem_of(blueprint: Blueprint) -> Problem:
    """Returns the problem that a blueprint solves."""
    return problem_named(blueprint.problem)(blueprint)
