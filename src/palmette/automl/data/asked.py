"""Which of the rows to predict each line of a sample submission asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.data.formats import Raw
from palmette.errors import InputError

SHOWN = 60
"""Characters of a value in a message."""
Places = np.ndarray[tuple[int], np.dtype[np.intp]]


def places_of(sample: Raw, asked: Sequence[Raw], key: str) -> Places:
    """(n,): for each line of the sample, the position of its row in the tables that are asked about, by the key's text.

    Raises:
        InputError: a line is about no row, or about one of several.
    """
    wanted = _texts(sample, key)
    had = pd.concat([_texts(raw, key) for raw in asked], ignore_index=True)
    if wanted.equals(had):
        return np.arange(len(had))
    file = asked[0].name
    if (lost := ~wanted.isin(had)).any():
        raise _refused(sample, key, wanted, lost, f"which is no row of {file}")
    if (open_ := wanted.isin(had[had.duplicated()])).any():
        raise _refused(sample, key, wanted, open_, f"which is in several rows of {file}")
    return np.asarray(pd.Index(had).get_indexer(pd.Index(wanted)))


def _refused(sample: Raw, key: str, wanted: pd.Series[Any], wrong: pd.Series[Any], why: str) -> InputError:
    row = int(np.flatnonzero(wrong.to_numpy())[0])
    count = int(wrong.sum())
    more = f", and {count - 1} more rows are like it" if count > 1 else ""
    message = f"Row {row + 1} of the sample submission asks for {key} {wanted[row][:SHOWN]!r}, {why}{more}."
    remedy = "Give the sample that belongs to the test file, or leave it out."
    return sample.opened.refusal("submission-differs", message, remedy, field=key, value=wanted[row][:SHOWN])


def _texts(table: Raw, name: str) -> pd.Series[Any]:
    """The column as text: empty where there is no value, whole numbers without a fraction."""
    column = table.frame[table.names.index(name)]
    texts = column.astype(object).where(column.notna(), "").astype(str).str.strip()
    return texts.str.replace(r"^(-?\d+)\.0$", r"\1", regex=True).reset_index(drop=True)
