"""In a container: sets limits, gives up privileges, filters system calls, and becomes the program.

Argument: the path of a file with a mapping as `supervisor.main` reads it; the file is removed.
"""

from __future__ import annotations

import marshal
import os
import sys

from .main import become


def main() -> None:
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123 - pathlib would double the start-up time
        spec = marshal.load(file)
    os.unlink(sys.argv[1])  # noqa: PTH108 - as above
    become(spec)
