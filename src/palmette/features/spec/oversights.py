"""What an expression says that is legal and cannot have been meant: a comparison with null, a value there is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from palmette.errors import nearest
from palmette.features.spec.expressions import Fault, function_name

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_PATTERN_FUNCTIONS = (
    "regexp",
    "regexp_like",
    "regexp_count",
    "regexp_extract",
    "regexp_extract_all",
    "regexp_instr",
    "regexp_replace",
    "regexp_substr",
    "rlike",
    "split",
)
"""Functions whose second argument is a regular expression."""
_WRONG_IN_JAVA_TOO = ("unterminated", "unbalanced", "nothing to repeat", "missing )")
"""Java knows more than Python does; what both refuse is refused."""

Closed = Mapping[str, tuple[str | int | bool, ...]]
"""The columns that can only have certain values."""


def oversights(tree: exp.Expression, closed: Closed) -> Iterator[Fault]:
    """The mistakes in an expression over columns of which some are `closed`."""
    counted = {id(star) for node in tree.find_all(exp.Anonymous) if _counts(node) for star in node.expressions}
    for node in tree.find_all(exp.Expression, bfs=False):
        if isinstance(node, _COMPARISONS):
            yield from _with_null(node)
        yield from _foreign_values(node, closed)
        yield from _patterns(node)
        if isinstance(node, exp.Star) and id(node) not in counted:
            yield Fault("bad-expression", "`*` is no value.", "Name a column; only count(*) takes all rows.", "*")


def _counts(node: exp.Expression) -> bool:
    return function_name(node) == "count"


def pattern_error(pattern: str) -> str | None:
    """Why a text is no regular expression; None where it may be one."""
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error) if any(word in str(error) for word in _WRONG_IN_JAVA_TOO) else None
    return None


def _with_null(node: exp.Expression) -> Iterator[Fault]:
    if isinstance(node.this, exp.Null) or isinstance(node.expression, exp.Null):
        wanted = "is not null" if isinstance(node, exp.NEQ) else "is null"
        text = node.sql("spark")
        yield Fault("null-comparison", f"{text!r} is never true: null equals nothing.", f"Write `{wanted}`.", text)


def _foreign_values(node: exp.Expression, closed: Closed) -> Iterator[Fault]:
    """Values that a column is compared with, although it cannot have them."""
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
        sides = [node.this, node.expression]
    elif isinstance(node, exp.In):
        sides = [node.this, *node.expressions]
    else:
        return
    column = next((side for side in sides if isinstance(side, exp.Column)), None)
    values = closed.get(column.name) if column is not None else None
    for side in sides:
        if values and isinstance(side, exp.Literal) and side.name not in map(str, values):
            yield Fault(
                "unknown-value",
                f"{side.name!r} is not among the values of {column.name if column else ''!r}.",
                f"Its values are {', '.join(map(str, values))}.",
                side.name,
                nearest(side.name, map(str, values)),
            )


def _patterns(node: exp.Expression) -> Iterator[Fault]:
    if isinstance(node, exp.RegexpLike | exp.RegexpILike):
        pattern = node.expression
    elif function_name(node) in _PATTERN_FUNCTIONS and len(node.expressions) > 1:
        pattern = node.expressions[1]
    else:
        return
    if isinstance(pattern, exp.Literal) and (reason := pattern_error(pattern.name)):
        yield Fault("bad-pattern", f"{pattern.name!r} is not a regular expression: {reason}.", "Mend it.", pattern.name)
