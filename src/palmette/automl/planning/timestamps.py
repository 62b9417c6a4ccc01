"""Features of timestamps: calendar parts that recur in the rows, and the days between two timestamps."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from palmette.automl.candidates import Derived

if TYPE_CHECKING:
    import pandas as pd

PARTS = {"month": "months", "day": "days of the month", "weekday": "weekdays", "hour": "times of day"}
"""Recurring calendar parts, in words; the remaining part is `days` since 1970."""
MOST_ELAPSED = 6
LEAST_DATED = 0.1  # least share of rows with both timestamps for the days between them to be a feature
DUPLICATE = 0.999  # correlation above which the days between two timestamps duplicate one of them
TREND = 0.1  # rank correlation above which the target moves with time
MOST_CLASSES = 20  # number of frequent classes tested for such a move
TIMES_MOVE_TOGETHER = 0.9  # rank correlation above which two timestamps move together


class CalendarParts(NamedTuple):
    """The parts to extract from a timestamp column, with the reason."""

    parts: tuple[str, ...]
    reason: str


def parts_of(values: pd.Series, drift: float | None = None) -> CalendarParts:
    """Chooses the calendar parts that recur in the rows, and days since 1970 to tell early rows from late ones.

    Args:
        values: Timestamps.
        drift: Rank correlation with the target if later rows are to be predicted, else None. Days beyond the training
            period help if the target rises or falls, and mislead otherwise.
    """
    known = values.dropna()
    days = known.dt.normalize()
    of = {"month": known.dt.month, "day": known.dt.day, "weekday": known.dt.weekday, "hour": known - days}
    within = {"month": known.dt.to_period("M"), "day": days, "weekday": days, "hour": known}
    found = [part for part in PARTS if 1 < of[part].nunique() < within[part].nunique()]
    recurring = f"{', '.join(PARTS[part] for part in found)} recur" if found else ""
    if found and drift is not None and abs(drift) < TREND:
        why = f"no days since 1970, as rows to predict are later and the target does not move with time ({drift:.2f})"
        return CalendarParts(tuple(found), f"{recurring}; {why}")
    moves = f"the target moves with time ({drift:.2f})" if drift is not None else ""
    return CalendarParts((*found, "days"), "; ".join(filter(None, (recurring, moves))))


def drift_of(column: str, rows: pd.DataFrame, target: str, time: str) -> float | None:
    """Returns the rank correlation of the target with a timestamp column that moves with the split's time.

    For classes it is the largest correlation among the frequent ones. Returns None if the column does not move along.
    """
    import pandas as pd

    ranks = rows[column].rank()
    if not time or not target or not ranks.corr(rows[time].rank()) > TIMES_MOVE_TOGETHER:
        return None
    if pd.api.types.is_numeric_dtype(rows[target]):
        values = [rows[target].astype(float).rank()]
    else:
        names = rows[target].astype(str)
        values = [(names == one).astype(float) for one in names.value_counts().index[:MOST_CLASSES]]
    found = [float(one.corr(ranks)) for one in values]
    return max((one for one in found if not math.isnan(one)), key=abs, default=0.0)


def elapsed(dated: Iterable[str], rows: pd.DataFrame, taken: Iterable[str]) -> Iterator[Derived]:
    """Yields the days between two timestamps of a row, if they add information to both."""
    import pandas as pd

    names = set(taken)
    days = {name: (rows[name] - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1) for name in dated}
    pairs = (pair for pair in itertools.combinations(days, 2) if _informative(days[pair[0]], days[pair[1]]))
    for one, other in itertools.islice(pairs, MOST_ELAPSED):
        first, last = (one, other) if (days[other] - days[one]).median() >= 0 else (other, one)
        low, high = (days[last] - days[first]).quantile([0.05, 0.95])
        name = _free(f"days_{first}_to_{last}", names)
        names.add(name)
        spread = f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}"
        reason = (
            f"Mostly {spread} days from {first!r} to {last!r}; trees compare timestamps, they do not subtract them."
        )
        yield Derived(name=name, operation="elapsed", columns=(first, last), reason=reason)


def _informative(first: pd.Series, last: pd.Series) -> bool:
    between = last - first
    if between.notna().mean() < LEAST_DATED or between.nunique() < 2:
        return False
    return all(abs(between.corr(one)) < DUPLICATE for one in (first, last) if one[between.notna()].nunique() > 1)


def _free(wanted: str, taken: set[str]) -> str:
    name = re.sub(r"[\W_]+", "_", wanted).strip("_")
    name = name if name.isascii() else "days_between"
    numbered = (f"{name}_{number}" if number > 1 else name for number in itertools.count(1))
    return next(one for one in numbered if one not in taken)
