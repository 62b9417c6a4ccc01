"""Symbolic data frames: rows of a registered table, and features by key."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from sqlglot import exp

from palmette.features.adoption import trees
from palmette.features.adoption.aggregates import is_newest, sequence_step
from palmette.features.adoption.trees import NotReadError, Tree
from palmette.features.pyspark.scope import free_name
from palmette.features.spec import AS_OF, Table


@dataclass(frozen=True)
class Note:
    """Something in the script that the draft does not contain."""

    line: int
    text: str


@dataclass(frozen=True)
class Atom:
    """A value by key: an aggregate over rows, or a column looked up or kept, where `tree` is just that column."""

    rows: SymbolicRows
    keys: tuple[str, ...]
    tree: Tree
    is_kept: bool = False
    """Whether it is a column of the spine."""
    line: int = 0


@dataclass
class ScriptReading:
    """What reading a script collects."""

    notes: list[Note] = field(default_factory=list)
    atoms: dict[str, Atom] = field(default_factory=dict)
    line: int = 0
    """Line of the call that is being evaluated."""

    def note(self, text: str, line: int = 0) -> None:
        """Adds a note, unless there is one on the same feature."""
        if not any(one.text.split(":")[0] == text.split(":")[0] for one in self.notes):
            self.notes.append(Note(line or self.line, text))

    def add(self, name: str, atom: Atom) -> Tree:
        """The column that stands for a new atom."""
        name = free_name(name, self.atoms)
        self.atoms[name] = replace(atom, line=self.line)
        return exp.column(name)


@dataclass(frozen=True)
class SymbolicRows:
    """Rows of a table after steps."""

    table: Table
    columns: Mapping[str, Tree]
    """By visible name: what it stands for, over the columns of the specification's source."""
    steps: tuple[Mapping[str, Any], ...] = ()
    """Steps as in a specification."""
    window: timedelta | None = None
    bounded: frozenset[str] = frozenset()
    """Times that lie before the cut-off."""
    pruned: bool = False
    """Whether partitions are bounded from below."""
    unique: tuple[str, ...] = ()
    """Columns of which each combination occurs once."""
    are_cutoffs: bool = False
    """Whether these are just keys with their cut-offs."""


@dataclass(frozen=True)
class Keyed:
    """One row per key, or per row of the spine."""

    keys: tuple[str, ...]
    columns: Mapping[str, Tree]
    """Over names of atoms, keys and `as_of`."""
    base: tuple[SymbolicRows, ...] = ()
    """The rows whose keys these are."""
    spine: SymbolicRows | None = None
    missing: str = ""
    """Why further columns are not known."""
    present: frozenset[str] = frozenset()
    """Keys that are not null."""


Frame = SymbolicRows | Keyed


@dataclass(frozen=True)
class Grouped:
    rows: SymbolicRows
    keys: tuple[str, ...]


def table_rows(table: Table) -> SymbolicRows:
    return SymbolicRows(table, {column.name: exp.column(column.name) for column in table.columns})


def where(reading: ScriptReading, frame: Frame, condition: Tree) -> Frame:
    """The rows for which a condition is true; comparisons with the cut-off become visibility and windows."""
    for part in trees.conjuncts(condition):
        tree = trees.resolved(part, frame.columns, getattr(frame, "missing", ""))
        if isinstance(frame, Keyed):
            if isinstance(tree, exp.Not) and set(_names(tree)) <= set(frame.keys):
                frame = replace(frame, present=frame.present | set(_names(tree)))
            else:
                reading.note(f"only rows with {trees.text_of(part)} are kept; a specification keeps all keys")
            continue
        frame = (_newest if is_newest(tree, frame.table) else _kept)(reading, frame, tree)
    return frame


def _kept(reading: ScriptReading, rows: SymbolicRows, tree: Tree) -> SymbolicRows:
    tests = [test for test in trees.time_tests(tree) if test.column in rows.table.times]
    partitions = {one.column for one in rows.table.partitions if one.of}
    if tests:
        for test in tests:
            rows = _bounded(reading, rows, test)
        return rows
    if trees.is_open_state(tree, rows.table):
        return replace(rows, bounded=rows.bounded | {rows.table.valid_to or ""})
    if partitions & set(_names(tree)) and (trees.mentions(tree, AS_OF) or tree.find(exp.Placeholder)):
        lower = isinstance(tree.unnest(), exp.GT | exp.GTE | exp.Between)
        return replace(rows, pruned=rows.pruned or lower)
    if tree.find(exp.Window):
        raise NotReadError("a condition on a window function is not understood")
    return replace(rows, steps=(*rows.steps, {"filter": trees.text_of(tree)}))


