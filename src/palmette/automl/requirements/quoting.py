"""Quotations of a request, and what a model is shown of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel

from palmette.automl.requirements.model import DataSummary, Requirements

WORDS = ("words", "description")
"""Fields that hold a quotation."""


def quoted(words: str, text: str) -> bool:
    """Whether words stand in a text; blanks, typography and cases aside."""
    return _plain(words) in _plain(text)


def quotations(made: Requirements) -> Iterator[tuple[str, str]]:
    """Everything that claims to be a quotation, with the field that it is in."""
    yield from made.evidence.items()
    for name in ("user", "problem", "dataset", "model", "knowledge", "service"):
        yield from _quotations(getattr(made, name), name)


def shown_columns(dataset: DataSummary | None) -> list[str]:
    """A line for each column: its kind, how many values it has, and some of them."""
    return [
        f"{one.name}: {one.kind}, {'?' if one.distinct is None else one.distinct} values, e.g. "
        + ", ".join(repr(value[:40]) for value in one.examples[:4])
        for one in (dataset.columns if dataset else ())
    ]


def _quotations(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if name in WORDS and inner:
                yield f"{path}.{name}", inner
            elif not isinstance(inner, str):
                yield from _quotations(inner, f"{path}.{name}")
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from _quotations(one, f"{path}[{number}]")


def _plain(text: str) -> str:
    marks = str.maketrans("‘’“”–—", "''\"\"--")
    return re.sub(r"\s+", " ", text.translate(marks)).strip().casefold()
