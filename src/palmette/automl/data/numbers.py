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

from palmette.automl.data.texts import Texts, array

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
SURE = 200
"""Values that the way of writing is judged by, at first."""
MOSTLY = 0.6
"""Share of those that must be numbers before all values are tried."""


class Numbers(NamedTuple):
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
        bare = pc.if_else(plain, pc.ascii_ltrim(texts, "+"), pa.scalar(None, texts.type))
        values = pc.cast(bare, pa.float64())
    found = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(found).any():
        said = pc.match_substring(texts, "inf", ignore_case=True).fill_null(False).to_numpy(zero_copy_only=False)
        found[np.isinf(found) & ~said] = np.nan
    return found


def read_numbers(texts: Sequence[str], decimal: str = ".") -> Numbers | None:
    """The numbers that these distinct texts are; None when hardly any is one.

    Args:
        texts: stripped, none missing.
        decimal: what the rest of the file has for a decimal sign, for a text such as `1,234` that leaves it open.
    """
    sample = texts[:: max(1, len(texts) // SURE)]
    share = sum(NUMBER.fullmatch(text) is not None for text in sample) / len(sample)
    if share < MOSTLY and np.isnan(floats_of(array(sample))).any():
        return None
    plain = floats_of(array(texts))
    if not np.isnan(plain).any() and not (decimal == "," and _grouped_all(texts, ".")):
        return Numbers(plain, ".", "", "")
    if share < MOSTLY:
        return None
    found = [NUMBER.fullmatch(text) for text in texts]
    affixes = Counter((m["prefix"] or m["suffix"] or "").strip() for m in found if m)
    named = sorted({affix if len(affix) == 1 else affix.casefold() for affix in affixes if affix})
    if len(named) > 1:
        return None  # several units or currencies are not one quantity
    decimal, thousands = _separators([match["digits"] for match in found if match], decimal)
    values = np.array([_value(match, decimal, thousands) if match else math.nan for match in found], dtype=float)
    endless = np.isinf(plain)
    values[endless] = plain[endless]
    return Numbers(values, decimal, thousands, next((affix for affix in affixes if affix), ""))


def decimal_sign(samples: pa.ChunkedArray) -> str:
    """The decimal sign of a file: the comma, where some numbers must have one and none has a point."""
    if not (comma := _fractions(samples, ",")):
        return "."
    return "," if comma > 10 * _fractions(samples, ".") else "."


def _fractions(samples: pa.ChunkedArray, mark: str) -> int:
    return sum(_has_fraction(text, mark) for text in samples.filter(pc.match_substring(samples, mark)).to_pylist())


def _has_fraction(text: str, mark: str) -> bool:
    """Whether a text is a number in which the last mark must be this one, and the sign before a fraction."""
    match = NUMBER.fullmatch(text.strip())
    whole, found, rest = match["digits"].rpartition(mark) if match else ("", "", "")
    if not found or mark in whole or "." in rest or "," in rest:
        return False
    return len(rest) != 3 or len(whole) > 3 or whole.startswith("0")


def _grouped_all(texts: Sequence[str], mark: str) -> bool:
    grouped = [text for text in texts if GROUPED[mark].fullmatch(text.lstrip("-+"))]
    return bool(grouped) and len(grouped) == sum(mark in text for text in texts)


def _separators(digits: Sequence[str], decimal: str) -> tuple[str, str]:
    """(decimal sign, thousands separator) under which the most texts are numbers."""
    with_mark = [text for text in digits if re.search(r"[.,' \u00a0\u202f]", text)]
    if not with_mark:
        return decimal, ""
    other = "," if decimal == "." else "."
    choices = [(one, group) for one in (decimal, other) for group in ("", *(m for m in GROUPED if m != one))]
    marks = Counter(mark for text in with_mark for mark in set(text) if mark in GROUPED)

    def fits(choice: tuple[str, str]) -> tuple[int, int, int]:
        good = sum(not math.isnan(_digits(text, *choice)) for text in with_mark)
        used = choice[1] == "" or marks[choice[1]] > 0
        # Groups of three digits are groups, unless the file says otherwise.
        natural = bool(choice[1]) and used and all(GROUPED[choice[1]].match(t) for t in with_mark if choice[1] in t)
        return good, natural if choice[0] == decimal else 0, used

    return max(choices, key=fits)


def _digits(text: str, decimal: str, thousands: str) -> float:
    whole, mark, fraction = text.rpartition(decimal)
    if not mark:
        whole, fraction = text, ""
    if thousands and thousands in whole:
        if not GROUPED[thousands].fullmatch(whole):
            return math.nan
        whole = whole.replace(thousands, "")
    if (whole and not whole.isdecimal()) or (fraction and not fraction.isdecimal()):
        return math.nan
    return float(f"{whole or 0}.{fraction or 0}")


def _value(match: re.Match[str], decimal: str, thousands: str) -> float:
    if bool(match["open"]) != bool(match["close"]):
        return math.nan
    value = _digits(match["digits"].strip(), decimal, thousands)
    if match["exponent"]:
        written = f"{value!r}{match['exponent']}"
        value = float(written) if written.count("e") + written.count("E") == 1 and not math.isnan(value) else math.nan
    signs = {match["sign"], match["sign2"], match["minus"]}
    return -value if match["open"] or signs & {"-", "−"} else value
