"""Texts that are numbers: decimal commas, thousands separators, currency, percent, units, brackets for minus."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from palmette.automl.samples.text_columns import Texts, sample

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
SAMPLE = 200  # values that the way of writing is judged by, at first
MOSTLY = 0.6  # share of those that must be numbers before all values are tried


class ParsedNumbers(NamedTuple):
    """Values of texts, NaN for what is no number, and how they are written."""

    values: npt.NDArray[np.float64]
    decimal: str
    thousands: str
    affix: str


def floats_of(texts: Texts) -> npt.NDArray[np.float64]:
    """The numbers that programs write, each as the nearest float; NaN for any other text, and for one beyond floats."""
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
    """The numbers in these distinct, trimmed texts; None when hardly any is one.

    `decimal` is the sign in the rest of the file, for a text such as `1,234` that leaves it open.
    """
    some = sample(texts, SAMPLE)
    share = sum(NUMBER.fullmatch(text) is not None for text in some.to_pylist()) / max(len(some), 1)
    if share < MOSTLY and np.isnan(floats_of(some)).any():
        return None
    plain = floats_of(texts)
    listed: list[str] = texts.to_pylist() if np.isnan(plain).any() or decimal == "," else []
    grouped = sum(bool(GROUPED["."].fullmatch(text.lstrip("-+"))) for text in listed)
    if not np.isnan(plain).any() and not (grouped and grouped == sum("." in text for text in listed)):
        return ParsedNumbers(plain, ".", "", "")
    found = [NUMBER.fullmatch(text) for text in listed]
    affixes = Counter((m["prefix"] or m["suffix"] or "").strip() for m in found if m)
    if share < MOSTLY or len({one if len(one) == 1 else one.casefold() for one in affixes if one}) > 1:
        return None  # several units or currencies are not one quantity
    decimal, thousands = _separators([match["digits"] for match in found if match], decimal)
    values = np.array([_value(match, decimal, thousands) if match else math.nan for match in found], dtype=float)
    values[np.isinf(plain)] = plain[np.isinf(plain)]
    return ParsedNumbers(values, decimal, thousands, next((affix for affix in affixes if affix), ""))


def decimal_sign(samples: pa.ChunkedArray) -> str:
    """The decimal sign of a file: the comma, where some numbers must have one and hardly any has a point."""
    counts = []
    for mark, other in (",.", ".,"):  # of numbers in which the mark must be the sign before a fraction
        form = rf"^[^\dA-Za-z]*([\d\{other}' ]*\{mark}(\d\d?|\d{{4,}})|(0\d*|\d{{4,}})\{mark}\d{{3}})([^\d.,].*)?$"
        counts.append(pc.sum(pc.match_substring_regex(samples, form)).as_py() or 0)
    return "," if counts[0] > 10 * counts[1] else "."


def _separators(digits: Sequence[str], decimal: str) -> tuple[str, str]:
    """(decimal sign, thousands separator) under which the most texts are numbers."""
    marks = Counter(mark for text in digits for mark in set(text) if mark in GROUPED)
    signs = (decimal, "," if decimal == "." else ".")
    choices = [(one, group) for one in signs for group in ("", *(mark for mark in GROUPED if mark != one))]

    def fits(choice: tuple[str, str]) -> tuple[int, bool, bool]:
        sign, group = choice
        good = sum(not math.isnan(_digits(text, sign, group)) for text in digits)
        # Groups of three digits are groups, unless the file shows otherwise.
        natural = marks[group] > 0 and all(GROUPED[group].match(text) for text in digits if group in text)
        return good, natural and sign == decimal, not group or marks[group] > 0

    return max(choices, key=fits) if marks else (decimal, "")


def _digits(text: str, decimal: str, thousands: str) -> float:
    whole, mark, fraction = text.rpartition(decimal)
    whole, fraction = (whole, fraction) if mark else (text, "")
    if thousands and thousands in whole:
        if not GROUPED[thousands].fullmatch(whole):
            return math.nan
        whole = whole.replace(thousands, "")
    readable = all(part == "" or part.isdecimal() for part in (whole, fraction))
    return float(f"{whole or 0}.{fraction or 0}") if readable else math.nan


def _value(match: re.Match[str], decimal: str, thousands: str) -> float:
    value = _digits(match["digits"].strip(), decimal, thousands)
    if bool(match["open"]) != bool(match["close"]):
        return math.nan
    if match["exponent"]:
        written = f"{value!r}{match['exponent']}"
        value = float(written) if len(re.findall("[eE]", written)) == 1 and not math.isnan(value) else math.nan
    negative = match["open"] or {match["sign"], match["sign2"], match["minus"]} & {"-", "−"}
    return -value if negative else value
