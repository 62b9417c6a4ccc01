"""Files given as numbers in other columns, for requests that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd


def with_arrays(rows: Any, arrays: Mapping[str, tuple[Sequence[str], float]]) -> pd.DataFrame:
    """Adds columns with lists of numbers from 0 to 255, if the rows have the source columns.

    Args:
        rows: The rows.
        arrays: By new column: the columns that hold the numbers, or one column of lists; and the upper end of their
            scale.
    """
    rows = pd.DataFrame(rows).rename(columns=str)
    for name, (columns, top) in arrays.items():
        if list(columns) == [name] and name in rows:
            files = [cell if isinstance(cell, str | bytes) else scaled(cell, 255 / top) for cell in rows[name]]
        elif name not in rows and {*columns} <= {*rows}:
            files = (rows[list(columns)].astype("float64").to_numpy() * (255 / top)).tolist()
        else:
            continue
        rows = rows.drop(columns=list(columns)).assign(**{name: pd.Series(files, rows.index, object)})
    return rows


def scaled(cell: Any, factor: float) -> Any:
    """Multiplies nested lists or arrays by a factor; returns lists."""
    if isinstance(cell, list | tuple | np.ndarray):
        return [scaled(one, factor) for one in cell]
    return cell if cell is None else float(cell) * factor
