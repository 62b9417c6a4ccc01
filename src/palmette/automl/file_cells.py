"""Cells that are files: what of them can be read, and their contents.

In a table of samples such a cell is the path of a file. Generated code is given the bytes, a request a `data:` URL.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palmette.automl.kinds import FileKind, file_kinds
from palmette.errors import MachineError

if TYPE_CHECKING:
    import pandas as pd

HEAD = 16  # bytes at the start of a file by which its kind is recognised
MOST_BYTES = 200_000_000  # of one file


class Inspected(NamedTuple):
    """The result of reading a file."""

    sha256: str
    fault: str
    """Why it cannot be read; empty where it can."""
    fingerprint: int


def digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kind_of_file(path: Path) -> FileKind | None:
    """The kind of a file by its content, else by its suffix."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    kinds = file_kinds().values()
    named = (one for one in kinds if path.suffix.lower() in one.suffixes)
    return next((one for one in kinds if one.knows(head)), None) or next(named, None)


def require_installed(kind: FileKind) -> None:
    """Raises MachineError where the libraries that read files of a kind are not installed."""
    if kind.lacking:
        message = f"Reading files of kind {kind.name} needs {kind.lacking!r}, which is not installed."
        raise MachineError(message, f"pip install 'palmette[{kind.name}]'", code="missing-library")


def inspected(path: Path, kind: str) -> Inspected:
    """Whether a file can be read, once for each state of it."""
    found = path.stat()
    return _inspected(path, kind, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=200_000)
def _inspected(path: Path, kind: str, size: int, _: int) -> Inspected:
    if not 0 < size <= MOST_BYTES:
        return Inspected("", f"it has more than {MOST_BYTES} bytes" if size else "it is empty", 0)
    try:
        return Inspected(digest(path), "", file_kinds()[kind].fingerprint(path.read_bytes()))
    except ValueError as error:
        reason = re.sub(r" <_io\.[^>]*>", "", " ".join(str(error).split()))  # the name that Pillow has for bytes
        return Inspected("", reason[:120] or "it is damaged", 0)


def files_digest(table: pd.DataFrame, kinds: Mapping[str, str]) -> str:
    """The digest of all files in the columns of these kinds, as they are now."""
    found = hashlib.sha256()
    for name, kind in sorted(kinds.items()):
        for cell in sorted(table[name].dropna().unique()):
            known = inspected(Path(cell), kind).sha256 if Path(cell).is_file() else "gone"
            found.update(f"{cell}\0{known}\n".encode())
    return found.hexdigest()


def with_contents(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The frame with the bytes of files in the place of their paths, in the columns of these names."""
    import pandas as pd

    made = {name: [_content(cell) for cell in frame[name]] for name in names}
    return frame.assign(**{name: pd.Series(cells, frame.index, object) for name, cells in made.items()})


def _content(cell: object) -> bytes | None:
    if isinstance(cell, bytes) or cell is None:
        return cell
    return Path(cell).read_bytes() if isinstance(cell, str) and cell else None


def as_url(cell: object) -> str | None:
    """A file as requests carry it: a `data:` URL."""
    content = _content(cell)
    return None if content is None else f"data:;base64,{base64.b64encode(content).decode()}"
