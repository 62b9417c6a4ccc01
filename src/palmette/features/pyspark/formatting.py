"""Laying out source with ruff, for teams without a formatter of their own."""

from __future__ import annotations

import subprocess
import sys


def format_source(text: str, line_length: int = 100) -> str:
    """The source with sorted imports, in ruff's format; ValueError when it is not valid Python."""
    width = ["--line-length", str(line_length), "--isolated", "-"]
    tidied = _ruff(["check", "--fix-only", "--quiet", "--select", "I,F401", *width], text)
    return _ruff(["format", "--quiet", *width], tidied)


def _ruff(arguments: list[str], text: str) -> str:
    command = [sys.executable, "-P", "-m", "ruff", *arguments]  # not what the current folder has of that name
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ValueError(f"ruff {arguments[0]} refused the source: {done.stderr.strip()[:500]}")
    return done.stdout
