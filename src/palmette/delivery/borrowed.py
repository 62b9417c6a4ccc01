"""A private git folder that shares the objects and branches of a team's repository, and nothing that starts programs.

The `.git` folder came with the repository, possibly in an untrusted archive. Its hooks, and settings that name programs
(filters, helpers, signers, addresses that are commands), would run with the user's rights. Git therefore works in a
folder with the same objects and branches but only the harmless settings. The user's and the machine's settings apply
as usual.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from palmette.delivery.git import Git
from palmette.errors import InputError, Mistake, nearest
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

_LOOKING_SECONDS = 10
_SHARED = ("objects", "refs", "packed-refs", "reftable", "shallow")
"""Linked even if missing, because other programs may be using the repository."""
_HEAD_BYTES = 4096
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|autocrlf|eol|filemode|ignorecase|precomposeunicode|safecrlf|sharedrepository"
    r"|symlinks)|extensions\.(objectformat|refstorage)|(user|author|committer)\.(name|email)"
    r"|remote\..+\.(url|pushurl)|http\..+\.extraheader",
    re.DOTALL,
)
"""Settings that are kept: repository format, commit identity, addresses of remotes, and HTTP headers."""


class RepositoryLocation(NamedTuple):
    """The location of a folder's git data."""

    repository: Path
    top: Path
    """The top of its checkout, or the bare repository."""
    own: Path
    """The git folder of this checkout."""
    common: Path
    """The git folder that all checkouts of the repository share."""
    checked_out: frozenset[str]
    """Branches that are checked out in some worktree."""

    @property
    def prefix(self) -> str:
        """The folder inside the repository; empty for its top."""
        return "/".join(self.repository.resolve().relative_to(self.top).parts)


def located(repository: Path) -> RepositoryLocation:
    """Locates a repository with commands that start no other program; InputError if there is none."""
    if not repository.is_dir():
        raise problem("no-such-folder", "there is no such folder", repository, "Give the path of a git checkout.")
    git = Git(repository, _LOOKING_SECONDS)
    found = git.attempt("rev-parse", "--absolute-git-dir", "--git-common-dir")
    if found.code != 0:
        remedy = "Give the path of a git checkout, or make one: git init && git add . && git commit."
        late = f"git did not tell within {_LOOKING_SECONDS} s what it is"
        owner = "git does not trust its owner" if "dubious ownership" in found.err else "this is not a git repository"
        raise problem("not-a-repository", late if found.code is None else owner, repository, remedy)
    own, common = ((repository / line).resolve() for line in found.out.splitlines())
    whole = repository.resolve()
    top = next((folder for folder in (whole, *whole.parents) if folder == own or (folder / ".git").exists()), whole)
    listed = git("worktree", "list", "--porcelain").splitlines()
    branches = (line.removeprefix("branch refs/heads/") for line in listed if line.startswith("branch "))
    return RepositoryLocation(repository, top, own, common, frozenset(branches))


def borrow(source: RepositoryLocation, folder: Path) -> Git:
    """Creates a `.git` folder with shared data in `folder`. It contains the remotes' addresses, including passwords."""
    place = folder / ".git"
    place.mkdir(mode=0o700, parents=True)
    for name in _SHARED:
        (place / name).symlink_to(source.common / name)
    git = Git(folder, about=source.repository)
    try:
        (place / "HEAD").write_bytes(read_made(source.own, "HEAD", _HEAD_BYTES))
    except OSError as error:
        raise problem("not-a-repository", f"its HEAD cannot be read: {error}", source.repository, "Mend it.") from None
    settings = git.settings_in(source.common / "config")
    (place / "config").write_text("".join(_written(settings)), encoding="utf-8")
    return git


@contextmanager
def borrowed(repository: Path) -> Iterator[Git]:
    """Opens a temporary git folder for reading a repository."""
    with temporary_folder() as folder:
        yield borrow(located(repository), folder)


def check_out(git: Git, tree: str) -> None:
    """Writes the files of a commit or tree to the folder of `git`."""
    git("read-tree", tree)
    git("checkout-index", "--all")


def _written(settings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Formats settings for a git configuration file, without those that could start programs."""
    for key, value in settings:
        if _HARMLESS.fullmatch(key):
            section, _, rest = key.partition(".")
            subsection, dot, name = rest.rpartition(".")
            yield f"[{section}{f' {_quoted(subsection)}' if dot else ''}]\n\t{name} = {_quoted(value)}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def problem(
    code: str, message: str, value: object, remedy: str, *, field: str = "repository.path", known: Iterable[str] = ()
) -> InputError:
    """An InputError about the repository or branches of a run."""
    text = str(value)
    hint = nearest(text, known)
    return InputError([Mistake(code, f"{text!r}: {message}.", remedy, field=field, value=text, nearest=hint)])
