"""One-hot features: for each category, a valid name and an aggregate over its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from palmette.features.spec.fsc import Aggregate, Categories
from palmette.features.spec.literals import sql_literal


class CategoryFeature(NamedTuple):
    """One of the features that an aggregate with `categories` expands to."""

    name: str
    aggregate: Aggregate
    """The aggregate, without `categories`."""
    label: str


def spread(name: str, aggregate: Aggregate, categories: Categories) -> Iterator[CategoryFeature]:
    """Yields the features `<name>_<value>` in the order of the values, then `<name>_other`.

    `<name>_other` covers all other values and null, so the counts of all categories add up to the total count.
    """
    for value in categories.values:
        condition = f"{quoted(categories.of)} = {sql_literal(value)}"
        exact = f"{quoted(categories.of)} <=> {sql_literal(value)}"
        yield CategoryFeature(f"{name}_{suffix(value)}", _only(aggregate, condition, exact), str(value))
    if categories.other:
        values = ", ".join(sql_literal(value) for value in categories.values)
        condition = f"{quoted(categories.of)} IS NULL OR {quoted(categories.of)} NOT IN ({values})"
        yield CategoryFeature(f"{name}_other", _only(aggregate, condition, condition), "other")


def suffix(value: str | int | bool) -> str:
    """Converts a category value to a column name suffix.

    >>> suffix("Food & Drink"), suffix(-3), suffix(True)
    ('food_drink', 'minus_3', 'true')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return f"minus_{-value}"
    return re.sub(r"[^a-z0-9]+", "_", str(value).lower()).strip("_") or "blank"


def quoted(name: str) -> str:
    """Quotes a column name for use in an expression."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name}`"


def _only(aggregate: Aggregate, condition: str, exact: str) -> Aggregate:
    """Restricts the aggregate to one category; a `share` becomes the category's share of all rows."""
    if aggregate.function == "share":
        return aggregate.model_copy(update={"of": exact, "categories": None})
    where = condition if aggregate.where is None else f"({aggregate.where}) AND ({condition})"
    return aggregate.model_copy(update={"where": where, "categories": None})
