"""Whether the first row of a text names its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?%?", re.IGNORECASE)
YEAR = re.compile(r"(19|20)\d\d")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Names are words, different from each other and from what stands below them."""
    if not body:
        return not any(_is_value(cell) for cell in first)
    numbers = [index for index, cell in enumerate(first) if _is_value(cell)]
    if numbers:
        years = all(YEAR.fullmatch(first[index].strip()) for index in numbers)
        return years and len(set(first)) == len(first)
    sample = body[:: sampled(len(body))]
    if any(_mostly_values([row[index] for row in sample if index < len(row)]) for index in range(len(first))):
        return True
    seen = [set() if not cell.strip() else {row[i] for row in sample if i < len(row)} for i, cell in enumerate(first)]
    known = sum(cell in below for cell, below in zip(first, seen, strict=True))
    return known * 2 < len(first) or len(sample) < 3


def sampled(count: int) -> int:
    """Every how many of so many rows are looked at; of those, all are looked at."""
    return max(1, count // 2000)


def _is_value(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell.strip()) or DATE.fullmatch(cell.strip()))


def _mostly_values(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and sum(map(_is_value, filled)) > 0.5 * len(filled)
