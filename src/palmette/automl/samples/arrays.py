"""Files made of numbers in a table, as a request asks for: pixel columns, or lists in a column, become images."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from palmette.automl.kinds import FileKind, file_kinds
from palmette.automl.samples.artefacts import ArrayUse
from palmette.automl.samples.files import require_installed
from palmette.automl.samples.formats import Raw
from palmette.automl.samples.repairs import Repairs
from palmette.errors import UserError, did_you_mean
from palmette.knowledge.web import cache_folder

TOPS = (1.0, 16.0, 255.0, 65535.0)
"""The largest number of an array, by common scales."""
FEWEST = 16
PIXEL = re.compile(r"((?:pixels?|px|pix)[_ .]?)\d+(?:[_x.]\d+)?", re.IGNORECASE)
"""Columns of numbers that may be the pixels of a picture: how many there are at least, and their names."""


def with_arrays(raws: Sequence[Raw], asked: Sequence[str], repairs: Repairs) -> list[Raw]:
    """The tables with a column of files for each text of the form `image=pixel_*`.

    Raises:
        UserError: a text names no kind or no column, or the numbers make no file.
    """
    made = list(raws)
    for text in asked:
        kind, pattern = _asked(text)
        require_installed(kind)
        parts = [[name for name in raw.names if fnmatchcase(name, pattern)] for raw in made]
        if not any(parts):
            names = ", ".join(map(repr, made[0].names[:12]))
            message = f"No column is called {pattern!r}, which --array {text} asks for."
            raise UserError(message, f"The columns are {names}.", code="no-such-column")
        numbers = [_numbers(raw, columns, text) for raw, columns in zip(made, parts, strict=True)]
        columns = tuple(next(filter(None, parts)))
        use = ArrayUse(asked=text, columns=columns, top=_top([one for rows in numbers for one in rows], text))
        made = [
            _with_files(raw, frame, use, kind, repairs) if part else raw
            for raw, frame, part in zip(made, numbers, parts, strict=True)
        ]
    return made


def _asked(text: str) -> tuple[FileKind, str]:
    name, _, pattern = (one.strip() for one in text.partition("="))
    kind = file_kinds().get(name)
    if kind is None or not pattern:
        message = f"--array {text!r} names no kind and columns.{did_you_mean(name, file_kinds())}"
        raise UserError(message, "Write for example --array 'image=pixel_*'.", code="bad-array")
    return kind, pattern


def _numbers(raw: Raw, columns: Sequence[str], text: str) -> list[np.ndarray | None]:
    """The numbers of each row; None where there are none."""
    frame = raw.frame.set_axis(list(raw.names), axis=1)[list(columns)]
    if len(columns) == 1:
        return [_listed(cell) for cell in frame.iloc[:, 0]]
    try:
        return list(frame.astype(object).apply(pd.to_numeric).to_numpy("float64", na_value=0.0))
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


def _top(rows: Sequence[np.ndarray | None], text: str) -> float:
    """The end of the scale of the numbers."""
    known = [one for one in rows if one is not None and one.size]
    least = min((float(one.min()) for one in known), default=0.0)
    most = max((float(one.max()) for one in known), default=0.0)
    if least < 0 or most > TOPS[-1]:
        message = f"The numbers of --array {text} go from {least:g} to {most:g}; pixels go from 0 to 255."
        raise UserError(message, "Name columns of pixels.", code="bad-array")
    return next(top for top in TOPS if most <= top)


def _with_files(raw: Raw, rows: Sequence[np.ndarray | None], use: ArrayUse, kind: FileKind, repairs: Repairs) -> Raw:
    """The table with paths of files in the place of the columns."""
    name = use.columns[0] if len(use.columns) == 1 else kind.name
    folder, paths, broken = cache_folder("arrays"), list[str | None](), 0
    for values in rows:
        try:
            content = kind.of_numbers((values * (255 / use.top)).tolist()) if values is not None else b""
        except ValueError:
            content = b""
        broken += not content
        path = folder / f"{hashlib.sha256(content).hexdigest()}.{kind.name}"
        if content and not path.exists():
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(content)
            part.replace(path)
        paths.append(str(path) if content else None)
    if broken == len(paths):
        message = f"The {len(use.columns)} columns of --array {use.asked} make no {kind.name} in any row of {raw.name}."
        raise UserError(message, "A picture is a square of pixels, with one or three numbers each.", code="bad-array")
    repairs.add("arrays-made", raw.name, len(paths) - broken, kind=kind.name, name=name, columns=len(use.columns))
    repairs.add("broken-arrays", raw.name, broken, name=name)
    kept = [place for place, one in enumerate(raw.names) if one not in use.columns]
    frame = raw.frame.iloc[:, kept].assign(files=pd.Series(paths, raw.frame.index, object))
    return replace(
        raw,
        frame=frame.set_axis(range(len(kept) + 1), axis=1),
        names=(*(raw.names[place] for place in kept), name),
        sources=(*(raw.sources[place] for place in kept), name),
        files=(*raw.files, (name, kind.name)),
        arrays=(*raw.arrays, (name, use)),
    )


def look_like_pixels(names: Sequence[str]) -> str:
    """The pattern of columns that may be the pixels of a picture; empty where there are none."""
    numbered = [found[1] for name in names if (found := PIXEL.fullmatch(name))]
    start, count = max(Counter(numbered).items(), key=lambda one: one[1], default=("", 0))
    squares = {round((count / depth) ** 0.5) ** 2 * depth for depth in (1, 3)}
    return f"{start}*" if count >= FEWEST and count in squares else ""
