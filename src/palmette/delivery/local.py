"""The pull request as local files, written for every target, so that a person can finish by hand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from palmette.delivery.worktree import Worktree


class DeliveryRecord(NamedTuple):
    """The files of a pull request."""

    body: Path
    """The description, `pull_request.md`."""
    patch: Path
    """The branch as a single commit, `<branch>.patch`, for `git am`."""


def record(worktree: Worktree, body: str, folder: Path) -> DeliveryRecord:
    """Writes the description and the patch to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = DeliveryRecord(folder / "pull_request.md", folder / f"{worktree.branch.name.replace('/', '-')}.patch")
    kept.body.write_text(body, encoding="utf-8")
    kept.patch.write_text(worktree.patch(), encoding="utf-8")
    return kept