def _bounded(reading: ScriptReading, rows: SymbolicRows, test: trees.TimeTest) -> SymbolicRows:
    table = rows.table
    if not test.is_half_open:
        edge = "the cut-off itself" if test.is_upper else "the start of the window itself"
        reading.note(f"{test.column} at {edge} is treated unlike a specification's half-open windows")
    if test.is_upper and not test.before:
        return replace(rows, bounded=rows.bounded | {test.column})
    if test.is_upper or test.column not in (table.event_time, table.valid_from):
        raise NotReadError(f"{test.column} is bounded in a way that no window of a specification is")
    window = test.before if rows.window is None else min(test.before, rows.window)
    return replace(rows, window=window)


def _names(tree: Tree) -> list[str]:
    return [node.name for node in tree.find_all(exp.Column)]


def _newest(reading: ScriptReading, rows: SymbolicRows, tree: Tree) -> Keyed:
    """The newest row of each key, from a condition on `row_number`."""
    window = cast(exp.Window, tree.find(exp.Window))
    by = tuple(one.name for one in window.args["partition_by"] if one.name != AS_OF)
    order = [one.this for one in window.args["order"].expressions]
    rank = order[0] if len(order) == 1 else trees.call("struct", *order)
    columns: dict[str, Tree] = {name: exp.column(name) for name in by}
    for name, one in rows.columns.items():
        if name not in columns and name != AS_OF and not one.find(exp.Window):
            columns[name] = reading.add(name, Atom(rows, by, trees.call("max_by", one.copy(), rank.copy())))
    return Keyed(by, columns, (rows,))


def with_columns(reading: ScriptReading, frame: Frame, added: Mapping[str, Tree]) -> Frame:
    before = frame
    for name, unresolved in added.items():
        try:
            tree = trees.resolved(unresolved, before.columns, getattr(frame, "missing", ""))
        except NotReadError as error:
            if isinstance(frame, SymbolicRows):
                raise
            reading.note(f"{name}: {error.reason}")
            frame = replace(frame, columns={one: tree for one, tree in frame.columns.items() if one != name})
            continue
        simple = isinstance(tree.unnest(), exp.Column | exp.Predicate | exp.Not | exp.Connector)
        step = None if isinstance(frame, Keyed) or simple else sequence_step(name, tree, frame.table)
        # A window function without a step is a part of something that a later column completes.
        if isinstance(frame, Keyed) or simple or (step is None and tree.find(exp.Window)):
            frame = replace(frame, columns={**frame.columns, name: tree})
            continue
        if step is not None and frame.window is not None:
            raise NotReadError(f"{name!r} sees only rows of the window; steps of a specification see all history")
        step = step or {"compute": {name: trees.text_of(tree)}}
        columns = {**frame.columns, name: exp.column(name)}
        frame = replace(frame, columns=columns, steps=(*frame.steps, step))
    return frame


def select(reading: ScriptReading, frame: Frame, chosen: Sequence[tuple[str, Tree]]) -> Frame:
    """Only these columns, by name."""
    added = {name: tree for name, tree in chosen if not (_is(tree, name) and name in frame.columns)}
    made = with_columns(reading, frame, added)
    return replace(made, columns={name: made.columns[name] for name, _ in chosen if name in made.columns})


def _is(tree: Tree, name: str) -> bool:
    return isinstance(tree, exp.Column) and tree.name == name


def group(frame: Frame, keys: Sequence[str]) -> Grouped:
    if isinstance(frame, Keyed):
        raise NotReadError("groups of groups have no counterpart in a specification")
    rows = frame
    for key in keys:
        if key != AS_OF and not _is(rows.columns.get(key, exp.column(key)), key):
            computed = {"compute": {key: trees.text_of(rows.columns[key])}}
            columns = {**rows.columns, key: exp.column(key)}
            rows = replace(rows, columns=columns, steps=(*rows.steps, computed))
    return Grouped(rows, tuple(key for key in keys if key != AS_OF))


def aggregated(reading: ScriptReading, grouped: Grouped, aggregates: Sequence[tuple[str, Tree]]) -> Keyed:
    """Features by key; an aggregate that cannot be read is noted, and its column is unknown from there on."""
    rows, columns = grouped.rows, dict[str, Tree]({key: exp.column(key) for key in grouped.keys})
    for name, tree in aggregates:
        try:
            found = trees.resolved(tree, rows.columns)
            if found.find(exp.Window):
                raise NotReadError("a window function inside an aggregate is not understood")
        except NotReadError as error:
            reading.note(f"{name}: {error.reason}")
            continue
        columns[name] = reading.add(name, Atom(rows, grouped.keys, found))
    if AS_OF in rows.columns:
        columns[AS_OF] = exp.column(AS_OF)
    return Keyed(grouped.keys, columns, (rows,), missing="cannot be read where it is computed")


