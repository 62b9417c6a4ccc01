"""Git for tests, as a person would type it."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()
