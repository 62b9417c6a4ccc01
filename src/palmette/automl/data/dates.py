"""Texts that are dates, in the ways in which people and programs write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

ISO = "ISO8601"
DAYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\d{4}-\d{1,2}-\d{1,2}", ("%Y-%m-%d",)),
    (r"\d{4}/\d{1,2}/\d{1,2}", ("%Y/%m/%d",)),
    (r"\d{4}\.\d{1,2}\.\d{1,2}", ("%Y.%m.%d",)),
    (r"\d{1,2}/\d{1,2}/\d{4}", ("%m/%d/%Y", "%d/%m/%Y")),
    (r"\d{1,2}-\d{1,2}-\d{4}", ("%m-%d-%Y", "%d-%m-%Y")),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", ("%d.%m.%Y",)),
    (r"\d{1,2}/\d{1,2}/\d{2}", ("%m/%d/%y", "%d/%m/%y")),
    (r"\d{1,2}\.\d{1,2}\.\d{2}", ("%d.%m.%y",)),
    (r"\d{1,2} [A-Za-z]{3} \d{4}", ("%d %b %Y",)),
    (r"\d{1,2} [A-Za-z]{4,9} \d{4}", ("%d %B %Y",)),
    (r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
    (r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
    (r"[A-Za-z]{3} \d{1,2}, \d{4}", ("%b %d, %Y",)),
    (r"[A-Za-z]{3,9} \d{1,2}, \d{4}", ("%B %d, %Y",)),
    (r"[A-Za-z]{3}[- ]\d{4}", ("%b-%Y", "%b %Y")),
    (r"\d{4}-\d{2}", ("%Y-%m",)),
)
TIMES: tuple[tuple[str, str], ...] = (
    (r"", ""),
    (r" \d{1,2}:\d{2}", " %H:%M"),
    (r" \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"),
    (r" \d{1,2}:\d{2}:\d{2}\.\d+", " %H:%M:%S.%f"),
    (r" \d{1,2}:\d{2} ?[AaPp][Mm]", " %I:%M %p"),
    (r" \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]", " %I:%M:%S %p"),
)
STAMP = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?")
WAYS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (STAMP, (ISO,)),
    *(
        (re.compile(day + time), tuple(f"{one}{suffix}" for one in formats))
        for day, formats in DAYS
        for time, suffix in TIMES
    ),
)
"""Ways of writing instants, with the formats that read them."""
COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
DAY_NAMED = re.compile(r"(^|[_\W])(date|day|dt|datum|dob)([_\W]|$)|date$", re.IGNORECASE)
SAMPLE = 200
SHARE = 0.6
"""Of a sample that must look like dates before all values are tried."""


CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?")
"""Hours, minutes, seconds, and which half of the day."""


YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


class Dates(NamedTuple):
    """Instants of texts, in UTC where zones are given, NaT for what is no date, and how they are written."""

    values: np.ndarray[tuple[int], np.dtype[np.datetime64]]
    beyond: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Which texts are dates of years that nanoseconds since 1970 cannot tell; NaT among the values."""
    formats: tuple[str, ...]
    ambiguous: bool
    """Day and month could be the other way round."""


def read_dates(texts: Sequence[str], name: str) -> Dates | None:
    """The dates that these distinct texts are; None when hardly any is one."""
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    if COMPACT.fullmatch(sample[0]):
        named = DAY_NAMED.search(name) and all(COMPACT.fullmatch(text) for text in texts)
        return Dates(_parsed(texts, "%Y%m%d"), np.zeros(len(texts), bool), ("%Y%m%d",), False) if named else None
    shapes = _shapes(sample)
    if sum(any(pattern.fullmatch(text) for pattern, _ in shapes) for text in sample) < SHARE * len(sample):
        return None
    found = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[ns]")
    beyond = np.zeros(len(texts), bool)
    formats, ambiguous = [], False
    for pattern, choices in shapes:
        at = np.array([bool(pattern.fullmatch(text)) for text in texts]) & np.isnat(found)
        if at.any():
            mine = [texts[int(index)] for index in np.flatnonzero(at)]
            tried = {choice: _parsed(mine, choice) for choice in choices}
            good = {choice: int((~np.isnat(values)).sum()) for choice, values in tried.items()}
            best = max(choices, key=lambda choice: good[choice])
            ambiguous |= len(choices) > 1 and "b" not in best and list(good.values()).count(good[best]) > 1
            found[at] = tried[best]
            beyond[at] = np.isnat(tried[best]) & ~np.isnat(_parsed([nearer(text) for text in mine], best))
            formats.append(best)
    return Dates(found, beyond & np.isnat(found), tuple(formats), ambiguous)


def nearer(text: str) -> str:
    """A date with its year moved by as many centuries as keep the calendar, to one from 1700 to 2099.

    >>> nearer("9999-12-31 10:00"), nearer("29.02.1600")
    ('1999-12-31 10:00', '29.02.2000')
    """
    return YEAR.sub(lambda year: str(1700 + (int(year[0]) - 1700) % 400), text, count=1)


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


def _shapes(sample: Sequence[str]) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """The ways of writing that occur in a sample, with the formats that read them."""
    left = list(sample)
    found: list[tuple[re.Pattern[str], tuple[str, ...]]] = []
    for pattern, formats in WAYS:
        if not left:
            break
        rest = [text for text in left if not pattern.fullmatch(text)]
        if len(rest) < len(left):
            found.append((pattern, formats))
        left = rest
    return found


def _parsed(texts: Sequence[str], form: str) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    parsed = pd.to_datetime(pd.Series(list(texts), dtype=object), format=form, errors="coerce", utc=True)
    return parsed.dt.tz_convert(None).to_numpy("datetime64[ns]", copy=True)