def join(reading: ScriptReading, left: Frame, right: Frame, on: Sequence[str], how: str) -> Frame:
    """A join on columns of the same name."""
    how = how.lower().replace("_", "")
    if isinstance(left, SymbolicRows) and isinstance(right, SymbolicRows) and (left.are_cutoffs or right.are_cutoffs):
        rows = left if right.are_cutoffs else right
        return replace(rows, columns={**rows.columns, AS_OF: exp.column(AS_OF)})
    everything = how in ("full", "outer", "fullouter") and isinstance(right, Keyed)
    if not everything and how not in ("left", "leftouter", "inner"):
        raise NotReadError(f"a join of kind {how!r} is not understood")
    if isinstance(left, SymbolicRows) and isinstance(right, SymbolicRows):
        return _with_dimension(left, right, on, how)
    keys = tuple(name for name in on if name != AS_OF)
    if isinstance(left, SymbolicRows):
        left = spine_of(reading, left, cast(Keyed, right).keys)
    if isinstance(right, SymbolicRows):
        return _with_lookups(reading, left, right, keys, how)
    if how == "inner":
        reading.note("an inner join drops keys without rows; a specification keeps them")
    keys = tuple(dict.fromkeys([*left.keys, *(key for key in right.keys if everything)]))
    return Keyed(
        keys,
        {**left.columns, **right.columns, **left.columns},  # in the order of the left
        (*left.base, *(right.base if everything else ())),
        left.spine,
        left.missing or right.missing,
        left.present,
    )


def _with_dimension(left: SymbolicRows, right: SymbolicRows, on: Sequence[str], how: str) -> SymbolicRows:
    if right.table.kind != "dimension":
        raise NotReadError(f"{right.table.name} is not a dimension; only dimensions are joined to rows")
    if right.steps:
        raise NotReadError(f"{right.table.name} is changed before it is joined; a specification joins it as it is")
    there = {name: trees.text_of(tree) for name, tree in right.columns.items()}
    here = {trees.text_of(left.columns[name]): there[name] for name in on}
    taken = {name: column for name, column in there.items() if name not in (*on, *left.columns)}
    step = {
        "join": {
            "table": right.table.name,
            "on": _names_or_map(here),
            "cardinality": "many_to_one" if set(right.table.keys) <= set(here.values()) else "one_to_many",
            **({"unmatched": "drop"} if how == "inner" else {}),
            "columns": _names_or_map(taken),
        }
    }
    columns = {**left.columns, **{name: exp.column(name) for name in taken}}
    return replace(left, columns=columns, steps=(*left.steps, step))


def _names_or_map(names: Mapping[str, str]) -> list[str] | dict[str, str]:
    return list(names) if all(new == old for new, old in names.items()) else dict(names)


def _with_lookups(reading: ScriptReading, left: Keyed, right: SymbolicRows, keys: tuple[str, ...], how: str) -> Keyed:
    if right.table.kind == "event" or any("filter" in step for step in right.steps):
        raise NotReadError(f"rows of {right.table.name} are joined without being aggregated")
    if how == "inner":
        reading.note(f"an inner join drops keys without a row of {right.table.name}; a specification keeps them")
    columns = dict(left.columns)
    for name, tree in right.columns.items():
        if name not in columns:
            columns[name] = reading.add(name, Atom(right, keys, tree))
    return replace(left, columns=columns)


def spine_of(reading: ScriptReading, rows: SymbolicRows, keys: Collection[str]) -> Keyed:
    """Rows of a table as the rows of the output."""
    columns = dict[str, Tree]()
    for name, tree in rows.columns.items():
        own = name in keys or name == AS_OF
        columns[name] = exp.column(name) if own else reading.add(name, Atom(rows, (), tree, is_kept=True))
    return Keyed(tuple(keys), columns, (), rows)


def union(left: Frame, right: Frame) -> Keyed:
    """Keys of both."""
    both = [distinct(frame) for frame in (left, right)]
    if not all(isinstance(frame, Keyed) and not frame.spine for frame in both):
        raise NotReadError("a union of rows has no counterpart in a specification")
    first, second = cast(list[Keyed], both)
    return replace(first, base=(*first.base, *second.base))


def distinct(frame: Frame) -> Frame:
    """Each row once: keys, or keys with their cut-offs."""
    if isinstance(frame, Keyed):
        return frame
    if AS_OF in frame.columns:
        return replace(frame, are_cutoffs=True)
    names = tuple(frame.columns)
    return Keyed(names, {name: exp.column(name) for name in names}, (group(frame, names).rows,))


def drop_duplicates(frame: Frame, names: Sequence[str] | None) -> Frame:
    """One row for each combination of values."""
    if names is None or isinstance(frame, Keyed):
        return distinct(frame)
    same = set(names) == set(frame.table.keys)
    if same and frame.table.keys_enforced:
        return frame
    if not same:
        raise NotReadError(f"which of several rows of the same {', '.join(names)} remains is not determined")
    return replace(frame, unique=tuple(names))
