"""The kind of a column, by its values, and by its name only where values leave it open."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import Kind

ID_NAMED = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|key|nr|no|number|index|idx|row|rownames?|rowid|pk|instant)$|(?<=[a-z])(Id|ID|Key|Nr|No)$|"
    r"^(id|uuid|guid|index|key|instant)[_\W]|^[a-z]+id$|^(unnamed.*|column_1|)$",
    re.IGNORECASE,
)
FEWEST, SAMPLE = 10, 2000  # rows below which different values in each make no identifier; rows that are looked at
TITLES = 20  # different titles of a few words from which they are text


def kind_of(column: pd.Series[Any], name: str, distinct: int | None = None) -> Kind:
    """The kind of a column of typed values; `distinct`: how many different ones it has, where that is known."""
    present, types = column.dropna(), pd.api.types
    distinct = present.nunique() if distinct is None else distinct
    if distinct == 0 or (distinct == 1 and len(present) == len(column)):
        return "constant"
    if types.is_bool_dtype(present.dtype):
        return "boolean"
    if types.is_datetime64_any_dtype(present.dtype):
        return "datetime"
    if types.is_numeric_dtype(present.dtype):
        values = present.to_numpy(float)
        different = distinct == len(present) >= FEWEST and bool((values == np.floor(values)).all())
        return "identifier" if different and is_id_name(name) else "number"
    return _kind_of_words(present, distinct, name)


def is_id_name(name: str) -> bool:
    """Whether a column of this name holds keys."""
    return bool(ID_NAMED.search(name))


def _kind_of_words(present: pd.Series[Any], distinct: int, name: str) -> Kind:
    texts = [str(one) for one in present.iloc[:: max(1, len(present) // SAMPLE)]]
    if {text.casefold() for text in texts} <= BOOLEAN and distinct <= 2:
        return "boolean"
    words = float(np.mean([text.count(" ") + 1 for text in texts]))
    length = float(np.mean([len(text) for text in texts]))
    share = distinct / len(present)
    if share > 0.95 and len(present) >= FEWEST and words < 1.5 and (is_id_name(name) or share == 1):
        digits = sum(any(sign.isdigit() for sign in text) for text in texts) / len(texts)
        if is_id_name(name) or digits > 0.9:
            return "identifier"
    # Sentences and titles differ from row to row; names of categories may be long, but come again.
    sentences = (words >= 3 and length >= 15 and share > 0.5) or (words >= 6 and length > 40 and share > 0.2)
    lists = sum(text.lstrip()[:1] + text.rstrip()[-1:] == "[]" for text in texts) > 0.9 * len(texts)
    many = share > 0.5 or (words >= 3 and share > 0.2 and distinct >= 10 * TITLES)
    titles = (share > 0.9 and distinct >= FEWEST) or (many and distinct >= TITLES)
    return "text" if lists or sentences or (words >= 2 and titles) else "category"


YES_AND_NO = (
    ("1", "0"), ("true", "false"), ("t", "f"), ("yes", "no"), ("y", "n"), ("on", "off"), ("ja", "nein"),
    ("oui", "non"), ("si", "no"), ("sí", "no"), ("wahr", "falsch"), ("vrai", "faux"),
)  # fmt: skip
"""Each in one language or manner."""
TRUE = frozenset(yes for yes, _ in YES_AND_NO)
FALSE = frozenset(no for _, no in YES_AND_NO)
BOOLEAN = TRUE | FALSE
