"""Cells that are files: columns of paths, columns of numbers that become files, and what of them can be read.

In a table of samples the cell of such a column is the path of a file, the same for files of the same content. Generated
code is given the bytes, a request a `data:` URL.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from palmette.automl.kinds import FileKind, Kind, file_kinds
from palmette.automl.samples.artefacts import ArrayUse, Repairs
from palmette.automl.samples.opening import digest
from palmette.errors import InputError, MachineError, Mistake, UserError, did_you_mean
from palmette.knowledge.web import cache_folder

if TYPE_CHECKING:
    import pandas as pd

    from palmette.automl.samples.tables import Raw

HEAD = 16
"""Bytes at the start of a file by which its kind is recognised."""
SAMPLE, MOST_OTHERS = 60, 0.2
"""Cells that are looked at, and the share of them that may name no file of the kind."""
MOST_BYTES = 200_000_000  # of one file
SHOWN = 5
SCALES = (1.0, 16.0, 255.0, 65535.0)
"""The largest numbers of common pixel scales."""
FEWEST = 16
PIXEL = re.compile(r"((?:pixels?|px|pix)[_ .]?)\d+(?:[_x.]\d+)?", re.IGNORECASE)
"""Columns of numbers that may be the pixels of a picture: how many there are at least, and their names."""


class Inspected(NamedTuple):
    """The result of reading a file."""

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
    kinds = file_kinds().values()
    named = (one for one in kinds if path.suffix.lower() in one.suffixes)
    return next((one for one in kinds if one.knows(head)), None) or next(named, None)


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


def with_files(raw: Raw, repairs: Repairs) -> Raw:
    """The table with paths of readable files in the columns that name files; none where there is no such file."""
    import pandas as pd

    path, frame, kinds = raw.opened.path, raw.frame, dict[str, Kind]()
    base = path if path.is_dir() else path.parent
    for place, name in enumerate(raw.names):
        column = frame[place]
        kind = None if pd.api.types.is_numeric_dtype(column.dtype) else _kind_of_cells(column, name, base)
        if kind is None:
            continue
        known = readable({cell: base / cell for cell in map(str, column.dropna().unique())}, kind, name, repairs)
        frame = frame.assign(**{"files": pd.Series([known.get(str(cell)) for cell in column], frame.index, object)})
        frame[place] = frame.pop("files")
        kinds[name] = kind.name
    return replace(raw, frame=frame, files=tuple(kinds.items())) if kinds else raw


def _kind_of_cells(column: pd.Series, name: str, base: Path) -> FileKind | None:
    """The kind of the files that the cells name; None where they name none."""
    cells = [one.strip() if isinstance(one, str) else "" for one in column.dropna().iloc[:SAMPLE]]
    suffixes = tuple(suffix for one in file_kinds().values() for suffix in one.suffixes)
    named = [one for one in cells if one.lower().endswith(suffixes)]
    if not cells or len(named) < (1 - MOST_OTHERS) * len(cells):
        return None
    found = [kind for one in named if (kind := kind_of_file(base / one))]
    if not found:
        message = f"Column {name!r} names files such as {named[0]!r}, and none is in {str(base)!r}."
        raise InputError([Mistake("no-files", message, "Put the table beside its files.", str(base))])
    return max(found, key=found.count)


def readable(paths: Mapping[str, Path], kind: FileKind, subject: str, repairs: Repairs) -> dict[str, str | None]:
    """The path of the first file with the same content, by cell; None where no file can be read."""
    require_installed(kind)
    there = {cell: path for cell, path in paths.items() if path.is_file()}
    with ThreadPoolExecutor() as pool:
        found = dict(zip(there, pool.map(lambda path: inspected(path, kind.name), there.values()), strict=True))
    first = dict[str, str]()
    good = {cell: one.sha256 for cell, one in found.items() if not one.fault}
    made = {cell: first.setdefault(good[cell], str(there[cell].absolute())) for cell in good}
    broken = [f"{cell}: {one.fault}" for cell, one in found.items() if one.fault]
    absent = [cell for cell in paths if cell not in there]
    unlike = [cell for cell in made if not cell.lower().endswith(kind.suffixes)]
    for code, names in (("missing-files", absent), ("unreadable-files", broken), ("other-suffix", unlike)):
        shown = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
        repairs.add(code, subject, len(names), shown=shown)
    repairs.add("repeated-files", subject, len(made) - len(first))
    return {cell: made.get(cell) for cell in paths}


def require_installed(kind: FileKind) -> None:
    """Raises MachineError where the libraries that read files of a kind are not installed."""
    if kind.lacking:
        message = f"Reading files of kind {kind.name} needs {kind.lacking!r}, which is not installed."
        raise MachineError(message, f"pip install 'palmette[{kind.name}]'", code="missing-library")


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


def with_arrays(raws: Sequence[Raw], requests: Sequence[str], repairs: Repairs) -> list[Raw]:
    """The tables with a column of files for each request of the form `image=pixel_*`.

    Raises:
        UserError: a request names no kind or no column, or the numbers make no file.
    """
    made = list(raws)
    for text in requests:
        name, _, pattern = (one.strip() for one in text.partition("="))
        kind = file_kinds().get(name)
        if kind is None or not pattern:
            message = f"--array {text!r} names no kind and columns.{did_you_mean(name, file_kinds())}"
            raise UserError(message, "Write for example --array 'image=pixel_*'.", code="bad-array")
        require_installed(kind)
        parts = [[name for name in raw.names if fnmatchcase(name, pattern)] for raw in made]
        if not any(parts):
            names = ", ".join(map(repr, made[0].names[:12]))
            message = f"No column is called {pattern!r}, which --array {text} asks for."
            raise UserError(message, f"The columns are {names}.", code="no-such-column")
        rows = [_numbers(raw, columns, text) for raw, columns in zip(made, parts, strict=True)]
        use = ArrayUse(asked=text, columns=tuple(next(filter(None, parts))), top=_scale(rows, text))
        made = [_made_files(raw, its, use, kind, repairs) if its else raw for raw, its in zip(made, rows, strict=True)]
    return made


def _numbers(raw: Raw, columns: Sequence[str], text: str) -> list[np.ndarray | None]:
    """The numbers of each row; None where there are none."""
    import pandas as pd

    frame = raw.frame[[raw.names.index(name) for name in columns]]
    if len(columns) == 1:
        return [_listed(cell) for cell in frame.iloc[:, 0]]
    try:
        return list(frame.astype(object).apply(pd.to_numeric).to_numpy("float64", na_value=0.0)) if columns else []
    except (ValueError, TypeError) as error:
        message = f"The columns of --array {text} do not all hold numbers: {error}."
        raise UserError(message, "Name columns of numbers.", code="bad-array") from error


def _listed(cell: object) -> np.ndarray | None:
    """A list, or an array, of numbers; None for any other value."""
    try:
        given = json.loads(cell if isinstance(cell, str) else json.dumps(cell, default=np.ndarray.tolist))
        return np.asarray(given, dtype="float64") if isinstance(given, list) and given else None
    except (ValueError, TypeError):
        return None


def _scale(tables: Sequence[Sequence[np.ndarray | None]], text: str) -> float:
    """The largest number of the pixel scale."""
    known = [one for rows in tables for one in rows if one is not None]
    least, most = min((one.min() for one in known), default=0.0), max((one.max() for one in known), default=0.0)
    if least < 0 or most > SCALES[-1]:
        message = f"The numbers of --array {text} go from {least:g} to {most:g}; pixels go from 0 to 255."
        raise UserError(message, "Name columns of pixels.", code="bad-array")
    return next(top for top in SCALES if most <= top)


def _made_files(raw: Raw, rows: Sequence[np.ndarray | None], use: ArrayUse, kind: FileKind, repairs: Repairs) -> Raw:
    """The table with paths of files in the place of the columns."""
    import pandas as pd

    name, paths = use.columns[0] if len(use.columns) == 1 else kind.name, list[str | None]()
    for values in rows:
        try:
            content = kind.of_numbers((values * (255 / use.top)).tolist()) if values is not None else b""
        except ValueError:
            content = b""
        path = cache_folder("arrays") / f"{hashlib.sha256(content).hexdigest()}.{kind.name}"
        if content and not path.exists():
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(content)
            part.replace(path)
        paths.append(str(path) if content else None)
    broken = paths.count(None)
    if broken == len(paths):
        message = f"The {len(use.columns)} columns of --array {use.asked} make no {kind.name} in any row of {raw.name}."
        raise UserError(message, "A picture is a square of pixels, with one or three numbers each.", code="bad-array")
    repairs.add("arrays-made", raw.name, len(paths) - broken, kind=kind.name, name=name, columns=len(use.columns))
    repairs.add("broken-arrays", raw.name, broken, name=name)
    bare = raw.without_columns([raw.names.index(one) for one in use.columns if one in raw.names])
    made = bare.with_columns(pd.DataFrame({0: pd.Series(paths, raw.frame.index, object)}), [name])
    return replace(made, files=(*raw.files, (name, kind.name)), arrays=(*raw.arrays, (name, use)))


def look_like_pixels(names: Sequence[str]) -> str:
    """The pattern of columns that may be the pixels of a picture; empty where there are none."""
    numbered = Counter(found[1] for name in names if (found := PIXEL.fullmatch(name)))
    start, count = max(numbered.items(), key=lambda one: one[1], default=("", 0))
    squares = {round((count / depth) ** 0.5) ** 2 * depth for depth in (1, 3)}
    return f"{start}*" if count >= FEWEST and count in squares else ""
