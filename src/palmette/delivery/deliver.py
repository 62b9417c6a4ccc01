"""From files to an open pull request: branch, commit, description and patch, push, forge; in this order.

Completed steps stay after a failure, and the error explains how to finish by hand. Repeating is safe: the same branch
and its open pull request are updated.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from palmette.delivery.forge import Forge, OpenPullRequest, PullRequestDraft, open_pull_request
from palmette.delivery.git import Git
from palmette.delivery.local import DeliveryRecord, record
from palmette.delivery.remote import ANONYMOUS, Credentials, place_of, push, push_command, remote_url
from palmette.delivery.worktree import Worktree, subject_line
from palmette.documents import Model
from palmette.errors import DeliveryError, MachineError


class Target(Model):
    """The destination of a pull request."""

    target: Literal["local", "github", "gitlab"] = "local"
    remote: str | None = None
    """Git remote to push to. Defaults to `origin` for a forge and to none for `local`."""
    project: str | None = None
    """`owner/name` on the forge. Read from the remote's URL by default."""
    api: str | None = None
    """Base URL of the forge's API, for a self-hosted forge."""
    token_env: str | None = None
    """Environment variable with the token. Defaults to GITHUB_TOKEN or GITLAB_TOKEN."""
    draft: bool = False


class Change(Model):
    """The files and the text of a pull request."""

    files: dict[str, str]
    """Text by path, relative to the worktree's root."""
    allow: tuple[str, ...]
    """Globs of the paths that the change may touch."""
    title: str
    """Subject of the commit and title of the pull request, cut to 72 characters."""
    message: str = ""
    """Body of the commit."""
    body: str
    """Description of the pull request, Markdown."""


class Delivered(Model):
    """The result of a delivery."""

    branch: str
    base: str
    commit: str
    paths: tuple[str, ...]
    """Paths that the branch changes, relative to the top of the repository."""
    body: str
    """Path of the file with the description."""
    patch: str
    """Path of the patch, a single commit for `git am`."""
    remote: str | None = None
    """The remote that the branch was pushed to."""
    opened: OpenPullRequest | None = None
    """The pull request on the forge."""


def deliver(worktree: Worktree, change: Change, target: Target, folder: Path) -> Delivered:
    """Commits the change to the worktree's branch, writes it to `folder`, pushes, and opens the pull request."""
    worktree.write(change.files, change.allow)
    commit = worktree.commit(change.files, change.title, change.message)
    kept = record(worktree, change.body, folder)
    draft = PullRequestDraft(
        title=subject_line(change.title),
        body=change.body,
        branch=worktree.branch.name,
        base=worktree.base,
        draft=target.draft,
    )
    remote = target.remote or (None if target.target == "local" else "origin")
    forge: Forge | None = None
    opened: OpenPullRequest | None = None
    pushed = False
    try:
        forge = None if target.target == "local" else forge_of(target, worktree.git, remote or "origin")
        if remote is not None:
            push(worktree, remote, credentials(forge, worktree.git, remote))
            pushed = True
        opened = open_pull_request(forge, draft) if forge else None
    except (DeliveryError, MachineError) as error:
        error.remedy = by_hand(worktree, kept, draft, remote if not pushed else None, forge, target, error.remedy)
        raise
    return Delivered(
        branch=worktree.branch.name,
        base=worktree.base,
        commit=commit,
        paths=worktree.changed(),
        body=str(kept.body),
        patch=str(kept.patch),
        remote=remote,
        opened=opened,
    )


def forge_of(target: Target, git: Git, remote: str) -> Forge:
    """The forge that `target` names. Its token comes from the environment only."""
    place = place_of(remote_url(git, remote))
    project = target.project or (place.project if place else None)
    if project is None:
        raise DeliveryError(
            f"The URL of remote {remote!r} does not tell the project.",
            "Write it as `pull_request.project: owner/name`.",
            code="no-project",
        )
    variable = target.token_env or f"{target.target.upper()}_TOKEN"
    token = os.environ.get(variable, "").strip()
    if not token:
        raise DeliveryError(
            f"The environment variable {variable} holds no token for {target.target}.",
            f"Set {variable}, or name another variable under `pull_request.token_env`.",
            code="no-token",
        )
    web = f"https://{place.host}" if place else f"https://{target.target}.com"
    try:
        from palmette.delivery.forges import GitHub, GitLab
    except ModuleNotFoundError as error:
        raise MachineError(
            f"The library {error.name!r} is not installed.",
            f"pip install 'palmette[{target.target}]'",
            code="missing-extra",
        ) from None
    return (GitHub if target.target == "github" else GitLab)(project, token, web=web, api=target.api)


def credentials(forge: Forge | None, git: Git, remote: str) -> Credentials:
    """User and token for a push, if the token belongs to the forge that hosts the remote; empty otherwise."""
    place = place_of(remote_url(git, remote))
    if forge is None or place is None or place.host.split(":")[0] != forge.host:
        return ANONYMOUS
    return Credentials(forge.user, forge.token)


def by_hand(
    worktree: Worktree,
    kept: DeliveryRecord,
    draft: PullRequestDraft,
    remote: str | None,
    forge: Forge | None,
    target: Target,
    remedy: str,
) -> str:
    """Instructions for a person to finish a delivery that failed. Completed steps are kept."""
    steps = [push_command(worktree, remote)] if remote is not None else []
    if forge is not None:
        steps.append(f"open {forge.compare_url(draft)} and paste {kept.body}")
    elif target.target != "local":
        steps.append(f"open a pull request from {draft.branch!r} into {draft.base!r} and paste {kept.body}")
    lines = [
        remedy,
        f"Nothing is lost: branch {draft.branch!r} in {worktree.source.repository}, "
        f"description {kept.body}, patch {kept.patch}.",
    ]
    if steps:
        lines.append("To finish by hand: " + "; then ".join(steps) + ". Or mend the cause and resume the run.")
    return "\n".join(line for line in lines if line)
