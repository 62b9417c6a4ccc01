"""What is made of instants: the parts of the calendar that come again, and the days from one to another."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from palmette.automl.artefacts import Derived
from palmette.automl.modalities.tabular.names import plain

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["month", "day", "weekday", "hour", "days"]
PARTS: tuple[Part, ...] = get_args(Part)
"""Of an instant, as numbers: of the year, of the month, of the week from Monday as 0, of the day with its minutes as a
fraction, and since 1970."""
WORDS = {"month": "months", "day": "days of the month", "weekday": "days of the week", "hour": "times of day"}
MOST_SPANS = 6
FEWEST = 0.1
"""Share of the rows that must have both instants, for the days between them to say something."""
SAME = 0.999
"""Correlation from which the days between two instants say what one of them does."""
TREND = 0.1
"""Rank correlation of target and time from which the one moves with the other."""
MOST_CLASSES = 20
"""That are looked at for it."""
ALONG = 0.9
"""Rank correlation of two times from which the one goes along with the other."""


class Made(NamedTuple):
    """What is made of a column of instants, and why."""

    parts: tuple[Part, ...]
    reason: str


def parts_of(values: pd.Series, drift: float | None = None) -> Made:
    """The parts that come again within the rows: what never does, the days since 1970 say better.

    Args:
        values: Instants.
        drift: How far the target moves with them, where later rows are to be predicted; else None. Days that are later
            than all that was learnt say something of a target that rises or falls, and mislead about any other.
    """
    known = values.dropna()
    days = known.dt.normalize()
    of = {"month": known.dt.month, "day": known.dt.day, "weekday": known.dt.weekday, "hour": known - days}
    within = {"month": known.dt.to_period("M"), "day": days, "weekday": days, "hour": known}
    found = [part for part in PARTS[:-1] if 1 < of[part].nunique() < within[part].nunique()]
    again = f"{_listed(WORDS[part] for part in found)} come again; " if found else ""
    rests = drift is not None and abs(drift) < TREND
    if found and rests:
        why = f"rows to predict are later, and the target does not move with time ({drift:.2f})"
        return Made(tuple(found), f"{again}days since 1970 are left out: {why}")
    moves = "" if rests or drift is None else f": the target moves with time ({drift:.2f})"
    return Made((*found, "days"), f"{again}days since 1970 say what is early or late{moves}")


def drifts(rows: pd.DataFrame, dated: Iterable[str], target: str, time: str) -> dict[str, float]:
    """How far the target moves with the columns of instants that are all later in rows that are later by a time."""
    times = [name for name in dated if time and rows[name].rank().corr(rows[time].rank()) > ALONG]
    return {name: moved(rows[name], rows[target]) for name in times}


def moved(times: pd.Series, target: pd.Series) -> float:
    """The rank correlation of the target with time; of classes, the largest of the most frequent ones."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(target):
        values = [target.astype(float).rank()]
    else:
        names = target.astype(str)
        values = [(names == one).astype(float) for one in names.value_counts().index[:MOST_CLASSES]]
    found = [float(one.corr(times.rank())) for one in values]
    return max((one for one in found if not math.isnan(one)), key=abs, default=0.0)


def spans(dated: Iterable[str], rows: pd.DataFrame, taken: Iterable[str]) -> Iterator[Derived]:
    """The days from each instant of a row to another one, mostly later, where these say what neither instant says.

    Args:
        dated: Columns of instants.
        rows: To learn from.
        taken: What other features are called.
    """
    import pandas as pd

    names = set(taken)
    days = {name: (rows[name] - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1) for name in dated}
    pairs = ((one, other) for one, other in itertools.combinations(days, 2) if _tells(days[one], days[other]))
    for one, other in itertools.islice(pairs, MOST_SPANS):
        first, last = (one, other) if (days[other] - days[one]).median() >= 0 else (other, one)
        between = days[last] - days[first]
        low, high = between.quantile([0.05, 0.95])
        name = _name(first, last, names)
        names.add(name)
        mostly = f"mostly {low:.3g} to {high:.3g}" if low < high else f"mostly {low:.3g}"
        reason = f"Days from {first!r} to {last!r}, {mostly}: trees compare instants, they do not subtract them"
        yield Derived(name=name, operation="elapsed", columns=(first, last), reason=reason)


def _tells(first: pd.Series, last: pd.Series) -> bool:
    between = last - first
    if between.notna().mean() < FEWEST or between.nunique() < 2:
        return False
    return all(abs(between.corr(one)) < SAME for one in (first, last) if one[between.notna()].nunique() > 1)


def _name(first: str, last: str, taken: set[str]) -> str:
    wanted = re.sub("_+", "_", f"days_{plain(first)}_to_{plain(last)}")
    made = wanted if wanted.isascii() else "days_between"
    numbered = (f"{made}_{number}" if number > 1 else made for number in itertools.count(1))
    return next(name for name in numbered if name not in taken)


def _listed(words: Iterable[str]) -> str:
    found = list(words)
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)
