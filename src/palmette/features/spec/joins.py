"""Checks joins: keys exist and have matching types, the cardinality holds, and the state to join is well defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc_steps import Join, Member, pairs
from palmette.features.spec.registry_lint import TIME_FIELDS
from palmette.features.spec.scope import ColumnSet, Origins
from palmette.features.spec.type_rules import BOOLEAN, comparable

if TYPE_CHECKING:
    from palmette.features.spec.steps import StepWalk


def state_origins(table: Table, columns: ColumnSet) -> Origins:
    """The time columns that decide which state of a table is read."""
    return columns.origins_of(name for part in TIME_FIELDS if (name := getattr(table, part)))


def apply_join(walk: StepWalk, join: Join, field: str) -> None:
    """Adds the joined columns to the walk; reports errors in the join."""
    other = walk.scope.table(join.table, f"{field}.table")
    taken = pairs(join.columns)
    if other is None:
        walk.columns.broken.update(taken)
        return
    walk.tables.add(other.name)
    there = ColumnSet.of_table(other)
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
            walk.report("name-collision/join", path, name, column=column)
        elif kind is not None:
            walk.put(name, kind, there.origins_of([column]) | used, path)
            if column in there.values:
                walk.columns.values[name] = there.values[column]
        else:
            walk.columns.broken.add(name)


def _kind(walk: StepWalk, join: Join, other: Table, field: str) -> None:
    if other.kind == "event":
        walk.report("join-of-events", f"{field}.table", other.name)
    elif other.kind != "dimension" and join.at == "event" and walk.table.kind != "event":
        walk.report("no-event-time", f"{field}.at", join.at, table=walk.table.name, other=other.name)


def apply_member(walk: StepWalk, member: Member, field: str) -> None:
    """Adds whether another table has a row with the same values; reports errors."""
    other = walk.scope.table(member.table, f"{field}.table")
    if other is None:
        walk.columns.broken.add(member.column)
        return
    walk.tables.add(other.name)
    there = ColumnSet.of_table(other)
    if other.kind in ("snapshot", "scd2"):
        walk.report("member-of-states", f"{field}.table", other.name, table_kind=other.kind)
    if other.event_time is not None and member.at == "event" and walk.table.kind != "event":
        walk.report("no-event-time", f"{field}.at", member.at, table=walk.table.name, other=other.name)
    keys = _keys(walk, member, there, field)
    used = walk.columns.origins_of(keys) | there.origins_of(keys.values()) | state_origins(other, there)
    if member.where is not None:
        checked = walk.scope.expression(member.where, there, f"{field}.where", wanted="boolean")
        used |= there.origins_of(checked.columns)
    if member.at == "event":
        used |= walk.columns.origins_of(walk.times)
    walk.put(member.column, BOOLEAN, used, f"{field}.column")


def _keys(walk: StepWalk, join: Join | Member, there: ColumnSet, field: str) -> dict[str, str]:
    keys = pairs(join.on)
    for here_name, there_name in keys.items():
        path = f"{field}.on.{here_name}" if isinstance(join.on, Mapping) else f"{field}.on"
        here = walk.scope.column(here_name, walk.columns, path)
        other = walk.scope.column(there_name, there, path)
        if here and other and not comparable(here, other):
            facts = {"here": here, "table": join.table, "column": there_name, "there": other}
            walk.report("key-type-differs/join", path, here_name, **facts)
    if not keys:
        walk.report("empty-value/on", f"{field}.on")
    return keys


def _uniqueness(walk: StepWalk, join: Join, other: Table, on: set[str], field: str) -> None:
    missing = [key for key in other.keys if key not in on]
    facts: dict[str, object] = {"cardinality": join.cardinality, "other": other.name}
    if missing:
        walk.report("join-not-on-keys", f"{field}.on", join.table, missing=missing, **facts)
    elif not other.keys_enforced:
        walk.report("keys-not-enforced/join", f"{field}.table", join.table, **facts)
    own = walk.table.keys
    if join.cardinality == "one_to_one" and not set(own) <= set(pairs(join.on)):
        facts = {"table": walk.table.name, "on": list(pairs(join.on))}
        walk.report("join-not-one-to-one", f"{field}.cardinality", join.cardinality, **facts)
