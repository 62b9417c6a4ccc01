"""What would keep a pull request from being made, told before the work is done and not after it."""

from __future__ import annotations

from pathlib import Path

from palmette.delivery.deliver import Target
from palmette.delivery.git import Git
from palmette.delivery.remote import remote_url
from palmette.delivery.worktree import base_of, check_branch_name, prefix_of
from palmette.errors import DeliveryError, InputError, Problem


def preflight(repository: Path, base: str | None, branch: str | None, target: Target) -> list[Problem]:
    """Every mistake in where a pull request should come from and go to; fields are those of a run file."""
    try:
        prefix_of(repository)
    except InputError as error:
        return list(error.problems)
    git, problems, name = Git(repository), list[Problem](), base
    try:
        name, _ = base_of(git, base)
    except InputError as error:
        problems += error.problems
    if branch is not None:
        problems += check_branch_name(git, branch, name)
    if target.remote or target.target != "local":
        try:
            remote_url(git, target.remote or "origin")
        except DeliveryError as error:
            problems.append(Problem(error.code, error.message, error.remedy, field="pull_request.remote"))
    return problems
