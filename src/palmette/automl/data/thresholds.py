"""Two classes in the place of the numbers of a column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Repair, Threshold
from palmette.errors import UserError

if TYPE_CHECKING:
    from palmette.automl.data.load import Loaded


def in_classes(loaded: Loaded, threshold: Threshold) -> Loaded:
    """The same data with the classes of a threshold where its column has numbers.

    Raises:
        UserError: there is no such column, or it holds no numbers.
    """
    column = loaded.dataset.column(threshold.column)
    if column is None or column.kind != "numeric":
        why = "is no column of the data" if column is None else f"is {column.kind}, not numeric"
        message = f"{threshold.column!r} is to be compared with {threshold.value:g}, and {why}."
        raise UserError(message, "Name a column of numbers in the request.", code="no-numbers")
    numbers = loaded.table[column.name]
    compare = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}[threshold.comparison]
    asked, other = threshold.classes
    sides = np.where(compare(numbers.to_numpy(float), threshold.value), asked, other)
    classes = pd.Series(sides, index=numbers.index, dtype=object).where(numbers.notna(), None)
    seen = tuple(map(str, classes.dropna().drop_duplicates()))
    made = {"kind": "categorical", "dtype": str(classes.dtype), "distinct": len(seen), "examples": seen}
    count = int((classes == asked).sum())
    said = f"{column.name!r} was turned into two classes: {asked!r} ({count} rows) and {other!r}."
    told = Repair(code="classes-made", subject=column.name, count=len(classes), text=said)
    found = {
        "columns": tuple(one.model_copy(update=made) if one == column else one for one in loaded.dataset.columns),
        "threshold": threshold,
        "repairs": (*loaded.dataset.repairs, told),
    }
    table = loaded.table.assign(**{column.name: classes})
    return replace(loaded, dataset=loaded.dataset.model_copy(update=found), table=table)
