"""A column that names the part of each row, such as `split` with the values train and test."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.automl.samples.roles import NO_PART, TEST, TRAIN, VALIDATION
from palmette.errors import UserError

TRUE, FALSE = frozenset({"1", "1.0", "true", "yes"}), frozenset({"0", "0.0", "false", "no"})


def has_part(column: Any) -> npt.NDArray[np.bool_]:
    """(n,): whether a row is in a part; all rows where fewer than two are in one."""
    texts = column.astype(str).str.strip().str.casefold()
    found = column.notna().to_numpy() & ~texts.isin(NO_PART).to_numpy()
    return np.asarray(found if found.sum() > 1 else np.ones(len(found), dtype=bool))


def parts_of(column: Any, name: str, required: bool) -> tuple[npt.NDArray[np.bool_], str]:
    """Which rows are the hold-out, and the sentence about it.

    Validation rows are the hold-out where no row is for testing, else they are learnt from. Where `required` is false
    and there is no such row, none is.

    Raises:
        UserError: the column names no parts, or only one, and the request demands it.
    """
    texts = column.astype(str).str.strip().str.casefold()
    present = set(texts[column.notna().to_numpy()])
    test = frozenset(present & TEST or present & VALIDATION)
    if not test and present <= TRUE | FALSE:  # e.g. is_test, or is_train
        words = {*name.casefold().replace("_", " ").split()}
        test = TRUE if words & (TEST | VALIDATION) else FALSE if words & TRAIN else test
    inside = texts.isin(test).to_numpy() & column.notna().to_numpy()
    divides = 0 < inside.sum() < len(inside)
    if required and not divides:
        shown = ", ".join(sorted(map(repr, present))[:5])
        message = f"The column {name!r} does not divide the rows into training and test rows; its values are {shown}."
        raise UserError(message, "Name a column with the values train and test.", code="split-impossible")
    values = " or ".join(sorted(map(repr, set(column[inside].astype(str)))))
    reason = f"The {int(inside.sum())} rows with {name} {values} are the hold-out; no model is given that column."
    return inside & divides, reason
