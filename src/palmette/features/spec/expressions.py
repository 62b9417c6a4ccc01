"""Checks expressions against the available columns: errors, likely mistakes, and whether the result can be null."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from sqlglot import exp

from palmette.errors import Mistake
from palmette.features.spec import functions
from palmette.features.spec.expression_types import Typer
from palmette.features.spec.sql import COMPARISONS, ExpressionError, ParsedExpression, function_name, is_unit, parse
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema
from palmette.problems import fault

Kind = Literal["row", "aggregate"]  # whether an expression is computed from one row or from many
Wanted = Literal["boolean", "numeric", "any"]  # the required type
_REFUSED = {
    "non_deterministic": "non-deterministic",
    "generators": "illegal-function/generator",
    "outside_the_data": "illegal-function",
}
"""By list of functions that are never permitted: the problem."""


@dataclass(frozen=True)
class CheckedExpression:
    """An expression that was checked against a schema."""

    type: SparkType | None  # None if unknown
    columns: tuple[str, ...]
    faults: tuple[Mistake, ...]
    tree: exp.Expression | None = None
    origins: frozenset[str] = frozenset()
    """Columns of registry tables that it depends on, as `table.column`, if the schema's are known."""


def check(
    text: str, schema: Schema, kind: Kind = "row", wanted: Wanted = "any", *, known: Collection[str] = ()
) -> CheckedExpression:
    """Checks an expression against the columns that are available to it.

    Args:
        known: names that are not columns here but have already been reported.
    """
    try:
        parsed = parse(text)
    except ExpressionError as error:
        return CheckedExpression(None, (), (error.fault,))
    faults = [*_forbidden(parsed, kind), *_wrong_columns(parsed, schema, known)]
    typer = Typer(schema, text)
    result = typer.of(parsed.tree)
    faults += typer.faults
    if not faults and result is not None and result.name != "null":
        if wanted == "boolean" and result.name != "boolean":
            faults.append(fault("not-a-condition", text, type=result))
        elif wanted == "numeric" and not result.is_numeric:
            faults.append(fault("illegal-type/number", text, type=result))
    return CheckedExpression(result, parsed.columns, tuple(faults), parsed.tree)


def _wrong_columns(parsed: ParsedExpression, schema: Schema, known: Collection[str]) -> Iterator[Mistake]:
    for node in parsed.tree.find_all(exp.Column):
        if node.table:
            yield replace(fault("qualified-column", node.sql("spark")), nearest=node.name)
    for name in parsed.columns:
        if name not in schema and name not in known:
            problem = "unknown-column/as-of" if name == "as_of" else "unknown-column"
            yield fault(problem, name, schema, columns=listing(schema, name))


def type_of(text: str, schema: Schema) -> SparkType | None:
    """The type of an expression over these columns; None if it is unknown or invalid."""
    checked = check(text, schema, "aggregate")
    return None if checked.faults else checked.type


def _forbidden(parsed: ParsedExpression, kind: str) -> Iterator[Mistake]:
    for name in parsed.functions:
        if (problem := _wrong_function(name, kind, parsed)) is not None:
            yield fault(problem, name, functions.names("all") if problem == "unknown-function" else ())
    if parsed.has_window or any(name in functions.names("window_only") for name in parsed.functions):
        yield fault("window-not-allowed", parsed.text, over="(OVER) " * parsed.has_window)
    if parsed.has_subquery:
        yield fault("subquery-not-allowed", parsed.text)
    if kind == "aggregate" and not parsed.has_window:
        bare = sorted({node.name for node in _bare_columns(parsed.tree)})
        if not parsed.aggregates:
            yield fault("no-aggregate", parsed.text)
        elif bare:  # the value of a column outside of an aggregate function would be arbitrary
            yield fault("bare-column", bare[0], text=parsed.text, columns=bare)


def _wrong_function(name: str, kind: str, parsed: ParsedExpression) -> str | None:
    """Why a function may not be used here."""
    if name not in functions.names("all"):
        return "unknown-function"
    for listed, problem in _REFUSED.items():
        if name in functions.names(listed):
            return problem
    if kind == "row" and name in functions.names("aggregates") and not parsed.has_window:
        return "aggregate-not-allowed"
    unordered = [node for node in parsed.tree.find_all(exp.GroupConcat) if not isinstance(node.this, exp.Order)]
    is_ordered = name not in functions.names("order_dependent") and not (name == "listagg" and unordered)
    return None if kind == "row" or is_ordered else "order-dependent"


def _bare_columns(node: exp.Expression) -> Iterator[exp.Column]:
    if isinstance(node, exp.Column):
        if not is_unit(node):
            yield node
        return
    if function_name(node) in functions.names("aggregates") or isinstance(node, exp.Filter | exp.WithinGroup):
        return
    for child in node.iter_expressions():
        yield from _bare_columns(child)


_SHOWN = 12  # maximum number of names in a message


def listing(names: Iterable[str], wanted: str) -> str:
    """Formats names for a message: all of them, or the ones closest to `wanted` and the number of the rest.

    >>> listing([f"a{number}" for number in range(14)] + ["total"], "totals")
    'total, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 and 3 more'
    """
    found = list(names)
    if len(found) <= _SHOWN:
        return ", ".join(found)
    likeness = {name: SequenceMatcher(None, wanted.lower(), name.lower().split(" of ")[0]).ratio() for name in found}
    found.sort(key=lambda name: -likeness[name])
    return f"{', '.join(found[:_SHOWN])} and {len(found) - _SHOWN} more"


