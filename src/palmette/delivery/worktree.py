"""A checkout of its own for a pull request: the user's checkout, index and stash are never touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from palmette.delivery.git import Git
from palmette.delivery.paths import check_paths
from palmette.errors import DeliveryError, InputError, Problem, nearest

TRAILER = "Made-with: palmette"
"""Last line of every commit; tells a branch that may be updated from one that belongs to somebody."""

NEUTRAL = {"NAME": "palmette", "EMAIL": "palmette@localhost"}
"""Author where git has none configured."""


class Branch(NamedTuple):
    """Where commits go: a new branch, or one that earlier runs have made."""

    name: str
    tip: str | None
    """Commit that it is at now; None for a new one."""


@dataclass(frozen=True)
class Worktree:
    """A checkout of the base branch in a folder of the run, from which a branch gets its next commit."""

    repository: Path
    """The user's repository."""
    path: Path
    """The checkout."""
    root: Path
    """The folder inside `path` that stands for `repository`: a monorepo's part, or `path` itself."""
    base: str
    """Name of the branch to merge into."""
    base_commit: str
    branch: Branch

    @classmethod
    def open(cls, repository: Path, folder: Path, *, branch: str, base: str | None = None) -> Worktree:
        """Checks out `base` of `repository` (the current branch when None) in `folder`: new, or a worktree.

        When `branch` exists and holds nothing but earlier runs' commits, it gets a further one; when it holds
        other people's commits or is checked out, the name gets a number.
        """
        prefix = prefix_of(repository)
        git = Git(repository)
        name, commit = base_of(git, base)
        chosen = _branch(git, branch, commit)
        _clear(git, folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        git("worktree", "add", "--detach", "--quiet", str(folder.resolve()), commit)
        root = folder / prefix
        if not root.is_dir():
            raise _problem(
                "not-in-base",
                f"the folder {prefix!r} is not in branch {name!r}",
                repository,
                "Commit it there, or name another base branch.",
            )
        return cls(repository, folder, root, name, commit, chosen)

    @property
    def git(self) -> Git:
        """Git in the checkout."""
        return Git(self.path)

    def write(self, files: Mapping[str, str], allow: Iterable[str]) -> None:
        """Writes text files by path relative to `root`; when a path is not allowed, none is written."""
        check_paths(files, allow, self.root)
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")

    def commit(self, paths: Iterable[str], subject: str, body: str = "") -> str:
        """Commits the base with the files at `paths` on the branch, returns its commit; no change makes no commit.

        What an earlier run wrote and this one does not is gone; the commits before, and those of a base that went
        on since, are its parents. DeliveryError `nothing-to-deliver` when the branch would not differ from the base.
        """
        git, before = Git(self.root), self.branch.tip or self.base_commit
        git("add", "--force", "--", *paths)
        tree = git("write-tree")
        if tree == git("rev-parse", f"{self.base_commit}^{{tree}}"):
            raise DeliveryError(
                f"Branch {self.base!r} already contains exactly these files.",
                "Nothing is left to do.",
                code="nothing-to-deliver",
            )
        newest = git("merge-base", "--independent", before, self.base_commit).split()
        parents = [commit for commit in dict.fromkeys((before, self.base_commit)) if commit in newest]
        if parents == [before] and tree == git("rev-parse", f"{before}^{{tree}}"):
            tip = before
        else:
            tip = _commit(git, tree, parents, _message(subject_line(subject), body, TRAILER))
            git("update-ref", f"refs/heads/{self.branch.name}", tip, self.branch.tip or "0" * len(tip))
        git("reset", "--soft", tip)
        return tip

    def patch(self) -> str:
        """What the branch changes, as one commit upon the base, for `git am`."""
        git = self.git
        one = _commit(git, "HEAD^{tree}", [self.base_commit], git("log", "-1", "--format=%B"))
        return git("format-patch", "--stdout", "--no-signature", "-1", one) + "\n"

    def changed(self) -> tuple[str, ...]:
        """Paths that the branch changes, relative to the top of the repository."""
        return tuple(self.git("diff", "--name-only", self.base_commit, "HEAD").splitlines())

    def remove(self) -> None:
        """Takes the checkout away; the branch stays."""
        Git(self.repository).attempt("worktree", "remove", "--force", str(self.path.resolve()))


def subject_line(text: str) -> str:
    """The first line of `text`, cut at a word to at most 72 characters.

    >>> len(subject_line("Add " + "feature " * 20)) <= 72
    True
    """
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= 72 else line[:72].rsplit(" ", 1)[0].rstrip(" ,;:")


def _message(*paragraphs: str) -> str:
    return "\n\n".join(text.strip() for text in paragraphs if text.strip())


def _commit(git: Git, tree: str, parents: Iterable[str], message: str) -> str:
    """A new commit, on no branch yet."""
    above = [argument for parent in parents for argument in ("-p", parent)]
    return git("commit-tree", tree, *above, "-m", message, environment=_author(git))


def _author(git: Git) -> dict[str, str]:
    """Environment that names an author where git's configuration does not."""
    missing = [key for key in NEUTRAL if not git.succeeds("config", f"user.{key.lower()}")]
    neutral = {f"GIT_{role}_{key}": NEUTRAL[key] for role in ("AUTHOR", "COMMITTER") for key in missing}
    return {name: value for name, value in neutral.items() if name not in os.environ}


def _problem(
    code: str,
    message: str,
    value: object,
    remedy: str,
    *,
    field: str = "repository.path",
    known: Iterable[str] = (),
) -> InputError:
    text = str(value)
    return InputError(
        [Problem(code, f"{text!r}: {message}.", remedy, field=field, value=text, nearest=nearest(text, known))]
    )


def prefix_of(repository: Path) -> str:
    """Where `repository` lies inside its git repository; InputError when it is in none."""
    if not repository.is_dir():
        raise _problem("no-such-folder", "there is no such folder", repository, "Give the path of a git checkout.")
    git = Git(repository)
    bare = git.attempt("rev-parse", "--is-bare-repository")
    if bare.code != 0:
        why = "git does not trust its owner" if "dubious ownership" in bare.err else "this is not a git repository"
        raise _problem(
            "not-a-repository",
            why,
            repository,
            "Give the path of a git checkout, or make one: git init && git add . && git commit.",
        )
    return "" if bare.out.strip() == "true" else git("rev-parse", "--show-prefix").rstrip("/")


def base_of(git: Git, base: str | None) -> tuple[str, str]:
    """Name and commit of the branch to start from."""
    if base is None:
        current = git.attempt("symbolic-ref", "--quiet", "--short", "HEAD")
        if current.code != 0:
            raise _problem(
                "no-base",
                "no branch is checked out",
                git.folder,
                "Name the base branch.",
                field="repository.base",
            )
        base = current.out.strip()
    for ref in (f"refs/heads/{base}", f"refs/remotes/origin/{base}"):
        found = git.attempt("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if found.code == 0:
            return base, found.out.strip()
    branches = git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    if not branches:
        raise _problem("no-commits", "the repository has no commit yet", git.folder, "Commit something first.")
    raise _problem(
        "unknown-branch",
        f"there is no such branch; there are {', '.join(branches[:10])}",
        base,
        "Name an existing branch.",
        field="repository.base",
        known=branches,
    )


def check_branch_name(git: Git, wanted: str, base: str | None = None) -> list[Problem]:
    """What is wrong with the name of the branch that is to be merged into `base`."""
    if not git.succeeds("check-ref-format", "--branch", wanted):
        code, what = "bad-branch-name", "git does not allow this name"
    elif wanted == base:
        code, what = "branch-is-base", "this is the base branch itself"
    else:
        return []
    return list(_problem(code, what, wanted, "Choose another one.", field="pull_request.branch").problems)


def _branch(git: Git, wanted: str, base_commit: str) -> Branch:
    """`wanted`, or the first numbered name that is free, merged, or holds earlier runs' commits alone."""
    problems = check_branch_name(git, wanted)
    if problems:
        raise InputError(problems)
    listed = git("worktree", "list", "--porcelain").splitlines()
    checked_out = {line.removeprefix("branch refs/heads/") for line in listed if line.startswith("branch ")}
    number = 1
    while True:
        name = wanted if number == 1 else f"{wanted}-{number}"
        found = git.attempt("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")
        if found.code != 0:
            return Branch(name, None)
        tip = found.out.strip()
        if name not in checked_out and _is_ours(git, base_commit, tip):
            return Branch(name, tip)
        number += 1


def _is_ours(git: Git, base_commit: str, tip: str) -> bool:
    """Whether the branch leaves the base by commits of earlier runs alone."""
    messages = git("log", "--format=%B%x00", f"{base_commit}..{tip}").split("\0")
    return all(message.rstrip().endswith(TRAILER) for message in messages if message.strip())


def _clear(git: Git, folder: Path) -> None:
    """Makes way for a new checkout where an earlier attempt of the same run has left one."""
    git("worktree", "prune")
    for left in _unfinished(git):
        git("worktree", "remove", "--force", "--force", left)
    if not folder.exists() or not any(folder.iterdir()):
        return
    listed = git("worktree", "list", "--porcelain").splitlines()
    if f"worktree {folder.resolve()}" not in listed:
        raise DeliveryError(
            f"{str(folder)!r} is in use and is no worktree of {str(git.folder)!r}.",
            "Move it away and resume.",
            code="folder-in-use",
        )
    git("worktree", "remove", "--force", "--force", str(folder.resolve()))
    shutil.rmtree(folder, ignore_errors=True)


def _unfinished(git: Git) -> list[str]:
    """Folders that are gone of worktrees whose making was killed: git keeps these locked for ever."""
    listed = [block.splitlines() for block in git("worktree", "list", "--porcelain").split("\n\n")]
    folders = [lines[0].removeprefix("worktree ") for lines in listed if "locked initializing" in lines]
    return [folder for folder in folders if not Path(folder).exists()]
