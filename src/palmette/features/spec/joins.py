"""Joins: keys that exist and match, a cardinality that holds, and which state of the other table is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc_steps import Join
from palmette.features.spec.registry_lint import TIME_FIELDS
from palmette.features.spec.scope import Columns, Origins
from palmette.features.spec.type_rules import comparable

if TYPE_CHECKING:
    from palmette.features.spec.steps import StepWalk


def pairs(names: Mapping[str, str] | tuple[str, ...]) -> dict[str, str]:
    """A mapping or a list of names as a mapping.

    >>> pairs(("user_id",))
    {'user_id': 'user_id'}
    """
    return dict(names) if isinstance(names, Mapping) else {name: name for name in names}


def state_origins(table: Table, columns: Columns) -> Origins:
    """What decides which state of a table is taken: its times."""
    return columns.origins_of(name for part in TIME_FIELDS if (name := getattr(table, part)))


def apply_join(walk: StepWalk, join: Join, field: str) -> None:
    """Adds the columns of the other table to the walk; reports what is wrong with the join."""
    other = walk.scope.table(join.table, f"{field}.table")
    taken = pairs(join.columns)
    if other is None:
        walk.columns.broken.update(taken)
        return
    walk.tables.add(other.name)
    there = Columns.of_table(other)
    _kind(walk, join, other, field)
    keys = _keys(walk, join, there, field)
    if join.cardinality != "one_to_many":
        _uniqueness(walk, join, other, set(keys.values()), field)
    elif not set(other.keys) <= {*keys.values(), *taken.values()} or not other.keys_enforced:
        walk.order = None
    elif walk.order is not None:
        names = {column: name for name, column in [*keys.items(), *taken.items()]}
        walk.order = tuple(dict.fromkeys((*walk.order, *(names[key] for key in other.keys))))
    used = walk.columns.origins_of(keys) | there.origins_of(keys.values()) | state_origins(other, there)
    if join.at == "event" and other.kind != "dimension":
        used |= walk.columns.origins_of(walk.times)
    if join.unmatched == "drop" or join.cardinality == "one_to_many":
        walk.rows |= used
    for name, column in taken.items():
        path = f"{field}.columns" if not isinstance(join.columns, Mapping) else f"{field}.columns.{name}"
        kind = walk.scope.column(column, there, path)
        if name in walk.columns:
            walk.report(
                "name-collision",
                f"The rows already have a column {name!r}.",
                f"Write `columns: {{new_name: {column}}}`.",
                path,
                name,
            )
        elif kind is not None:
            walk.put(name, kind, there.origins_of([column]) | used, path)
            if column in there.values:
                walk.columns.values[name] = there.values[column]
        else:
            walk.columns.broken.add(name)


def _kind(walk: StepWalk, join: Join, other: Table, field: str) -> None:
    if other.kind == "event":
        walk.report(
            "join-of-events",
            f"{other.name!r} is an event table, and events cannot be joined.",
            "Aggregate them in a feature of their own, and derive from it.",
            f"{field}.table",
            other.name,
        )
    elif other.kind != "dimension" and join.at == "event" and walk.table.kind != "event":
        walk.report(
            "no-event-time",
            f"{walk.table.name!r} has no event time at which the state of {other.name!r} could be looked up.",
            "Write `at: cutoff`.",
            f"{field}.at",
            join.at,
        )


def _keys(walk: StepWalk, join: Join, there: Columns, field: str) -> dict[str, str]:
    keys = pairs(join.on)
    for here_name, there_name in keys.items():
        path = f"{field}.on.{here_name}" if isinstance(join.on, Mapping) else f"{field}.on"
        here = walk.scope.column(here_name, walk.columns, path)
        other = walk.scope.column(there_name, there, path)
        if here and other and not comparable(here, other):
            walk.report(
                "key-type-differs",
                f"{here_name!r} is {here} and {join.table}.{there_name} is {other}.",
                "Convert one of them first, or join on another column.",
                path,
                here_name,
            )
    if not keys:
        walk.report("empty-value", "'on' must not be empty.", "Name the key columns.", f"{field}.on")
    return keys


def _uniqueness(walk: StepWalk, join: Join, other: Table, on: set[str], field: str) -> None:
    missing = [key for key in other.keys if key not in on]
    if missing:
        walk.report(
            "join-not-on-keys",
            f"The join is {join.cardinality}, but `on` leaves out {', '.join(map(repr, missing))} "
            f"of the keys of {other.name!r}: rows could be repeated.",
            "Join on all its keys, or write `cardinality: one_to_many`.",
            f"{field}.on",
            join.table,
        )
    elif not other.keys_enforced:
        walk.report(
            "keys-not-enforced",
            f"The keys of {other.name!r} may repeat (`keys_enforced: false`), so a join that is "
            f"{join.cardinality} could repeat rows.",
            "Join a table with enforced keys, or write `cardinality: one_to_many`.",
            f"{field}.table",
            join.table,
        )
    own = walk.table.keys
    if join.cardinality == "one_to_one" and not set(own) <= set(pairs(join.on)):
        walk.report(
            "join-not-one-to-one",
            f"Several rows of {walk.table.name!r} may have the same {', '.join(map(repr, pairs(join.on)))}.",
            "Write `cardinality: many_to_one`.",
            f"{field}.cardinality",
            join.cardinality,
        )
