"""The team's files as they are on the base branch, without git: what actors read and try scripts in."""

from __future__ import annotations

from pathlib import Path

from palmette.delivery.git import Git
from palmette.delivery.worktree import base_of, prefix_of


def export_base(repository: Path, base: str | None, folder: Path) -> Path:
    """Writes the files of branch `base` (the current one when None) to the new `folder`, and returns it.

    Uncommitted changes of the checkout are left out, as they are from the pull request.
    """
    prefix, git = prefix_of(repository), Git(repository)
    _, commit = base_of(git, base)
    folder.mkdir(parents=True)
    index = folder.with_suffix(".index").resolve()
    places = {
        "GIT_DIR": git("rev-parse", "--absolute-git-dir"),
        "GIT_WORK_TREE": str(folder.resolve()),
        "GIT_INDEX_FILE": str(index),
    }
    # An own index and not `git archive`, which leaves out what is marked `export-ignore`, often the tests.
    target = Git(folder)
    target("read-tree", f"{commit}:{prefix}" if prefix else commit, environment=places)
    target("checkout-index", "--all", environment=places)
    index.unlink()
    return folder
