"""Exports the team's files on a branch, without git, for actors to read and run scripts in."""

from __future__ import annotations

from pathlib import Path

from palmette.delivery.borrowed import borrow, check_out, located
from palmette.delivery.worktree import base_of
from palmette.errors import InputError
from palmette.sandbox.reading import swept
from palmette.sandbox.supervisor.folders import remove
from palmette.sandbox.temporary import temporary_folder


def export_base(repository: Path, base: str | None, folder: Path) -> Path:
    """Writes the files of branch `base` (the current one if None) to the new `folder`, and returns it.

    Uncommitted changes are left out, as in the pull request. So are links that lead outside.
    """
    source = located(repository)
    git = borrow(source, folder)
    commit = base_of(git, base)[1]
    # Not `git archive`, which leaves out files marked `export-ignore`, often the tests.
    check_out(git, f"{commit}:{source.prefix}" if source.prefix else commit)
    remove(str(folder / ".git"))
    swept([folder], since=0)
    return folder


def file_on(repository: Path, branch: str, path: str) -> str | None:
    """The text of a file on a branch of the repository; None if it does not exist."""
    source = located(repository)
    with temporary_folder() as place:
        git = borrow(source, place)
        try:
            commit = base_of(git, branch)[1]
        except InputError:
            return None
        found = git.attempt("cat-file", "blob", f"{commit}:{'/'.join(filter(None, [source.prefix, path]))}")
    return found.out if found.code == 0 else None
