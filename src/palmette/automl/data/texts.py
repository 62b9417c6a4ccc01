"""Columns of text as Arrow holds them: end to end, without an object for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

TEXT = pd.ArrowDtype(pa.large_string())
"""Of the columns of a raw table that are text in the file."""
BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""All that `str.strip` takes away."""
Texts = Any
"""A `pyarrow.LargeStringArray`; null where there is nothing."""


def array(cells: Sequence[str | None]) -> Texts:
    """The texts as one array."""
    return pa.array(cells, pa.large_string())


def every(texts: Texts, step: int) -> Texts:
    """One in so many of the texts, from the first on."""
    return texts if step == 1 else texts.take(pa.array(range(0, len(texts), step), pa.int64()))


def as_column(texts: Texts) -> pd.Series[Any]:
    """An array of texts, of one piece or of several, as a column of a raw table."""
    pieces = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    return pd.Series(pd.arrays.ArrowExtensionArray(pieces))


def of_column(column: pd.Series[Any]) -> Texts:
    """The texts of a column of a raw table, in one piece."""
    return column.array.__arrow_array__().combine_chunks()


def are_in(texts: Texts, markers: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Whether each text, blanks around it aside and in small letters, is one of these; not so where there is none."""
    bare = pc.utf8_trim(texts, BLANKS)
    short = bare.filter(pc.less_equal(pc.utf8_length(bare), max(map(len, markers)))).unique().drop_null().to_pylist()
    found = array([text for text in short if text.casefold() in markers])
    return np.asarray(pc.is_in(bare, value_set=found).to_numpy(zero_copy_only=False))


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of frames with the same columns, in one; a column stays one of texts where all that it has are texts."""
    frames = [frame for frame in frames if len(frame)] or list(frames[:1])
    if len(frames) == 1:
        return frames[0]
    kinds = {
        name: TEXT if all(frame[name].dtype == TEXT or frame[name].isna().all() for frame in frames) else object
        for name in frames[0]
        if {TEXT} < {frame[name].dtype for frame in frames}
    }
    return pd.concat([frame.astype(kinds) for frame in frames], ignore_index=True)


def as_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as `str`, and None where there is nothing."""
    return frame.astype(object).where(frame.notna(), None)
