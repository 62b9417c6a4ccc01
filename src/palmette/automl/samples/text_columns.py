"""Columns of text as Arrow holds them: end to end, without an object for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

TEXT = pd.ArrowDtype(pa.large_string())  # of the columns of a raw table that are text in the file
BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # the characters that `str.strip` removes
Texts = Any  # a `pyarrow.LargeStringArray`; null where there is nothing


def array(cells: Sequence[str | None]) -> Texts:
    """The texts as one array."""
    return pa.array(cells, pa.large_string())


def sample(texts: Texts, count: int) -> Texts:
    """About so many of the texts, evenly spread from the first on; all where there are not twice as many."""
    step = max(1, len(texts) // count)
    return texts if step == 1 else texts.take(pa.array(range(0, len(texts), step), pa.int64()))


def as_column(texts: Texts) -> pd.Series[Any]:
    """An array of texts, of one piece or of several, as a column of a raw table."""
    pieces = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    return pd.Series(pd.arrays.ArrowExtensionArray(pieces))


def of_column(column: pd.Series[Any]) -> Texts:
    """The texts of a column of a raw table, in one piece."""
    return column.array.__arrow_array__().combine_chunks()
