"""Features that are computed from other values of the same row: a closed vocabulary, and its terms as Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from palmette.automl.artefacts import Derived


class Operation(NamedTuple):
    """How many values it takes, of which kinds, and how it is written."""

    least: int
    most: int
    term: str
    """Of numpy, where `{0}` and `{1}` are the numbers, and `{joined}` all of them; missing where one of them is."""
    sign: str = ", "
    """Between the numbers, in `joined`."""
    kinds: frozenset[str] = frozenset({"numeric", "boolean"})
    """Of its columns."""


OPERATIONS: Mapping[str, Operation] = {
    "sum": Operation(2, 4, "{joined}", " + "),
    "difference": Operation(2, 2, "{0} - {1}"),
    "product": Operation(2, 3, "{joined}", " * "),
    "ratio": Operation(2, 2, "{0} / np.where({1} == 0, np.nan, {1})"),
    "mean": Operation(2, 4, "np.mean([{joined}], axis=0)"),
    "least": Operation(2, 4, "np.min([{joined}], axis=0)"),
    "greatest": Operation(2, 4, "np.max([{joined}], axis=0)"),
    "square": Operation(1, 1, "{0} ** 2"),
    "log": Operation(1, 1, "np.sign({0}) * np.log1p(np.abs({0}))"),
    "elapsed": Operation(2, 2, "_days({1}) - _days({0})", kinds=frozenset({"datetime"})),
    "missing": Operation(1, 4, 'np.isnan([{joined}]).sum(axis=0).astype("float64")'),
}


def term(derived: Derived, names: Mapping[str, str]) -> str:
    """The feature in Python, from those in the dictionary `made`, or from instants in the frame `rows`.

    Args:
        derived: The feature.
        names: By column, what its feature is called.

    >>> ratio = Derived(name="rooms_each", operation="ratio", columns=("rooms", "people"), reason="Room for each.")
    >>> term(ratio, {"rooms": "rooms", "people": "people"})
    'made["rooms"] / np.where(made["people"] == 0, np.nan, made["people"])'
    >>> stay = Derived(name="stay", operation="elapsed", columns=("from", "until"), reason="How long they stay.")
    >>> term(stay, {"from": "from", "until": "until"})
    '_days(rows["until"]) - _days(rows["from"])'
    """
    from palmette.automl.modalities.tabular.source import literal

    operation = OPERATIONS[derived.operation]
    of_rows = "datetime" in operation.kinds
    numbers = [f"rows[{literal(one)}]" if of_rows else f"made[{literal(names[one])}]" for one in derived.columns]
    return operation.term.format(*numbers, joined=operation.sign.join(numbers))


def objections(derived: Iterable[Derived], kinds: Mapping[str, str], taken: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names of features that cannot be, each with why.

    Args:
        derived: The features.
        kinds: Of the columns that are used, by name.
        taken: What other features are called.
    """
    names = set(taken)
    for one in derived:
        operation = OPERATIONS[one.operation]
        unknown = [column for column in one.columns if kinds.get(column) not in operation.kinds]
        if not one.name.isidentifier() or not one.name.isascii() or one.name.startswith("_") or "__" in one.name:
            yield one.name, f"{one.name!r} is no name for a feature: letters, digits and single underscores are"
        elif one.name in names:
            yield one.name, f"the name {one.name!r} is taken"
        elif unknown:
            what = "instants" if "datetime" in operation.kinds else "numbers"
            yield one.name, f"{unknown[0]!r} is no column of {what} that is used"
        elif not operation.least <= len(one.columns) <= operation.most or len(set(one.columns)) < len(one.columns):
            yield one.name, f"{one.operation} takes {operation.least} to {operation.most} different columns"
        names.add(one.name)
