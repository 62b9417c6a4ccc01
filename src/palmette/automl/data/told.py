"""What is told of values that could have been meant otherwise, or that lose something when they are read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from palmette.automl.data.artefacts import Repair
from palmette.automl.data.dates import Dates
from palmette.automl.data.numbers import GROUPED

PADDED = re.compile(r"\s*[-+]?0\d+\s*")
ZONE = re.compile(r"(Z|UTC|[-+]\d{2}:?\d{2})$")


def told_numbers(texts: Sequence[str], name: str) -> list[Repair]:
    """Of numbers as programs write them: zeros in front that are lost, and points that may divide thousands."""
    found = []
    if padded := list(dict.fromkeys(text.strip() for text in texts if PADDED.fullmatch(text))):
        shown = ", ".join(map(repr, padded[:2]))
        said = f"Numbers in {name!r} have zeros in front ({shown}) and were read without them: as {int(padded[0])}."
        found.append(Repair(code="leading-zeros", subject=name, count=len(padded), text=said))
    bare = [text.strip().lstrip("+-") for text in texts]
    pointed = [text for text in bare if "." in text]
    whole = [text for text in bare if text.isdecimal()]
    grouped = pointed and all(GROUPED["."].fullmatch(text) and text[0] != "0" for text in pointed)
    if grouped and whole and max(map(len, whole)) <= 3:
        said = f"The point in {pointed[0]!r} and others of {name!r} could divide thousands; it was read as decimal."
        found.append(Repair(code="ambiguous-numbers", subject=name, count=len(pointed), text=said, changed=False))
    return found


def told_dates(texts: Sequence[str], dates: Dates, name: str) -> list[Repair]:
    """Of dates: which years those of two digits became, and that some have a zone and others none."""
    found = []
    known = dates.values[~np.isnat(dates.values)].astype("datetime64[Y]").astype(str)
    if any("%y" in form for form in dates.formats) and len(known):
        said = f"Years of two digits in {name!r} were read as {min(known)} to {max(known)}."
        found.append(Repair(code="short-years", subject=name, count=len(texts), text=said, changed=False))
    timed = [text for text in texts if ":" in text]
    bare = sum(not ZONE.search(text) for text in timed)
    if 0 < bare < len(timed):
        said = f"Some times of {name!r} have a zone and others none; those were read as UTC."
        found.append(Repair(code="no-zone", subject=name, count=bare, text=said, changed=False))
    return found


def seen_as(text: str) -> str:
    """The text as it is seen: in small letters, with characters in one form, and without those that do not show.

    >>> seen_as("Cafe\\u0301\\u200b") == seen_as("CAF\\u00c9")
    True
    """
    shown = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    return shown.casefold()
