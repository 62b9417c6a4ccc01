"""Sets the example up where it can be run: `python prepare.py [DESTINATION]`, by default `build/offers`.

A run works on a git repository, and `repository/` here is only the content of one. So the destination gets a git
checkout with that content as its one commit, and beside it copies of the tables, the registry, the specifications
and the run files. Repeating it changes nothing, but brings a changed example up to date; branches that runs have
left in the checkout stay as long as the content of `repository/` is the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DESTINATION = HERE.parents[1] / "build" / HERE.name
COPIED = ("tables", "specs", "runs", "registry.yaml")
IGNORED = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".ruff_cache", "*.egg-info")

AUTHOR = {"NAME": "Offers team", "EMAIL": "team@offers.example", "DATE": "2025-01-01T00:00:00+00:00"}
"""Fixed, so that the commit is the same everywhere."""


def prepare(destination: Path = DESTINATION) -> Path:
    """Makes or refreshes the example at `destination`, and returns it."""
    destination.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        replace(HERE / name, destination / name)
    with tempfile.TemporaryDirectory(dir=destination) as scratch:
        fresh = Path(scratch) / "repository"
        commit = make_repository(fresh)
        if head_of(destination / "repository") != commit:
            shutil.rmtree(destination / "repository", ignore_errors=True)
            fresh.rename(destination / "repository")
    return destination


def replace(source: Path, target: Path) -> None:
    """A fresh copy of a file or a folder."""
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=IGNORED)
    else:
        shutil.copyfile(source, target)


def make_repository(path: Path) -> str:
    """A git repository with the content of `repository/` as its one commit on `main`; returns the commit."""
    shutil.copytree(HERE / "repository", path, ignore=IGNORED)
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message=Feature views of the offer recommender")
    return git(path, "rev-parse", "main")


def head_of(repository: Path) -> str | None:
    """The commit of the repository's main branch; None when there is no such repository."""
    try:
        return git(repository, "rev-parse", "main") if (repository / ".git").is_dir() else None
    except subprocess.CalledProcessError:
        return None


def git(path: Path, *arguments: str) -> str:
    """Runs git in `path`, independent of the user's settings, and returns what it prints."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in AUTHOR.items()}
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = clean | who | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-c", "core.autocrlf=false", "-c", "core.fileMode=false", *arguments]
    done = subprocess.run(command, cwd=path, env=environment, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


def main() -> None:
    destination = prepare(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DESTINATION)
    print(f"The example is at {destination}")
    for run in sorted((destination / "runs").glob("*.yaml")):
        print(f"  palmette features {os.path.relpath(run)}")


if __name__ == "__main__":
    main()
