"""Dates and periods in a request by which rows are to be divided into earlier and later ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20)\d\d"
_DATE = (
    rf"(?:(?P<iso>{_YEAR}-\d\d?(?:-\d\d?)?)(?![\d-])|(?:(?P<day>\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH}"
    rf"(?:,?\s+(?P<year>{_YEAR})\b)?|(?P<only>{_YEAR})\b(?!\s*[-/]\s*\d))"
)
_OF = r"(?:the|all|only|everything|years?|data|rows|days|months?|records?|of|from|in|for|since|and including|end of)\s+"
_TEST = r"(?:test|evaluat|validat|scor|hold[\s-]?out|held[\s-]?out|measur|check|assess)\w*"
_TRAIN = r"(?:train|fit|learn)\w*"
_SPAN = r"(?:(?P<count>\d+)\s+)?(?P<unit>hour|day|week|month|quarter|year)s?\b"
_LAST = r"(?:last|latest|final|most recent|newest)"
_FOR = rf"[^.;]{{0,40}}\b(?:for|as|to)\s+(?:the\s+|a\s+)?{_TEST}"
_LETTERS = {"hour": "TH", "day": "D", "week": "W", "month": "M", "quarter": "M", "year": "Y"}


class Edge(NamedTuple):
    """Where the later rows begin, in ISO form, and where the words for it stand."""

    begins: str
    start: int
    end: int


_FORMS: tuple[tuple[str, bool], ...] = (
    (rf"\b{_TRAIN}\b[^.;]{{0,60}}?\b(?:before|prior to|earlier than)\s+(?:{_OF})*{_DATE}", False),
    (rf"\b{_TRAIN}\b[^.;]{{0,60}}?\b(?:until|till|up to|through|to the end of)\s+(?:{_OF})*{_DATE}", True),
    (rf"\b(?:before|prior to)\s+{_DATE}[^.;]{{0,30}}\b(?:for|to|as)\s+(?:the\s+)?{_TRAIN}", False),
    (rf"\b(?:until|till|up to|through)\s+(?:{_OF})*{_DATE}[^.;]{{0,30}}\b(?:for|to|as)\s+(?:the\s+)?{_TRAIN}", True),
    (rf"\b{_TEST}\b[^.;,]{{0,40}}?\bafter\s+(?:{_OF})*{_DATE}", True),
    (rf"\bafter\s+(?:{_OF})*{_DATE}{_FOR}", True),
    (rf"\b(?:use|keep|reserve|with|take)\s+(?:{_OF})*{_DATE}{_FOR}", False),
    (rf"\b(?:since|from|starting (?:in|with|from))\s+{_DATE}{_FOR}", False),
    (
        rf"\b{_TEST}\b(?:\s+(?:set|it|the model|rows|data|part))?\s*"
        rf"(?:on|with|from|since|in|is|are|=|:|out)\s+(?:{_OF})*{_DATE}",
        False,
    ),
    (
        rf"\b{_TRAIN}\s+(?:on|with|using|in|from)\s+(?:{_OF})*{_YEAR}\s*"
        rf"(?:-|to|until|through|and)\s*(?P<only>{_YEAR})\b",
        True,
    ),
)
"""Ways to say where testing begins; True where it is after the date that is named."""
_PERIODS = (
    rf"\b{_TEST}\b[^.;,]{{0,30}}?\b{_LAST}\s+{_SPAN}",
    rf"\b{_LAST}\s+{_SPAN}[^.;,]{{0,30}}\b(?:for|as|to|is|are)\s+(?:the\s+|a\s+)?{_TEST}",
)


def edge(plain: str) -> Edge | None:
    """Where the rows to test on begin, if the request names a date or a period for it."""
    return next((one for one in (*_dates(plain), *_periods(plain))), None)


def _dates(plain: str) -> Iterator[Edge]:
    for pattern, after in _FORMS:
        for match in re.finditer(pattern, plain, re.I):
            named = _iso({"iso": "", "day": "", "month": "", "year": "", "only": ""} | match.groupdict(""))
            if named:
                yield Edge(_next(named) if after else named, match.start(), match.end())


def _periods(plain: str) -> Iterator[Edge]:
    for pattern in _PERIODS:
        for match in re.finditer(pattern, plain, re.I):
            unit = match["unit"].casefold()
            count = int(match["count"] or 1) * (3 if unit == "quarter" else 1)
            letters = _LETTERS[unit]
            yield Edge(f"P{letters[:-1]}{count}{letters[-1]}", match.start(), match.end())


def _iso(said: dict[str, str]) -> str:
    """A date as far as it is named: `2024-03`; `--03` for a month of no year; empty where it is none."""
    if said["only"]:
        return said["only"]
    if said["iso"]:
        year, *rest = (int(part) for part in said["iso"].split("-"))
        return "-".join([f"{year}", *(f"{part:02d}" for part in rest)]) if rest[0] <= 12 and rest[-1] <= 31 else ""
    month = _MONTHS.index(said["month"][:3].casefold()) + 1
    day = f"-{int(said['day']):02d}" if said["day"] and 1 <= int(said["day"]) <= 31 else ""
    return f"{said['year'] or '-'}-{month:02d}{day}"


def _next(named: str) -> str:
    """What comes right after a year, a month or a day.

    >>> _next("2024"), _next("2024-12"), _next("--03"), _next("2024-02-29")
    ('2025', '2025-01', '--04', '2024-03-01')
    """
    import datetime

    parts = named.removeprefix("--").split("-")
    if named.startswith("--"):
        return f"--{int(parts[0]) % 12 + 1:02d}"
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        return f"{numbers[0] + 1}"
    if len(numbers) == 2:
        return f"{numbers[0] + numbers[1] // 12}-{numbers[1] % 12 + 1:02d}"
    try:
        return f"{datetime.date(numbers[0], numbers[1], numbers[2]) + datetime.timedelta(days=1)}"
    except ValueError:
        return named
