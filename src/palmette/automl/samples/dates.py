"""Texts that are dates or times of day, in the ways in which people and programs write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

ISO = "ISO8601"
DAYS = (
    ("%Y-%m-%d",), ("%Y/%m/%d",), ("%Y.%m.%d",), ("%m/%d/%Y", "%d/%m/%Y"), ("%m-%d-%Y", "%d-%m-%Y"), ("%d.%m.%Y",),
    ("%m/%d/%y", "%d/%m/%y"), ("%d.%m.%y",), ("%d %b %Y",), ("%d %B %Y",), ("%d-%b-%Y",), ("%d-%b-%y",),
    ("%b %d, %Y",), ("%B %d, %Y",), ("%b-%Y",), ("%b %Y",), ("%Y-%m",),
)  # fmt: skip
"""Each with the formats that the same texts may have."""
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
DIRECTIVES = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}",
    "%H": r"\d{1,2}", "%I": r"\d{1,2}", "%M": r"\d{2}", "%S": r"\d{2}", "%f": r"\d+", " %p": " ?[AaPp][Mm]",
    ".": r"\.",
}  # fmt: skip
STAMP = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?")
KNOWN = re.compile("|".join(map(re.escape, DIRECTIVES)))
WAYS = (
    (STAMP, (ISO,)),
    *(
        (re.compile(KNOWN.sub(lambda match: DIRECTIVES[match[0]], day[0] + time)), tuple(one + time for one in day))
        for day in DAYS
        for time in TIMES
    ),
)
"""Patterns of texts, with the formats that may read them."""
COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
DAY_NAMED = re.compile(r"(^|[_\W])(date|day|dt|datum|dob)([_\W]|$)|date$", re.IGNORECASE)
SAMPLE = 200
SHARE = 0.6  # of a sample that must look like dates before all values are tried
CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?")
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
REACH = 292  # years on either side of 1970 that nanoseconds can count
Times = np.ndarray[tuple[int], np.dtype[np.datetime64]]


class Dates(NamedTuple):
    """Timestamps of texts, in UTC where zones are given, NaT for what is no date, and how they are written."""

    values: Times
    beyond: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Dates of years beyond the range of nanoseconds since 1970; NaT among the values."""
    formats: tuple[str, ...]
    ambiguous: bool
    """Day and month could be the other way round."""


def read_dates(texts: Sequence[str], name: str) -> Dates | None:
    """The dates in these distinct texts; None when hardly any is one."""
    sample = list(texts[:: max(1, len(texts) // SAMPLE)])
    if COMPACT.fullmatch(sample[0]):
        named = DAY_NAMED.search(name) and all(COMPACT.fullmatch(text) for text in texts)
        return Dates(_parsed(texts, "%Y%m%d"), np.zeros(len(texts), bool), ("%Y%m%d",), False) if named else None
    ways, left = [], sample
    for way in WAYS:
        rest = [text for text in left if not way[0].fullmatch(text)]
        ways += [way] if len(rest) < len(left) else []
        left = rest
    if len(sample) - len(left) < SHARE * len(sample):
        return None
    found = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[ns]")
    beyond, formats, ambiguous = np.zeros(len(texts), bool), [], False
    for pattern, choices in ways:
        at = np.array([bool(pattern.fullmatch(text)) for text in texts]) & np.isnat(found)
        if at.any():
            mine = [texts[int(index)] for index in np.flatnonzero(at)]
            tried = {choice: _parsed(mine, choice) for choice in choices}
            good = {choice: int((~np.isnat(values)).sum()) for choice, values in tried.items()}
            best = max(choices, key=lambda choice: good[choice])
            ambiguous |= list(good.values()).count(good[best]) > 1
            found[at] = tried[best]
            for place in np.flatnonzero(at & np.isnat(found)):
                year = YEAR.search(texts[int(place)])
                beyond[place] = year is not None and abs(int(year[0]) - 1970) > REACH
            formats.append(best)
    return Dates(found, beyond, tuple(formats), ambiguous)


def hours_of(text: str) -> float:
    """A time of day as hours since midnight; NaN for what is none.

    >>> hours_of("13:45"), hours_of("1:45 pm"), hours_of("12:00:36 AM"), hours_of("noon")
    (13.75, 13.75, 0.01, nan)
    """
    found = CLOCK.fullmatch(text)
    if found is None:
        return float("nan")
    hour, minute, second, half = found.groups()
    whole = int(hour) if half is None else int(hour) % 12 + 12 * (half in "Pp")
    return whole + int(minute) / 60 + float(second or 0) / 3600


def _parsed(texts: Sequence[str], form: str) -> Times:
    parsed = pd.to_datetime(pd.Series(list(texts), dtype=object), format=form, errors="coerce", utc=True)
    return parsed.dt.tz_convert(None).to_numpy("datetime64[ns]", copy=True)
