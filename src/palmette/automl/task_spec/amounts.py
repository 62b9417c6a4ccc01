"""Parses numbers with units from flags, files and sentences."""

import re
from typing import Literal, NamedTuple

Unit = Literal["", "percent", "seconds", "bytes"]

NAMES: dict[str, float] = {
    "a": 1, "an": 1, "half a": 0.5, "half an": 0.5, "a quarter of an": 0.25, "one": 1, "two": 2, "three": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "a dozen": 12, "fifteen": 15,
    "twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90,
}  # fmt: skip
_TIMES = {
    "us|µs|microseconds?": 1e-6, "ms|msecs?|milliseconds?": 1e-3, "s|secs?|seconds?": 1, "mins?|minutes?": 60,
    "h|hrs?|hours?": 3600, "days?": 86400,
}  # fmt: skip
_SIZES = {
    "bytes?": 1, "kb|kilobytes?": 1e3, "mb|megabytes?": 1e6, "gb|gigabytes?": 1e9, "kib": 2**10, "mib": 2**20,
    "gib": 2**30,
}  # fmt: skip
_UNITS: dict[Unit, dict[str, float]] = {"seconds": _TIMES, "bytes": _SIZES, "percent": {"%|per ?cent": 1}}
_MAGNITUDES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}

DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|0,\d+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)"
"""A comma is a decimal point in `0,9`; elsewhere it must separate thousands."""
_WORDS = "|".join(sorted(NAMES, key=len, reverse=True))
_NAMED = {unit: "|".join(names) for unit, names in _UNITS.items()}
_MAGNITUDE = rf"(?: ?(?:{'|'.join(_MAGNITUDES)})\b)"
_START = r"(?<![\w.,-])"


def amount_pattern(*units: Unit) -> str:
    """Returns a regular expression for a number with one of the units; '' allows a number without unit."""
    named = "|".join(_NAMED[unit] for unit in units if unit)
    parts = [rf"(?:{DIGITS}|(?:{_WORDS})(?= )){_MAGNITUDE}? ?(?:{named})(?!\w)"] if named else []
    if "" in units:
        parts.append(rf"(?:{DIGITS}{_MAGNITUDE}?|(?:{_WORDS}){_MAGNITUDE})(?![\w%]|[.,]\d| ?%| per ?cent\b)")
    return rf"{_START}(?:{'|'.join(parts)})"


class Amount(NamedTuple):
    """A number in its base unit: seconds, bytes, percent or none."""

    value: float
    unit: Unit


_AMOUNT = re.compile(
    rf"\s*(?P<number>{DIGITS}|{_WORDS})\s*(?P<magnitude>(?:{'|'.join(_MAGNITUDES)})\b)?\s*"
    r"(?P<unit>[a-zµ%][a-zµ% ]*)?\s*",
    re.I,
)


def parse_amount(text: str) -> Amount | None:
    """Parses a number with an optional unit; returns None for other texts.

    >>> parse_amount("20 ms"), parse_amount("5min"), parse_amount("95 %"), parse_amount("1.5 million")
    (Amount(value=0.02, unit='seconds'), Amount(value=300.0, unit='seconds'), Amount(value=95.0, unit='percent'), \
    Amount(value=1500000.0, unit=''))
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    value = number_of(found["number"]) * _MAGNITUDES.get((found["magnitude"] or "").casefold(), 1.0)
    named = (found["unit"] or "").strip().casefold()
    if not named:
        return Amount(value, "")
    for unit, names in _UNITS.items():
        for pattern, factor in names.items():
            if re.fullmatch(pattern, named):
                return Amount(float(f"{value * factor:.12g}"), unit)
    return None


def number_of(text: str) -> float:
    """Parses a number written in digits or as a word."""
    plain = text.casefold()
    if plain in NAMES:
        return NAMES[plain]
    return float(plain.replace(",", ".", 1) if plain.startswith("0,") else plain.replace(",", ""))
