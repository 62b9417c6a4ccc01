"""Paths that a pull request may touch: relative paths inside the repository that match an allow-list."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from palmette.errors import DeliveryError


def matches(path: str, glob: str) -> bool:
    """Whether `path` matches `glob`: `*` and `?` stay inside a folder, `**` crosses folders.

    >>> matches("src/offers/features/new.py", "src/**/*.py"), matches("src/a/b.py", "src/*.py")
    (True, False)
    """
    pattern = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", glob):
        pattern += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
    return re.fullmatch(pattern, path) is not None


_OBEYED = re.compile(
    r"__init__|(azure|bitbucket)-pipelines|buildspec|cloudbuild|(docker-)?compose|conftest|noxfile|setup|(site|user)customize"
)
"""Names of files that Python, its tools and build servers load automatically."""


def is_obeyed(path: str) -> bool:
    """Whether programs load a file automatically: hidden files (workflows, hooks) and well-known names.

    >>> is_obeyed(".github/workflows/sales.yaml"), is_obeyed("jobs/sales/conftest.py"), is_obeyed("jobs/sales.py")
    (True, True, False)
    """
    pure = PurePosixPath(path.casefold())
    return any(part.startswith(".") for part in pure.parts) or _OBEYED.fullmatch(pure.stem) is not None


def check_paths(paths: Iterable[str], allow: Iterable[str], root: Path) -> None:
    """Rejects paths that must not be written below `root`, listing all of them."""
    globs = tuple(allow)
    refused = [f"{path!r} {reason}" for path in paths if (reason := _objection(path, globs, root))]
    if refused:
        remedy = "Allow a path with a glob under `repository.allow` in the run file."
        raise DeliveryError(f"The pull request must not touch {'; '.join(refused)}.", remedy, code="path-not-allowed")


def _objection(path: str, globs: tuple[str, ...], root: Path) -> str:
    """Why `path` may not be written; empty if it may."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or "\\" in path or "\0" in path or re.match(r"[A-Za-z]:", path):
        return "is not a relative path with forward slashes"
    if str(pure) != path or ".." in pure.parts:
        return "is not a plain path: no '..', '.' or empty parts"
    if any(part.casefold().rstrip(". ") in (".git", "git~1") for part in pure.parts):
        return "is inside git's own folder"
    links = [place for place in (pure, *pure.parents) if (root / place).is_symlink() and place != PurePosixPath(".")]
    if links:
        return f"leads through the symbolic link {str(links[-1])!r}"
    if (root / pure).is_dir():
        return "is a folder"
    if not any(matches(path, glob) for glob in globs):
        return f"is not on the list of allowed paths ({', '.join(globs) or 'which is empty'})"
    return ""
