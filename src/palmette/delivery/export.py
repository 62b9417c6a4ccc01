"""The team's files as they are on the base branch, without git: what actors read and try scripts in."""

from __future__ import annotations

import tarfile
from pathlib import Path

from palmette.delivery.git import Git
from palmette.delivery.worktree import base_of, prefix_of


def export_base(repository: Path, base: str | None, folder: Path) -> Path:
    """Writes the files of branch `base` (the current one when None) to `folder`, and returns it.

    Uncommitted changes of the checkout are left out, as they are from the pull request.
    """
    prefix, git = prefix_of(repository), Git(repository)
    _, commit = base_of(git, base)
    folder.mkdir(parents=True)
    archive = folder.with_suffix(".tar")
    git("archive", "--format=tar", f"--output={archive}", f"{commit}:{prefix}" if prefix else commit)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
    return folder
