"""What a column is to a model: told from its values, and from its name only where values leave it open."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Kind

ID_NAMED = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|key|nr|no|number|index|idx|row|rownames?|rowid|pk|instant)$|(?<=[a-z])(Id|ID|Key|Nr|No)$|"
    r"^(id|uuid|guid|index|key|instant)[_\W]|^[a-z]+id$|^(unnamed.*|column_1|)$",
    re.IGNORECASE,
)
LISTED = re.compile(r"\s*\[.*\]\s*", re.DOTALL)
FEWEST = 10
"""Rows below which nothing is called an identifier for being different in each."""
SAMPLE = 2000


class Seen(NamedTuple):
    """What the kind is told from."""

    kind: Kind
    distinct: Any
    """The different values, missing aside, in the order of the column."""
    present: int
    """Rows that have a value."""


def kind_of(series: pd.Series[Any], name: str) -> Seen:
    """The kind of a column, and its different values."""
    present = series.dropna()
    distinct = present.unique()
    return Seen(_kind(present, len(distinct), len(series), name), distinct, len(present))


def _kind(present: pd.Series[Any], distinct: int, rows: int, name: str) -> Kind:
    if distinct == 0 or (distinct == 1 and len(present) == rows):
        return "constant"
    if pd.api.types.is_bool_dtype(present.dtype):
        return "boolean"
    if pd.api.types.is_datetime64_any_dtype(present.dtype):
        return "datetime"
    if pd.api.types.is_numeric_dtype(present.dtype):
        return _kind_of_numbers(present, distinct, name)
    return _kind_of_words(present, distinct, name)


def is_id_name(name: str) -> bool:
    """Whether a column of this name holds keys."""
    return bool(ID_NAMED.search(name))


def _kind_of_numbers(present: pd.Series[Any], distinct: int, name: str) -> Kind:
    values = present.to_numpy(float)
    different = distinct == len(present) >= FEWEST and bool((values == np.floor(values)).all())
    return "identifier" if different and is_id_name(name) else "numeric"


def _kind_of_words(present: pd.Series[Any], distinct: int, name: str) -> Kind:
    texts = [str(one) for one in present.iloc[:: max(1, len(present) // SAMPLE)]]
    if sum(bool(LISTED.fullmatch(text)) for text in texts) > 0.9 * len(texts):
        return "list"
    if {text.casefold() for text in texts} <= BOOLEAN and distinct <= 2:
        return "boolean"
    words = float(np.mean([text.count(" ") + 1 for text in texts]))
    length = float(np.mean([len(text) for text in texts]))
    share = distinct / len(present)
    if share > 0.95 and len(present) >= FEWEST and words < 1.5 and (is_id_name(name) or share == 1):
        digits = sum(any(sign.isdigit() for sign in text) for text in texts) / len(texts)
        if is_id_name(name) or digits > 0.9:
            return "identifier"
    # Sentences differ from row to row; names of categories may be long, but come again.
    if (words >= 3 and length >= 15 and share > 0.5) or (words >= 6 and length > 40 and share > 0.2):
        return "text"
    if share > 0.9 and words >= 2 and len(present) >= FEWEST:
        return "text"
    return "categorical"


YES_AND_NO = (
    ("1", "0"), ("true", "false"), ("t", "f"), ("yes", "no"), ("y", "n"), ("on", "off"), ("ja", "nein"),
    ("oui", "non"), ("si", "no"), ("sí", "no"), ("wahr", "falsch"), ("vrai", "faux"),
)  # fmt: skip
"""Each in one language or manner."""
TRUE = frozenset(yes for yes, _ in YES_AND_NO)
FALSE = frozenset(no for _, no in YES_AND_NO)
BOOLEAN = TRUE | FALSE
