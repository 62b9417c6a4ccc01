"""Distinct texts into numbers, dates and times of day, in the ways in which people and programs write them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Texts = Any  # a `pyarrow.LargeStringArray`; null where there is no text
TEXT = pd.ArrowDtype(pa.large_string())  # of columns that are text in the file
SAMPLE, MOSTLY = 200, 0.6  # values that are looked at before all are parsed, and the share of them that must parse

CURRENCIES = r"[$€£¥₹₽₩₺฿]|R\$|US\$|USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
UNITS = (
    r"%|‰|°|°C|°F|kg|g|mg|lbs?|oz|t|km|m|cm|mm|mi|miles|ft|in|inch|m2|m²|km2|km²|sqft|sq ?ft|h|hr|hrs|hours?|min|mins|"
    r"minutes?|s|sec|secs|seconds?|ms|days?|weeks?|months?|years?|yrs?|kb|mb|gb|tb|l|ml|kw|kwh|w|mph|km/h|kmph|bhp|hp|"
    r"cc|rpm|hz|khz|mhz|ghz|bar|psi|ppm|px|pts?"
)
NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−])?\s*(?P<prefix>{CURRENCIES})?\s*(?P<sign2>[-+−])?"
    r"(?P<digits>\d[\d.,'\u00a0\u202f ]*\d|\d|[.,]\d+|\d+[.,])(?P<exponent>e[-+]?\d{1,4})?"
    rf"\s*(?P<suffix>{UNITS}|{CURRENCIES})?\s*(?P<close>\))?(?P<minus>-)?",
    re.IGNORECASE,
)
PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"
GROUPED = {mark: re.compile(rf"\d{{1,3}}({re.escape(mark)}\d{{3}})+") for mark in ".,' \u00a0\u202f"}
EXACT = 2.0**53  # up to here a float holds every whole number

DAYS = (
    ("%Y-%m-%d",), ("%Y/%m/%d",), ("%Y.%m.%d",), ("%m/%d/%Y", "%d/%m/%Y"), ("%m-%d-%Y", "%d-%m-%Y"), ("%d.%m.%Y",),
    ("%m/%d/%y", "%d/%m/%y"), ("%d.%m.%y",), ("%d %b %Y",), ("%d %B %Y",), ("%d-%b-%Y",), ("%d-%b-%y",),
    ("%b %d, %Y",), ("%B %d, %Y",), ("%b-%Y",), ("%b %Y",), ("%Y-%m",),
)  # fmt: skip
"""Formats of days; alternatives that the same text may have stand together."""
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
DIRECTIVES = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}",
    "%H": r"\d{1,2}", "%I": r"\d{1,2}", "%M": r"\d{2}", "%S": r"\d{2}", "%f": r"\d+", " %p": " ?[AaPp][Mm]",
    ".": r"\.",
}  # fmt: skip
DIRECTIVE = re.compile("|".join(map(re.escape, DIRECTIVES)))
TIMESTAMP = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
DATES = {
    re.compile(DIRECTIVE.sub(lambda match: DIRECTIVES[match[0]], days[0] + time)): tuple(day + time for day in days)
    for days in DAYS
    for time in TIMES
}
QUARTER, MONTH = "Q%q", "M%m"
PERIODS = {
    re.compile(r"\d{4}[ -]?[Qq]\d|[Qq]\d[ /-]\d{4}"): ("%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q-%Y", "Q%q/%Y"),
    re.compile(r"\d{4}[ -]?[Mm]\d{1,2}"): ("%YM%m", "%Y-M%m", "%Y M%m"),
}
PATTERNS = {re.compile(TIMESTAMP): ("ISO8601",)} | PERIODS | DATES
"""Patterns of dates, each with the formats that may read it; `%q` is the quarter, as in pandas."""
COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
DATE_NAME = re.compile(r"(^|[_\W])(date|day|dt|datum|dob)([_\W]|$)|date$", re.IGNORECASE)
UNIX_WORDS = {"at", "created", "date", "datetime", "ds", "dt", "epoch", "modified", "t", "time", "timestamp", "ts",
              "unix", "unixtime", "updated", "utc", "when"}  # fmt: skip
"""Words of a name that calls numbers times."""
UNIX_SECONDS = (315_532_800, 4_102_444_800)  # from 1980 to 2100
CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?")
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
MOST_YEARS = 292  # on either side of 1970, that nanoseconds can count


class NumberStyle(NamedTuple):
    """How numbers are written."""

    decimal: str = "."
    thousands: str = ""
    affix: str = ""  # a currency, percent sign or unit written with every number
    affix_after: bool = False


class ParsedNumbers(NamedTuple):
    """Values of texts, NaN for what is not a number, and how they are written."""

    values: npt.NDArray[np.float64]
    style: NumberStyle = NumberStyle()


class ParsedDates(NamedTuple):
    """Timestamps of texts, in UTC where zones are given, NaT for what is not a date, and how they are written."""

    values: npt.NDArray[np.datetime64]
    formats: tuple[str, ...]
    out_of_range: npt.NDArray[np.bool_]  # dates of years that nanoseconds since 1970 cannot count; NaT among the values
    ambiguous: bool = False  # whether day and month could be swapped


def array(cells: Sequence[str | None]) -> Texts:
    """The texts as one Arrow array."""
    return pa.array(cells, pa.large_string())


def sample(texts: Texts, count: int) -> Texts:
    """About `count` of the texts, evenly spread; all of them where there are not twice as many."""
    step = max(1, len(texts) // count)
    return texts if step == 1 else texts.take(pa.array(range(0, len(texts), step), pa.int64()))


def as_column(texts: Texts) -> pd.Series[Any]:
    """An Arrow array, chunked or not, as a column of a raw table."""
    chunks = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    return pd.Series(pd.arrays.ArrowExtensionArray(chunks))


def of_column(column: pd.Series[Any]) -> Texts:
    """The texts of a column of a raw table as one Arrow array."""
    return column.array.__arrow_array__().combine_chunks()


def floats_of(texts: Texts) -> npt.NDArray[np.float64]:
    """The nearest float of each number as programs write it; NaN for other texts and for numbers beyond floats."""
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        texts = pc.ascii_trim_whitespace(texts)
        plain = pc.match_substring_regex(texts, PLAIN)
        values = pc.cast(pc.if_else(plain, pc.ascii_ltrim(texts, "+"), pa.scalar(None, texts.type)), pa.float64())
    found = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(found).any():
        meant = pc.match_substring(texts, "inf", ignore_case=True).fill_null(False).to_numpy(zero_copy_only=False)
        found[np.isinf(found) & ~meant] = np.nan
    return found


def read_numbers(texts: Texts, decimal: str = ".") -> ParsedNumbers | None:
    """The numbers in distinct, trimmed texts; None when few of them are numbers.

    `decimal` is the decimal sign of the file, for a text such as `1,234` that leaves it open.
    """
    some = sample(texts, SAMPLE)
    share = sum(NUMBER.fullmatch(text) is not None for text in some.to_pylist()) / max(len(some), 1)
    if share < MOSTLY and np.isnan(floats_of(some)).any():
        return None
    plain = floats_of(texts)
    listed: list[str] = texts.to_pylist() if np.isnan(plain).any() or decimal == "," else []
    grouped = sum(bool(GROUPED["."].fullmatch(text.lstrip("-+"))) for text in listed)
    if not np.isnan(plain).any() and not (grouped and grouped == sum("." in text for text in listed)):
        return ParsedNumbers(plain)
    found = [NUMBER.fullmatch(text) for text in listed]
    affixes = Counter((m["prefix"] or m["suffix"] or "").strip() for m in found if m)
    if share < MOSTLY or len({one if len(one) == 1 else one.casefold() for one in affixes if one}) > 1:
        return None  # several units or currencies are not one quantity
    decimal, thousands = _separators([match["digits"] for match in found if match], decimal)
    values = np.array([_value(match, decimal, thousands) if match else math.nan for match in found], dtype=float)
    values[np.isinf(plain)] = plain[np.isinf(plain)]
    affix, after = next(filter(None, affixes), ""), any(match["suffix"] for match in found if match)
    return ParsedNumbers(values, NumberStyle(decimal, thousands, affix, after))


def decimal_sign(samples: pa.ChunkedArray) -> str:
    """The decimal sign of a file: the comma, where some numbers must have one and hardly any has a point."""
    counts = []
    for mark, other in (",.", ".,"):  # count numbers in which the mark must be the decimal sign
        form = rf"^[^\dA-Za-z]*([\d\{other}' ]*\{mark}(\d\d?|\d{{4,}})|(0\d*|\d{{4,}})\{mark}\d{{3}})([^\d.,].*)?$"
        counts.append(pc.sum(pc.match_substring_regex(samples, form)).as_py() or 0)
    return "," if counts[0] > 10 * counts[1] else "."


def _separators(digits: Sequence[str], decimal: str) -> tuple[str, str]:
    """(decimal sign, thousands separator) under which the most texts are numbers."""
    signs = (decimal, "," if decimal == "." else ".")
    marks = {mark: [text for text in digits if mark in text] for mark in GROUPED}

    def fits(choice: tuple[str, str]) -> tuple[int, bool, bool]:
        sign, group = choice
        good = sum(_digits(sign, group).fullmatch(text) is not None for text in digits)
        used = marks[group] if group else []
        # Groups of three digits are thousands, unless the file shows otherwise.
        natural = sign == decimal and bool(used) and all(GROUPED[group].match(text) for text in used)
        return good, natural, not group or bool(used)

    choices = [(sign, group) for sign in signs for group in ("", *GROUPED) if group != sign]
    return max(choices, key=fits) if any(marks.values()) else (decimal, "")


def _digits(decimal: str, thousands: str) -> re.Pattern[str]:
    """The pattern of digits with these separators."""
    whole = rf"(\d*|{GROUPED[thousands].pattern})" if thousands else r"\d*"
    return re.compile(rf"{whole}({re.escape(decimal)}\d*)?")


def _value(match: re.Match[str], decimal: str, thousands: str) -> float:
    text = match["digits"].strip()
    if bool(match["open"]) != bool(match["close"]) or not _digits(decimal, thousands).fullmatch(text):
        return math.nan
    value = float(text.replace(thousands, "").replace(decimal, ".") + (match["exponent"] or ""))
    negative = match["open"] or {match["sign"], match["sign2"], match["minus"]} & {"-", "−"}
    return -value if negative else value


def read_dates(texts: Sequence[str], name: str) -> ParsedDates | None:
    """The dates in distinct texts; None when few of them are dates."""
    some = rest = list(texts[:: max(1, len(texts) // SAMPLE)])
    if COMPACT.fullmatch(some[0]):
        named = DATE_NAME.search(name) and all(COMPACT.fullmatch(text) for text in texts)
        return ParsedDates(_parsed(texts, "%Y%m%d"), ("%Y%m%d",), np.zeros(len(texts), bool)) if named else None
    used = []
    for pattern in PATTERNS:
        left = [text for text in rest if not pattern.fullmatch(text)]
        used += [pattern] if len(left) < len(rest) else []
        rest = left
    if len(some) - len(rest) < MOSTLY * len(some):
        return None
    values = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[ns]")
    out_of_range, formats, ambiguous = np.zeros(len(texts), bool), [], False
    every = array(texts)
    for pattern in used:
        alike = pc.match_substring_regex(every, f"^({pattern.pattern})$").to_numpy(zero_copy_only=False)
        places = np.flatnonzero(alike & np.isnat(values))
        chosen = [texts[at] for at in places.tolist()]
        tried = [_parsed(chosen, choice) for choice in PATTERNS[pattern]]
        good = [int((~np.isnat(parsed)).sum()) for parsed in tried]
        best = good.index(max(good))
        ambiguous |= len(places) > 0 and good.count(good[best]) > 1
        values[places] = tried[best]
        for at in places[np.isnat(tried[best])].tolist():
            year = YEAR.search(texts[at])
            out_of_range[at] = year is not None and abs(int(year[0]) - 1970) > MOST_YEARS
        formats += [PATTERNS[pattern][best]] if len(places) else []
    return ParsedDates(values, tuple(formats), out_of_range, ambiguous)


def _parsed(texts: Sequence[str], form: str) -> npt.NDArray[np.datetime64]:
    plain, form = map(first_month, texts) if QUARTER in form else texts, form.replace(QUARTER, MONTH)
    parsed = pd.to_datetime(pd.Series(list(plain), dtype=object), format=form, errors="coerce", utc=True)
    return parsed.dt.tz_convert(None).to_numpy("datetime64[ns]", copy=True)


def names_times(name: str) -> bool:
    """Whether a name calls numbers times.

    >>> names_times("createdAt"), names_times("phone")
    (True, False)
    """
    words = re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    return not UNIX_WORDS.isdisjoint(words)


def unix_counts(values: npt.NDArray[np.float64]) -> int:
    """The counts in a second of Unix times, if numbers are times: 1, 1,000 or 1,000,000; 0 where they cannot be.

    >>> unix_counts(np.array([1.7e9])), unix_counts(np.array([1.7e12])), unix_counts(np.ones(1))
    (1, 1000, 0)
    """
    if not len(values):
        return 0
    low, high = np.nanmin(values), np.nanmax(values)
    first, last = UNIX_SECONDS
    return next((counts for counts in (1, 1_000, 1_000_000) if first * counts <= low <= high <= last * counts), 0)


def first_month(text: str) -> str:
    """The text with the first month of a quarter in its place, as `strptime` knows no quarters.

    >>> first_month("1959Q2")
    '1959M4'
    """
    return re.sub("[Qq]([1-4])", lambda found: f"M{3 * int(found[1]) - 2}", text)


def hours_of(text: str) -> float:
    """A time of day as hours since midnight; NaN for any other text.

    >>> hours_of("13:45"), hours_of("1:45 pm"), hours_of("12:00:36 AM"), hours_of("noon")
    (13.75, 13.75, 0.01, nan)
    """
    found = CLOCK.fullmatch(text)
    if found is None:
        return float("nan")
    hour, minute, second, half = found.groups()
    whole = int(hour) if half is None else int(hour) % 12 + 12 * (half in "Pp")
    return whole + int(minute) / 60 + float(second or 0) / 3600
