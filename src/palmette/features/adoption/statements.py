"""Reads SELECT statements as symbolic data frames."""

from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from palmette.features.adoption import frames
from palmette.features.adoption.aggregates import aggregate_calls
from palmette.features.adoption.frames import Frame, ScriptReading
from palmette.features.adoption.methods import labelled
from palmette.features.adoption.trees import Cutoff, NotReadError, conjuncts, tree_of
from palmette.features.spec.sql import SparkDialect

_UNREAD = ("having", "qualify", "limit", "laterals", "pivots", "sample")


def result_of(reading: ScriptReading, text: str, tables: Mapping[str, Frame], values: Mapping[str, object]) -> Frame:
    """The result of a query over tables by name; `values` are those of its parameters."""

    def plain(node: exp.Expr) -> exp.Expr:
        """A node without the name of its table; with the cut-off and parameters in place of their texts."""
        if isinstance(node, exp.Placeholder) and node.name in values:
            return tree_of(values[node.name])
        if isinstance(node, exp.Literal) and (time := Cutoff.parse(node.name)) is not None:
            return time.tree
        if isinstance(node, exp.Anonymous):
            node.set("this", node.name.lower())
        return exp.column(node.name) if isinstance(node, exp.Column) and not node.is_star else node

    try:
        query = sqlglot.parse_one(text, read=SparkDialect)
    except SqlglotError as error:
        raise NotReadError(f"the statement is not understood: {str(error).splitlines()[0]}") from None
    return _result(reading, query.transform(plain), tables)


def _result(reading: ScriptReading, query: exp.Expr, tables: Mapping[str, Frame]) -> Frame:
    known = dict(tables)
    for table in query.args["with_"].expressions if query.args.get("with_") else ():
        known[table.alias] = _result(reading, table.this, known)
    if isinstance(query, exp.Union):
        return frames.union(_result(reading, query.left, known), _result(reading, query.right, known))
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        raise NotReadError("a statement other than a SELECT from tables is not understood")
    if unread := next((name for name in _UNREAD if query.args.get(name)), None):
        raise NotReadError(f"{unread.upper()} in a statement has no counterpart in a specification")
    frame = _source(reading, query.args["from_"].this, known)
    used = {column.name for column in query.find_all(exp.Column)}
    for join in query.args.get("joins") or ():
        how = f"{join.side}{join.kind}" or "inner"
        right, keys = _source(reading, join.this, known), _join_keys(join)
        if twice := used & {*frame.columns} & {*right.columns} - {*keys}:
            raise NotReadError(f"{min(twice)!r} is a column of both sides of a join in a statement")
        frame = frames.join(reading, frame, right, keys, how)
    if query.args.get("where"):
        frame = frames.where(reading, frame, query.args["where"].this)
    chosen = list[tuple[str, Any]]()
    for item in query.expressions:
        chosen += [(name, exp.column(name)) for name in frame.columns] if item.is_star else [labelled(item)]
    if query.args.get("group"):
        aggregates = [(name, tree) for name, tree in chosen if any(aggregate_calls(tree))]
        keys = [one.name for one in query.args["group"].expressions]
        frame = frames.aggregated(reading, frames.group(frame, keys), aggregates)
        chosen = [(name, exp.column(name) if (name, tree) in aggregates else tree) for name, tree in chosen]
    frame = frames.select(reading, frame, chosen)
    return frames.distinct(frame) if query.args.get("distinct") else frame


def _source(reading: ScriptReading, node: exp.Expr, known: Mapping[str, Frame]) -> Frame:
    if isinstance(node, exp.Subquery):
        return _result(reading, node.this, known)
    if not isinstance(node, exp.Table) or node.name not in known:
        raise NotReadError(f"{node.sql('spark')!r} is not a table of the registry")
    return known[node.name]


def _join_keys(join: exp.Join) -> list[str]:
    """The columns of a join, which have the same name on both sides."""
    if using := join.args.get("using"):
        return [one.name for one in using]
    names = list[str]()
    for test in conjuncts(join.args.get("on") or exp.true()):
        if not isinstance(test, exp.EQ) or test.left != test.right:
            raise NotReadError("a join on a condition is not understood; a join on names of columns is")
        names.append(test.left.name)
    return names
