"""What the examples' `prepare.py` share: setting an example up where it can be run.

A run works on a git repository, and `repository/` of an example is only the content of one. So the
destination gets a git checkout with that content as its one commit, and beside it copies of what the runs
need. Repeating it brings a changed example up to date; branches that runs have left in the checkout stay as
long as the content of `repository/` is the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

IGNORED = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".ruff_cache", "*.egg-info")

AUTHOR = {"NAME": "Example team", "EMAIL": "team@example.com", "DATE": "2025-01-01T00:00:00+00:00"}
"""Fixed, so that the commit is the same everywhere."""


def set_up(example: Path, destination: Path, copied: Iterable[str]) -> Path:
    """Makes or refreshes `destination` from `example`, with copies of `copied`, and returns it."""
    destination.mkdir(parents=True, exist_ok=True)
    for name in copied:
        _replace(example / name, destination / name)
    with tempfile.TemporaryDirectory(dir=destination) as scratch:
        fresh = Path(scratch) / "repository"
        commit = _make_repository(example / "repository", fresh)
        if _main_of(destination / "repository") != commit:
            shutil.rmtree(destination / "repository", ignore_errors=True)
            fresh.rename(destination / "repository")
    return destination


def announce(destination: Path) -> None:
    """Says where the example is, and how its runs are started."""
    print(f"The example is at {destination}")
    for run in sorted((destination / "runs").glob("*.yaml")):
        print(f"  palmette features {os.path.relpath(run)}")


def _replace(source: Path, target: Path) -> None:
    """A fresh copy of a file or a folder."""
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=IGNORED)
    else:
        shutil.copyfile(source, target)


def _make_repository(content: Path, path: Path) -> str:
    """A git repository with `content` as its one commit on `main`; returns the commit."""
    shutil.copytree(content, path, ignore=IGNORED)
    _git(path, "init", "--quiet", "--initial-branch=main")
    _git(path, "add", "--all", "--force")
    _git(path, "commit", "--quiet", "--message=The team's feature views")
    return _git(path, "rev-parse", "main")


def _main_of(repository: Path) -> str | None:
    """The commit of the repository's main branch; None when there is no such repository."""
    try:
        return _git(repository, "rev-parse", "main") if (repository / ".git").is_dir() else None
    except subprocess.CalledProcessError:
        return None


def _git(path: Path, *arguments: str) -> str:
    """Runs git in `path`, independent of the user's settings, and returns what it prints."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in AUTHOR.items()}
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = clean | who | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-c", "core.autocrlf=false", "-c", "core.fileMode=false", *arguments]
    done = subprocess.run(
        command, cwd=path, env=environment, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout.strip()
