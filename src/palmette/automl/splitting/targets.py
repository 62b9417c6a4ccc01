"""The target of a problem: whether it can be learnt."""

from __future__ import annotations

from typing import Any

import pandas as pd

from palmette.automl.problem_traits import learning_task
from palmette.errors import UserError

FEWEST = 10
"""Rows with a target, below which nothing can be measured."""
MOST_CLASSES = 0.5
"""Classes as a share of rows, above which a target is a key or a text, not a class."""


def require_target(table: pd.DataFrame, target: str, problem: str) -> Any:
    """The column of the target; None for clustering.

    Raises:
        UserError: it cannot be learnt; with the reason and the remedy.
    """
    if problem == "clustering" or not target:
        message = f"There are {len(table)} rows; {FEWEST} are needed."
        _require(len(table) >= FEWEST, "too-few-rows", message, "Add rows.")
        return None
    labels = table[target]
    known = labels.dropna()
    what, distinct = f"The target {target!r}", known.nunique()
    _require(len(table) > 0, "no-rows", "The table has no row.", "Name a file with rows.")
    _require(len(known) > 0, "target-missing", f"{what} has no value in any row.", "Name another target.")
    message = f"{what} has a value in {len(known)} rows; {FEWEST} are needed to learn and to measure."
    _require(len(known) >= FEWEST, "too-few-rows", message, "Add rows.")
    _require(distinct > 1, "one-class", f"{what} is {str(known.iloc[0])[:60]!r} in every row.", "Name another target.")
    if learning_task(problem) == "classification":
        message = f"{what} has {distinct} classes in {len(known)} rows."
        remedy = "Name a column with classes that come again, or ask for a regression."
        _require(distinct <= max(MOST_CLASSES * len(known), 2), "too-many-classes", message, remedy)
    elif not pd.api.types.is_numeric_dtype(known.dtype):
        shown = ", ".join(repr(str(value)[:30]) for value in known.drop_duplicates().iloc[:3])
        message = f"{what} is not a number ({shown}, ...), so it cannot be the target of a {problem}."
        remedy = "Name a numeric column, or ask for a classification."
        _require(False, "target-not-numeric", message, remedy)
    return labels


def require_classes(labels: Any, target: str, how: str) -> None:
    """Raises UserError where the training rows have a single class, because of how they were split, in words."""
    if labels.nunique() < 2:
        message = f"The {len(labels)} training rows all have {str(labels.iloc[0])[:60]!r} in {target!r}: {how}"
        raise UserError(message, "Split the rows otherwise, or add rows of other classes to them.", code="one-class")


def _require(holds: bool, code: str, message: str, remedy: str) -> None:
    if not holds:
        raise UserError(message, remedy, code=code)
