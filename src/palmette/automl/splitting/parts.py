"""What a split rests on: a target that can be learnt, a column that names the parts, and where later rows begin."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.problem_traits import learning_task
from palmette.automl.samples.tables import NO_PART, TEST, TRAIN, VALIDATION
from palmette.errors import UserError

FEWEST = 10  # rows with a target, below which nothing can be measured
MOST_CLASSES = 0.5  # classes as a share of rows, above which a target is a key or a text, not a class
TRUE, FALSE = frozenset({"1", "1.0", "true", "yes"}), frozenset({"0", "0.0", "false", "no"})
UNITS = {"TH": "hours", "D": "days", "W": "weeks", "M": "months", "Y": "years"}


def require_target(table: pd.DataFrame, target: str, problem: str) -> Any:
    """The column of the target; None for clustering; raises UserError where it cannot be learnt; with the reason and
    the remedy."""
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
        _require(False, "target-not-numeric", message, "Name a numeric column, or ask for a classification.")
    return labels


def require_classes(labels: Any, target: str, how: str) -> None:
    """Raises UserError where the training rows have a single class, because of how they were split, in words."""
    message = f"The {len(labels)} training rows all have {str(labels.iloc[0])[:60]!r} in {target!r}: {how}"
    remedy = "Split the rows otherwise, or add rows of other classes to them."
    _require(labels.nunique() > 1, "one-class", message, remedy)


def _require(holds: bool, code: str, message: str, remedy: str) -> None:
    if not holds:
        raise UserError(message, remedy, code=code)


def has_part(column: Any) -> npt.NDArray[np.bool_]:
    """(n,): whether a row is in a part; all rows where fewer than two are in one."""
    found = column.notna().to_numpy() & ~_folded(column).isin(NO_PART).to_numpy()
    return np.asarray(found if found.sum() > 1 else np.ones(len(found), dtype=bool))


def parts_of(column: Any, name: str, required: bool) -> tuple[npt.NDArray[np.bool_], str]:
    """Which rows are the hold-out, and the sentence about it.

    Validation rows are the hold-out where no row is for testing, else they are learnt from. Where `required` is false
    and there is no such row, none is.

    Raises:
        UserError: the column names no parts, or only one, and the request demands it.
    """
    texts = _folded(column)
    present = set(texts[column.notna().to_numpy()])
    test = frozenset(present & TEST or present & VALIDATION)
    if not test and present <= TRUE | FALSE:  # e.g. is_test, or is_train
        words = {*name.casefold().replace("_", " ").split()}
        test = TRUE if words & (TEST | VALIDATION) else FALSE if words & TRAIN else test
    inside = texts.isin(test).to_numpy() & column.notna().to_numpy()
    divides = bool(0 < inside.sum() < len(inside))
    shown = ", ".join(sorted(map(repr, present))[:5])
    message = f"The column {name!r} does not divide the rows into training and test rows; its values are {shown}."
    _require(divides or not required, "split-impossible", message, "Name a column with the values train and test.")
    values = " or ".join(sorted(map(repr, set(column[inside].astype(str)))))
    reason = f"The {int(inside.sum())} rows with {name} {values} are the hold-out; no model is given that column."
    return inside & divides, reason


def _folded(column: Any) -> Any:
    return column.astype(str).str.strip().str.casefold()


def first_of_later(since: str, ordered: Any, name: str) -> Any:
    """The first timestamp of the later rows.

    Args:
        since: `2024`, `2024-03`, `2024-03-15`; `--03`, the last March; `P3M`, three months before the end.
        ordered: (n,) known timestamps, or years as numbers, sorted.
        name: of their column.

    Raises:
        UserError: there are no rows before it, or none from it on.
    """
    first, last = ordered[0], ordered[-1]
    edge = _year(since, float(last)) if np.issubdtype(ordered.dtype, np.number) else _timestamp(since, first, last)
    message = f"The hold-out cannot begin at {since!r}: {name!r} goes from {shown_time(first)} to {shown_time(last)}."
    remedy = "Name a date between them, or a share: test on the latest 20 % of the rows."
    _require(edge is not None and first < edge <= last, "split-impossible", message, remedy)
    return edge


def shown_time(value: Any) -> str:
    """A timestamp or a number for a sentence."""
    return str(pd.Timestamp(value)) if isinstance(value, np.datetime64) else f"{value:g}"


def _year(since: str, last: float) -> float | None:
    if (period := re.fullmatch(r"P(\d+)Y", since)) is not None:
        return last - int(period[1]) + 1
    return float(since) if re.fullmatch(r"\d{4}", since) else None


def _timestamp(since: str, first: Any, last: Any) -> Any:
    try:
        least, most = pd.Timestamp(first), pd.Timestamp(last)
        if (period := re.fullmatch(r"P(T?)(\d+)([HDWMY])", since)) is not None:
            length: dict[str, Any] = {UNITS[period[1] + period[3]]: int(period[2])}
            return (most - pd.DateOffset(**length)).to_datetime64()
        if not since.startswith("--"):
            return pd.Timestamp(since).to_datetime64()
        month, day = (int(part) for part in (*since[2:].split("-"), "1")[:2])
        found = (pd.Timestamp(year, month, day) for year in range(most.year, least.year - 1, -1))
        return next((one.to_datetime64() for one in found if least < one <= most), None)
    except ValueError:  # no timestamp, or a 30th of February
        return None
