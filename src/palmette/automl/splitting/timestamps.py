"""Where the later rows begin, for a date or a period as a request writes it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from palmette.errors import UserError

_UNITS = {"TH": "hours", "D": "days", "W": "weeks", "M": "months", "Y": "years"}


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
    if edge is None or not first < edge <= last:
        raise UserError(
            f"The hold-out cannot begin at {since!r}: {name!r} goes from {shown_time(first)} to {shown_time(last)}.",
            "Name a date between them, or a share: test on the latest 20 % of the rows.",
            code="split-impossible",
        )
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
            length: dict[str, Any] = {_UNITS[period[1] + period[3]]: int(period[2])}
            return (most - pd.DateOffset(**length)).to_datetime64()
        if not since.startswith("--"):
            return pd.Timestamp(since).to_datetime64()
        month, day = (int(part) for part in (*since[2:].split("-"), "1")[:2])
        found = (pd.Timestamp(year, month, day) for year in range(most.year, least.year - 1, -1))
        return next((one.to_datetime64() for one in found if least < one <= most), None)
    except ValueError:  # no timestamp, or a 30th of February
        return None