_WRONG_IN_JAVA_TOO = ("unterminated", "unbalanced", "nothing to repeat", "missing )")
"""Parts of Python's error messages for patterns that Java rejects too; Java's syntax is otherwise larger."""

Closed = Mapping[str, tuple[str | int | bool, ...]]  # column name to its closed set of values


def likely_mistakes(tree: exp.Expression, closed: Closed) -> Iterator[Mistake]:
    """Yields the likely mistakes in an expression; `closed` maps columns to their closed sets of values."""
    for node in tree.find_all(exp.Expression, bfs=False):
        if isinstance(node, COMPARISONS) and (isinstance(node.this, exp.Null) or isinstance(node.expression, exp.Null)):
            wanted = "is not null" if isinstance(node, exp.NEQ) else "is null"
            yield fault("null-comparison", node.sql("spark"), wanted=wanted)
        yield from _foreign_values(node, closed)
        if isinstance(node, exp.And | exp.Or):
            yield from _idle(node)
        yield from _patterns(node)
        if isinstance(node, exp.Star) and (node.parent is None or function_name(node.parent) != "count"):
            yield fault("bad-expression/star", "*")


def pattern_error(pattern: str) -> str | None:
    """Why a text is not a valid Java regular expression; None if it may be one."""
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error) if any(word in str(error) for word in _WRONG_IN_JAVA_TOO) else None
    return None


def _idle(node: exp.And | exp.Or) -> Iterator[Mistake]:
    """Reports two conditions on one column where one makes the other redundant or impossible."""
    sides = [side.unnest() for side in (node.this, node.expression)]
    if not all(isinstance(side, exp.EQ | exp.NEQ) for side in sides):
        return
    columns, literals = ([side.find(kind) for side in sides] for kind in (exp.Column, exp.Literal))
    values = [each.sql("spark") for each in literals if each]
    names = {each.name.lower() for each in columns if each}
    is_plain = all({type(side.this), type(side.expression)} == {exp.Column, exp.Literal} for side in sides)
    if not is_plain or len(names) > 1 or values[0] == values[1]:
        return
    equalities = [isinstance(side, exp.EQ) for side in sides]
    facts = {"column": names.pop(), "values": ", ".join(values)}
    if isinstance(node, exp.And) and all(equalities):
        yield fault("idle-condition/never", node.sql("spark"), **facts)
    elif isinstance(node, exp.Or) and not all(equalities):
        effect = "the same without its equality" if any(equalities) else "always true"
        yield fault("idle-condition/always", node.sql("spark"), effect=effect, **facts)


def _foreign_values(node: exp.Expression, closed: Closed) -> Iterator[Mistake]:
    """Reports values that a column is compared with but cannot hold."""
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
        sides = [node.this, node.expression]
    elif isinstance(node, exp.In):
        sides = [node.this, *node.expressions]
    else:
        return
    column = next((side.name for side in sides if isinstance(side, exp.Column)), "")
    values = [str(value) for value in closed.get(column, ())]
    for side in sides:
        if values and isinstance(side, exp.Literal) and side.name not in values:
            yield fault("unknown-value", side.name, values, column=column)


def _patterns(node: exp.Expression) -> Iterator[Mistake]:
    if isinstance(node, exp.RegexpLike | exp.RegexpILike):
        pattern = node.expression
    elif function_name(node) in functions.names("pattern_second") and len(node.expressions) > 1:
        pattern = node.expressions[1]
    else:
        return
    if isinstance(pattern, exp.Literal) and (reason := pattern_error(pattern.name)):
        yield fault("bad-pattern", pattern.name, reason=reason)


_NULL_IF_ANY = (
    exp.Paren, exp.Neg, exp.Not, exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, *COMPARISONS, exp.Between, exp.In,
)  # fmt: skip
"""Nodes that are null only if one of their operands is."""


def never_null(node: exp.Expression, certain: Collection[str]) -> bool:
    """Whether the value is never null, given that the columns in `certain` are not; False means unknown."""
    match node:
        case exp.Column():
            return node.name in certain
        case exp.Literal() | exp.Boolean() | exp.Is() | exp.NullSafeEQ() | exp.NullSafeNEQ():
            return True
        case exp.Filter():
            return never_null(node.this, certain)
        case exp.Case() | exp.If():
            results = [branch.args["true"] for branch in node.args.get("ifs", [node])]
            results.append(node.args.get("default") or node.args.get("false"))
            return all(item is not None and never_null(item, certain) for item in results)
        case exp.Anonymous():
            name, certainties = function_name(node), [never_null(argument, certain) for argument in node.expressions]
            needs_all = name in functions.names("null_if_any") and bool(certainties) and all(certainties)
            needs_one = name in functions.names("null_if_all") and any(certainties)
            return needs_all or needs_one or name in functions.names("never_null")
        case _ if isinstance(node, _NULL_IF_ANY):
            return all(never_null(child, certain) for child in node.iter_expressions())
    return False
