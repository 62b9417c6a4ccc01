"""Separate checkouts: of the branch of a pull request, and of a branch as plain files for actors to read and run.

The user's checkout, index, stash and worktrees are never touched.
"""

import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from palmette.delivery.git import Git, RepositoryLocation, borrow, check_out, located, problem
from palmette.delivery.paths import check_paths
from palmette.errors import DeliveryError, InputError, Mistake
from palmette.sandbox.reading import swept
from palmette.sandbox.supervisor.folders import remove
from palmette.sandbox.temporary import temporary_folder

TRAILER = "Made-with: palmette"
"""Last line of every commit; identifies branches that may be updated."""

NEUTRAL = {"NAME": "palmette", "EMAIL": "palmette@localhost"}  # author if git has none configured


class Branch(NamedTuple):
    """The branch that commits go to: a new one, or one from earlier runs."""

    name: str
    tip: str | None
    """Its current commit; None for a new branch."""


@dataclass(frozen=True)
class Worktree:
    """A checkout of the base branch in a private folder, where the next commit of a branch is made."""

    source: RepositoryLocation
    path: Path
    root: Path
    """The folder inside `path` for the given repository: a part of a monorepo, or `path` itself."""
    base: str
    base_commit: str
    branch: Branch

    @classmethod
    def open(cls, repository: Path, folder: Path, *, branch: str, base: str | None = None) -> Self:
        """Checks out `base` of `repository` (the current branch if None) to the new `folder`.

        If `branch` exists and contains only commits of earlier runs, it gets another commit. If it contains other
        commits or is checked out, the new branch gets a number.
        """
        source = located(repository)
        git = borrow(source, folder)
        name, commit = base_of(git, base)
        chosen = _branch(git, branch, commit, source.checked_out)
        git("update-ref", "--no-deref", "HEAD", commit)
        check_out(git, commit)
        root = folder / source.prefix
        if not root.is_dir():
            what = f"the folder {source.prefix!r} is not in branch {name!r}"
            raise problem("not-in-base", what, repository, "Commit it there, or name another base branch.")
        return cls(source, folder, root, name, commit, chosen)

    @property
    def git(self) -> Git:
        """Git in the checkout."""
        return Git(self.path, about=self.source.repository)

    def write(self, files: Mapping[str, str], allow: Iterable[str]) -> None:
        """Writes text files by path relative to `root`. If any path is not allowed, none is written."""
        check_paths(files, allow, self.root)
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")

    def commit(self, paths: Iterable[str], subject: str, body: str = "") -> str:
        """Commits the base with the files at `paths` to the branch, and returns the commit. No change makes no commit.

        Files that only an earlier run wrote are removed. The parents are the branch's last commit and the base, unless
        one contains the other. DeliveryError `nothing-to-deliver` if the branch would not differ from the base.
        """
        git, before = replace(self.git, folder=self.root), self.branch.tip or self.base_commit
        git("add", "--force", "--", *paths)
        tree = git("write-tree")
        if tree == git("rev-parse", f"{self.base_commit}^{{tree}}"):
            message = f"Branch {self.base!r} already contains exactly these files."
            raise DeliveryError(message, "Nothing is left to do.", code="nothing-to-deliver")
        newest = git("merge-base", "--independent", before, self.base_commit).split()
        parents = [commit for commit in dict.fromkeys((before, self.base_commit)) if commit in newest]
        if parents == [before] and tree == git("rev-parse", f"{before}^{{tree}}"):
            tip = before
        else:
            tip = _commit(git, tree, parents, "\n\n".join(filter(None, (subject_line(subject), body.strip(), TRAILER))))
            git("update-ref", f"refs/heads/{self.branch.name}", tip, self.branch.tip or "0" * len(tip))
        git("reset", "--soft", tip)
        return tip

    def patch(self) -> str:
        """The change of the branch as a single commit on the base, for `git am`."""
        git = self.git
        one = _commit(git, "HEAD^{tree}", [self.base_commit], git("log", "-1", "--format=%B"))
        return git("format-patch", "--stdout", "--no-signature", "-1", one) + "\n"

    def changed(self) -> tuple[str, ...]:
        """Paths that the branch changes, relative to the top of the repository."""
        return tuple(self.git("diff", "--name-only", self.base_commit, "HEAD").splitlines())


def subject_line(text: str) -> str:
    """The first line of `text`, cut at a word boundary to at most 72 characters.

    >>> len(subject_line("Add " + "feature " * 20)) <= 72
    True
    """
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= 72 else line[:72].rsplit(" ", 1)[0].rstrip(" ,;:")


def _commit(git: Git, tree: str, parents: Iterable[str], message: str) -> str:
    """Creates a commit without moving a branch to it; its author is neutral if git's configuration has none."""
    above = [argument for parent in parents for argument in ("-p", parent)]
    missing = [key for key in NEUTRAL if not git.succeeds("config", f"user.{key.lower()}")]
    author = {f"GIT_{role}_{key}": NEUTRAL[key] for role in ("AUTHOR", "COMMITTER") for key in missing}
    author = {name: value for name, value in author.items() if name not in os.environ}
    return git("commit-tree", tree, *above, "-m", message, environment=author)


def base_of(git: Git, base: str | None) -> tuple[str, str]:
    """Name and commit of the base branch."""
    if base is None:
        current = git.attempt("symbolic-ref", "--quiet", "--short", "HEAD")
        if current.code != 0:
            what = "no branch is checked out"
            raise problem("no-base", what, git.named, "Name the base branch.", field="repository.base")
        base = current.out.strip()
    for ref in (f"refs/heads/{base}", f"refs/remotes/origin/{base}"):
        found = git.attempt("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if found.code == 0:
            return base, found.out.strip()
    branches = git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    if not branches:
        raise problem("no-commits", "the repository has no commit yet", git.named, "Commit something first.")
    what = f"there is no such branch; there are {', '.join(branches[:10])}"
    raise problem("unknown-branch", what, base, "Name an existing branch.", field="repository.base", known=branches)


def check_branch_name(git: Git, wanted: str, base: str | None = None) -> list[Mistake]:
    """Problems with the name of the branch that is to be merged into `base`."""
    if not git.succeeds("check-ref-format", "--branch", wanted):
        code, what = "bad-branch-name", "git does not allow this name"
    elif wanted == base:
        code, what = "branch-is-base", "this is the base branch itself"
    else:
        return []
    return list(problem(code, what, wanted, "Choose another one.", field="pull_request.branch").problems)


def _branch(git: Git, wanted: str, base_commit: str, checked_out: Container[str]) -> Branch:
    """`wanted`, or the first numbered name that is free, merged, or contains only commits of earlier runs."""
    problems = check_branch_name(git, wanted)
    if problems:
        raise InputError(problems)
    number = 1
    while True:
        name = wanted if number == 1 else f"{wanted}-{number}"
        found = git.attempt("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")
        if found.code != 0:
            return Branch(name, None)
        tip = found.out.strip()
        messages = git("log", "--format=%B%x00", f"{base_commit}..{tip}").split("\0")
        is_ours = all(message.rstrip().endswith(TRAILER) for message in messages if message.strip())
        if is_ours and name not in checked_out:
            return Branch(name, tip)
        number += 1


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
