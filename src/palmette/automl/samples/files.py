"""Cells that name files: which columns have them, which files can be read, and what stands for one in the sandbox.

In a table of samples the cell of such a column is the path of a file, the same for files of the same content. Generated
code is given the bytes, a request a `data:` URL.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palmette.automl.kinds import FileKind, Kind, file_kind, file_kinds
from palmette.automl.samples.opening import digest
from palmette.automl.samples.repairs import Repairs
from palmette.errors import InputError, MachineError, Problem

if TYPE_CHECKING:
    import pandas as pd

    from palmette.automl.samples.formats import Raw

HEAD = 16
"""Bytes at the start of a file by which its kind is recognised."""
SAMPLE, MOST_OTHERS = 60, 0.2
"""Cells that are looked at, and the share of them that may name no file of the kind."""
MOST_BYTES = 200_000_000
"""Of one file."""
SHOWN = 5


class Inspected(NamedTuple):
    """What came of reading a file."""

    sha256: str
    fault: str
    """Why it cannot be read; empty where it can."""
    fingerprint: int


def kind_of_file(path: Path) -> FileKind | None:
    """The kind of a file by its content, else by its suffix."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    known = (one for one in file_kinds().values() if one.knows(head))
    named = (one for one in file_kinds().values() if path.suffix.lower() in one.suffixes)
    return next(known, None) or next(named, None)


def inspected(path: Path, kind: str) -> Inspected:
    """Whether a file can be read, once for each state of it."""
    found = path.stat()
    return _inspected(path, kind, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=200_000)
def _inspected(path: Path, kind: str, size: int, _: int) -> Inspected:
    form = file_kinds()[kind]
    if not size:
        return Inspected("", "it is empty", 0)
    if size > MOST_BYTES:
        return Inspected("", f"it has more than {MOST_BYTES} bytes", 0)
    try:
        return Inspected(digest(path), "", form.fingerprint(path.read_bytes()))
    except ValueError as error:
        return Inspected("", " ".join(str(error).split())[:120] or "it is damaged", 0)


def with_files(raw: Raw, repairs: Repairs) -> Raw:
    """The table with paths of readable files in the columns that name files; none where there is no such file."""
    from dataclasses import replace

    import pandas as pd

    base, frame, kinds = _base(raw), raw.frame, dict[str, Kind]()
    for place, name in enumerate(raw.names):
        column = frame[place]
        kind = None if pd.api.types.is_numeric_dtype(column.dtype) else _kind_of_cells(column, name, base)
        if kind is None:
            continue
        require_installed(kind)
        paths = {cell: base / cell for cell in map(str, column.dropna().unique())}
        known = readable(paths, kind, name, repairs)
        frame = frame.copy(deep=False)
        frame[place] = pd.Series([known.get(str(cell)) for cell in column], frame.index, object)
        kinds[name] = kind.name
    return replace(raw, frame=frame, files=tuple(kinds.items())) if kinds else raw


def _base(raw: Raw) -> Path:
    path = raw.opened.path
    return path if path.is_dir() else path.parent


def _kind_of_cells(column: pd.Series, name: str, base: Path) -> FileKind | None:
    """The kind of the files that the cells name; None where they do not, or where none of the files is there."""
    cells = [one.strip() if isinstance(one, str) else "" for one in column.dropna().iloc[:SAMPLE]]
    suffixes = {suffix for one in file_kinds().values() for suffix in one.suffixes}
    named = [one for one in cells if os.path.splitext(one)[1].lower() in suffixes]  # noqa: PTH122 - of many cells
    if not cells or len(named) < (1 - MOST_OTHERS) * len(cells):
        return None
    found = [kind for one in named if (kind := kind_of_file(base / one))]
    if not found:
        message = f"Column {name!r} names files such as {named[0]!r}, and none is in {str(base)!r}."
        raise InputError([Problem("no-files", message, "Put the table beside its files.", str(base))])
    return max(found, key=found.count)


def readable(paths: Mapping[str, Path], kind: FileKind, subject: str, repairs: Repairs) -> dict[str, str | None]:
    """By cell, the path of the first file with the same content; None where there is no file that can be read."""
    there = {cell: path for cell, path in paths.items() if path.is_file()}
    with ThreadPoolExecutor() as pool:
        found = dict(zip(there, pool.map(lambda path: inspected(path, kind.name), there.values()), strict=True))
    first, made = dict[str, str](), dict[str, str | None]()
    for cell in paths:
        one = found.get(cell)
        ok = one is not None and not one.fault
        made[cell] = first.setdefault(one.sha256, str(there[cell].absolute())) if one and ok else None
    absent = [cell for cell in paths if cell not in there]
    broken = {cell: one.fault for cell, one in found.items() if one.fault}
    same = sum(path is not None for path in made.values()) - len(first)
    repairs.add("missing-files", subject, len(absent), shown=_shown(absent))
    repairs.add(
        "unreadable-files", subject, len(broken), shown=_shown([f"{one}: {why}" for one, why in broken.items()])
    )
    repairs.add("repeated-files", subject, same)
    return made


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def require_installed(kind: FileKind) -> None:
    """Raises MachineError where the libraries that read files of a kind are not installed."""
    if kind.lacking:
        message = f"Reading files of kind {kind.name} needs {kind.lacking!r}, which is not installed."
        raise MachineError(message, f"pip install 'palmette[{kind.name}]'", code="missing-library")


def files_digest(table: pd.DataFrame, kinds: Mapping[str, str]) -> str:
    """Of the contents of all files in the columns of these kinds, as they are now."""
    found = hashlib.sha256()
    for name, kind in sorted(kinds.items()):
        for cell in sorted(table[name].dropna().unique()):
            path = Path(cell)
            known = inspected(path, kind).sha256 if path.is_file() else "gone"
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


def file_columns(kinds: Iterable[tuple[str, str]]) -> list[str]:
    """Of (name, kind), the names of columns whose values are files."""
    return [name for name, kind in kinds if file_kind(kind)]
