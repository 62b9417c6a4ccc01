"""Warnings about values that could have been meant otherwise, or that lose something when they are read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette.automl.samples.dates import Dates
from palmette.automl.samples.numbers import GROUPED
from palmette.automl.samples.repairs import Repairs

ZERO_PADDED = re.compile(r"\s*[-+]?0\d+\s*")
ZONE = re.compile(r"(Z|UTC|[-+]\d{2}:?\d{2})$")


def warn_of_numbers(texts: Sequence[str], name: str, repairs: Repairs) -> None:
    """Leading zeros that are lost, and points that may divide thousands."""
    if padded := list(dict.fromkeys(text.strip() for text in texts if ZERO_PADDED.fullmatch(text))):
        shown = ", ".join(map(repr, padded[:2]))
        repairs.add("leading-zeros", name, len(padded), shown=shown, number=int(padded[0]))
    bare = [text.strip().lstrip("+-") for text in texts]
    pointed = [text for text in bare if "." in text]
    whole = [text for text in bare if text.isdecimal()]
    grouped = pointed and all(GROUPED["."].fullmatch(text) and text[0] != "0" for text in pointed)
    if grouped and whole and max(map(len, whole)) <= 3:
        repairs.add("ambiguous-numbers", name, len(pointed), shown=pointed[0])


def warn_of_nines(values: npt.NDArray[np.float64], name: str, repairs: Repairs) -> None:
    """Extreme numbers of nines that come again, far from all others: they probably mean "missing"."""
    for end in (values.min(), values.max()) if len(values) >= 20 else ():
        if f"{abs(end):.0f}".strip("9") == "" and abs(end) >= 99 and end == int(end):
            rest = values[values != end]
            count = len(values) - len(rest)
            wide = max(float(np.ptp(rest)), 1.0) if len(rest) else 1.0
            gap = float(np.abs(rest - end).min()) if len(rest) else 0.0
            if count >= max(2, 0.002 * len(values)) and gap > 2 * wide:
                repairs.add("sentinel", name, count, value=end)


def warn_of_dates(texts: Sequence[str], dates: Dates, name: str, repairs: Repairs) -> None:
    """Days and months that could be the other way round, years of two digits, and zones that only some times have."""
    repairs.add("ambiguous-dates", name, len(texts) * dates.ambiguous, format=dates.formats[0])
    known = dates.values[~np.isnat(dates.values)].astype("datetime64[Y]")
    if any("%y" in form for form in dates.formats) and len(known):
        repairs.add("short-years", name, len(texts), first=known.min(), last=known.max())
    timed = [text for text in texts if ":" in text]
    bare = sum(not ZONE.search(text) for text in timed)
    repairs.add("no-zone", name, bare if bare < len(timed) else 0)


def warn_of_words(texts: Sequence[str], name: str, repairs: Repairs) -> None:
    """Words that differ only in capitals, or in characters that look alike or are invisible."""
    folded, shown = ({one(text) for text in texts} for one in (str.casefold, shown_as))
    how = "in characters that look alike or are invisible" if len(shown) < len(folded) else "in capitals"
    repairs.add("capitals", name, len({*texts}) - len(shown), how=how)


def shown_as(text: str) -> str:
    """The text as a person sees it: in small letters, with characters in one form, without invisible ones.

    >>> shown_as("Cafe\\u0301\\u200b") == shown_as("CAF\\u00c9")
    True
    """
    visible = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    return visible.casefold()
