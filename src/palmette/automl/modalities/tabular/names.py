"""Names that are safe in Python and in the libraries of models."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable

_TAKEN = frozenset({"copy", "json", "dict", "schema", "construct", "validate", "fields", "self", "register"})
"""What a pydantic model has already."""


def plain(name: str) -> str:
    """A column's name without what some library of models refuses: spaces and punctuation.

    >>> plain("Age"), plain("sepal length (cm)"), plain("[]")
    ('Age', 'sepal_length_cm', 'column')
    """
    return re.sub(r"\W+", "_", unicodedata.normalize("NFKC", name)).strip("_") or "column"


def identifier(name: str) -> str:
    """A Python name for a column.

    >>> identifier("sepalLength (cm)"), identifier("2nd Flr"), identifier("class"), identifier("价格")
    ('sepal_length_cm', 'c_2nd_flr', 'class_', '价格')
    """
    made = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain(name)).lower()
    if not made.isidentifier() or made.startswith("model_"):
        made = f"c_{made}"
    return f"{made}_" if keyword.iskeyword(made) or made in _TAKEN else made


def distinct(names: Iterable[str], make: Callable[[str], str]) -> dict[str, str]:
    """What `make` makes of each name, all different.

    >>> distinct(["a b", "a-b", "c"], plain)
    {'a b': 'a_b', 'a-b': 'a_b_2', 'c': 'c'}
    """
    found: dict[str, str] = {}
    for name in names:
        made, number = make(name), 2
        while made in found.values():
            made, number = f"{make(name)}_{number}", number + 1
        found[name] = made
    return found
