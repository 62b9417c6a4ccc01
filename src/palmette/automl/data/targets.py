"""Whether a column can be learnt, for the task that it is the target of."""

from __future__ import annotations

from typing import Any

import pandas as pd

from palmette.errors import UserError, nearest

MOST_CLASSES = 0.5
"""Classes as a share of rows, above which a target is no class but a key or a text."""


def require_target(table: pd.DataFrame, target: str, task: str, fewest: int) -> Any:
    """The column of the target; None for clustering.

    Raises:
        UserError: with the reason, and what to do.
    """
    if task == "clustering" or not target:
        said = f"There are {len(table)} rows; {fewest} are needed."
        _require(len(table) >= fewest, "too-few-rows", said, "Add rows.")
        return None
    if target not in table.columns:
        near = nearest(target, map(str, table.columns))
        meant = f" Did you mean {near!r}?" if near else ""
        named = ", ".join(map(repr, table.columns[:12]))
        raise UserError(f"There is no column {target!r}.{meant}", f"The columns are {named}.", code="no-such-column")
    labels = table[target]
    known = labels.dropna()
    what = f"The target {target!r}"
    _require(len(table) > 0, "no-rows", "The table has no row.", "Name a file with rows.")
    _require(len(known) > 0, "target-missing", f"{what} has no value in any row.", "Name another target.")
    _require(
        len(known) >= fewest,
        "too-few-rows",
        f"{what} has a value in {len(known)} rows; {fewest} are needed to learn and to measure.",
        "Add rows.",
    )
    distinct = known.nunique()
    _require(distinct > 1, "one-class", f"{what} is {str(known.iloc[0])[:60]!r} in every row.", "Name another target.")
    if task == "classification":
        said = f"{what} has {distinct} classes in {len(known)} rows."
        remedy = "Name a column with classes that come again, or ask for a regression."
        _require(distinct <= max(MOST_CLASSES * len(known), 2), "too-many-classes", said, remedy)
    elif not pd.api.types.is_numeric_dtype(known.dtype):
        shown = ", ".join(repr(str(value)[:30]) for value in known.drop_duplicates().iloc[:3])
        raise UserError(
            f"{what} is not a number ({shown}, ...), so it cannot be a {task} target.",
            "Name a numeric column, or ask for a classification.",
            code="target-not-numeric",
        )
    return labels


def require_classes(labels: Any, target: str, how: str) -> None:
    """Raises UserError where the training rows have a single class, because they were divided in a way, in words."""
    if labels.nunique() < 2:
        said = f"The {len(labels)} rows to learn from all have {str(labels.iloc[0])[:60]!r} in {target!r}: {how}"
        raise UserError(said, "Divide the rows otherwise, or add rows of other classes to them.", code="one-class")


def _require(holds: bool, code: str, message: str, remedy: str) -> None:
    if not holds:
        raise UserError(message, remedy, code=code)
