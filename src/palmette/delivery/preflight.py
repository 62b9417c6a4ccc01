"""Reports obstacles to a pull request before any work is done."""

from __future__ import annotations

from pathlib import Path

from palmette.delivery.borrowed import borrowed
from palmette.delivery.deliver import Target, forge_of
from palmette.delivery.git import Git
from palmette.delivery.remote import remote_url
from palmette.delivery.worktree import base_of, check_branch_name
from palmette.errors import DeliveryError, InputError, Mistake


def preflight(repository: Path, base: str | None, branch: str | None, target: Target) -> list[Mistake]:
    """Problems with the repository and target of a pull request; their fields are those of a run file.

    Raises:
        MachineError: the HTTP library for the forge is not installed.
    """
    try:
        with borrowed(repository) as git:
            return _problems(git, base, branch, target)
    except InputError as error:
        return list(error.problems)


def _problems(git: Git, base: str | None, branch: str | None, target: Target) -> list[Mistake]:
    problems, name = list[Mistake](), base
    try:
        name, _ = base_of(git, base)
    except InputError as error:
        problems += error.problems
    if branch is not None:
        problems += check_branch_name(git, branch, name)
    try:
        if target.target != "local":
            forge_of(target, git, target.remote or "origin")
        elif target.remote:
            remote_url(git, target.remote)
    except DeliveryError as error:
        field = _FIELDS.get(error.code, "remote")
        problems.append(Mistake(error.code, error.message, error.remedy, field=f"pull_request.{field}"))
    return problems


_FIELDS = {"no-project": "project", "no-token": "token_env"}
"""The field of a run file to change, by error code."""
