"""Reading Spark SQL expressions: what they use, what they may not use, and of which type they are.

`parse` gives the facts about an expression, `check` holds it against the columns that exist. An expression is
only read, never rewritten: what is generated or executed is the author's text.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from palmette.errors import nearest
from palmette.features.spec import functions
from palmette.features.spec.expression_types import Typer
from palmette.features.spec.values import SparkType

_OWN_SYNTAX = (
    "CAST",
    "TRY_CAST",
    "EXTRACT",
    "TRIM",
    "SUBSTRING",
    "SUBSTR",
    "POSITION",
    "OVERLAY",
    "LISTAGG",
    "STRING_AGG",
)
"""Functions whose arguments are not simply separated by commas."""


class _Dialect(Spark):
    """Spark SQL in which functions keep the names they are written with."""

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]  # sqlglot makes the base at run time
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {name: Spark.Parser.FUNCTION_PARSERS[name] for name in _OWN_SYNTAX}


class Fault(NamedTuple):
    """What is wrong with an expression; the caller knows where it is written."""

    code: str
    message: str
    remedy: str = ""
    value: str | None = None
    nearest: str | None = None


class ExpressionError(ValueError):
    """The text is no expression."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True)
class ParsedExpression:
    """An expression and what it uses."""

    text: str
    tree: exp.Expression
    columns: tuple[str, ...]
    """In order of first use."""
    functions: tuple[str, ...]
    """Names as Spark has them, in lower case, sorted."""
    has_window: bool
    has_subquery: bool

    @property
    def aggregates(self) -> tuple[str, ...]:
        return tuple(name for name in self.functions if name in functions.names("aggregates"))

    @property
    def non_deterministic(self) -> tuple[str, ...]:
        return tuple(name for name in self.functions if name in functions.names("non_deterministic"))


@dataclass(frozen=True)
class Checked:
    """The outcome of holding an expression against a schema."""

    type: SparkType | None
    """None when it cannot be told."""
    columns: tuple[str, ...]
    faults: tuple[Fault, ...]
    tree: exp.Expression | None = None


_MAX_DEPTH = 200
"""Levels of an expression; a chain of conditions has one for each."""
_MAX_DIGITS = 38
"""Of a number as it is written: Spark's decimals have no more."""
_EXPRESSIONS = (
    exp.Condition,
    exp.Paren,
    exp.Not,
    exp.Filter,
    exp.WithinGroup,
    exp.IgnoreNulls,
    exp.RespectNulls,
    exp.Any,
    exp.Interval,
)


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> ParsedExpression:
    """The expression that `text` is.

    Raises:
        ExpressionError: for anything but one expression.
    """
    if not text.strip():
        raise ExpressionError(Fault("empty-expression", "The expression is empty.", "Write a Spark SQL expression."))
    try:
        tree = cast(exp.Expression, sqlglot.parse_one(text, read=_Dialect))
    except (SqlglotError, RecursionError) as error:
        raise ExpressionError(_syntax_fault(text, error)) from None
    if _unclosed(text):
        raise ExpressionError(
            Fault("bad-expression", f"{_cut(text)!r} has a bracket that is not closed.", "Close it.", text)
        )
    if isinstance(tree, exp.Alias):
        raise ExpressionError(
            Fault(
                "bad-expression",
                f"{text!r} is an expression followed by {tree.alias!r}.",
                "Write one expression, without a name behind it.",
                text,
            )
        )
    if not isinstance(tree, _EXPRESSIONS):
        raise ExpressionError(
            Fault("bad-expression", f"{_cut(text)!r} is not an expression.", "Write one Spark SQL expression.", text)
        )
    if too := _too_much(tree):
        raise ExpressionError(Fault("bad-expression", f"{_cut(text)!r} {too}.", "Divide it.", text))
    return ParsedExpression(
        text,
        tree,
        tuple(dict.fromkeys(_columns(tree))),
        tuple(sorted(_functions(tree))),
        tree.find(exp.Window) is not None,
        tree.find(exp.Query, exp.Subquery, exp.Exists) is not None,
    )


def _too_much(tree: exp.Expression) -> str:
    """What of an expression is more than Spark, or anybody who walks through it, can hold; empty when nothing is."""
    level: list[exp.Expression] = [tree]
    for _ in range(_MAX_DEPTH):
        numbers = [node.name for node in level if isinstance(node, exp.Literal) and not node.is_string]
        longest = max((sum(map(str.isdigit, number)) for number in numbers), default=0)
        if longest > _MAX_DIGITS:
            return f"has a number of {longest} digits; there are {_MAX_DIGITS} at most"
        level = [part for node in level for part in node.iter_expressions()]
        if not level:
            return ""
    return f"is nested deeper than {_MAX_DEPTH} levels"


def check(
    text: str,
    schema: Mapping[str, SparkType],
    kind: Literal["row", "aggregate"] = "row",
    wanted: Literal["boolean", "numeric", "any"] = "any",
    *,
    known: Collection[str] = (),
) -> Checked:
    """Holds an expression against the columns that exist at its place.

    Args:
        kind: `row` for an expression over one row, `aggregate` for one over many.
        wanted: what its type must be.
        known: names that are no columns here, but should not be reported a second time.
    """
    try:
        parsed = parse(text)
    except ExpressionError as error:
        return Checked(None, (), (error.fault,))
    faults = [*_forbidden(parsed, kind), *_wrong_columns(parsed, schema, known)]
    typer = Typer(schema)
    result = typer.of(parsed.tree)
    faults += [Fault("illegal-type", message, remedy, text) for message, remedy in typer.faults]
    if not faults:
        faults += _unwanted(text, result, wanted)
    return Checked(result, parsed.columns, tuple(faults), parsed.tree)


def _wrong_columns(
    parsed: ParsedExpression, schema: Mapping[str, SparkType], known: Collection[str]
) -> Iterator[Fault]:
    for node in parsed.tree.find_all(exp.Column):
        if node.table:
            yield Fault(
                "qualified-column",
                f"{node.sql('spark')!r} has a qualifier.",
                "Name the column alone; tables have no aliases here.",
                node.sql("spark"),
                node.name,
            )
    for name in parsed.columns:
        if name not in schema and name not in known:
            yield Fault(
                "unknown-column",
                f"There is no column {name!r} here.",
                "The cut-off is known to `compute`, `filter` and `categorise` steps: make what you need of it a column."
                if name == "as_of"
                else f"Columns here: {_listing(schema)}.",
                name,
                nearest(name, schema),
            )


def type_of(text: str, schema: Mapping[str, SparkType]) -> SparkType | None:
    """The type of an expression over these columns; None when it cannot be told or is illegal."""
    checked = check(text, schema, "aggregate")
    return None if checked.faults else checked.type


def _unwanted(text: str, result: SparkType | None, wanted: str) -> Iterator[Fault]:
    if result is None or result.name == "null":
        return
    if wanted == "boolean" and result.name != "boolean":
        yield Fault("not-a-condition", f"{text!r} is {result}, not true or false.", "Write a condition.", text)
    if wanted == "numeric" and not result.is_numeric:
        yield Fault("illegal-type", f"{text!r} is {result}, not a number.", "Give a numeric expression.", text)


def _forbidden(parsed: ParsedExpression, kind: str) -> Iterator[Fault]:
    for name in parsed.functions:
        fault = _forbidden_function(name, kind, parsed)
        if fault is not None:
            yield fault
    if parsed.has_window or any(name in functions.names("window_only") for name in parsed.functions):
        yield Fault(
            "window-not-allowed",
            f"Window functions {'(OVER) ' * parsed.has_window}are not allowed in expressions.",
            "Use a `previous`, `gap` or `session` step.",
            parsed.text,
        )
    if parsed.has_subquery:
        yield Fault(
            "subquery-not-allowed",
            "Subqueries are not allowed in expressions.",
            "Use a `join` step.",
            parsed.text,
        )
    if kind == "aggregate" and not parsed.has_window:
        yield from _outside_aggregates(parsed)


def _forbidden_function(name: str, kind: str, parsed: ParsedExpression) -> Fault | None:
    if name not in functions.known():
        near = nearest(name, functions.known())
        return Fault(
            "unknown-function", f"Spark has no function {name!r}.", "Use a built-in function of Spark SQL.", name, near
        )
    if name in functions.names("non_deterministic"):
        return Fault(
            "non-deterministic",
            f"{name!r} gives another value at every run.",
            "Use `as_of` in a step or a derivation, or columns of the data.",
            name,
        )
    if name in functions.names("generators"):
        return Fault("illegal-function", f"{name!r} gives several rows or columns.", "Use an array function.", name)
    if name in functions.names("outside_the_data"):
        return Fault("illegal-function", f"{name!r} does more than compute a value.", "Compute from columns.", name)
    if kind == "row" and name in functions.names("aggregates") and not parsed.has_window:
        return Fault(
            "aggregate-not-allowed",
            f"{name!r} aggregates rows; here is one row at a time.",
            "Use an aggregate feature.",
            name,
        )
    if kind == "aggregate" and name in functions.names("order_dependent"):
        return Fault(
            "order-dependent",
            f"{name!r} depends on the order in which rows arrive.",
            "Use the functions `first`, `last` or `collect`, which have an order, max_by and min_by, or collect_set "
            "where only the values count.",
            name,
        )
    return None


def _outside_aggregates(parsed: ParsedExpression) -> Iterator[Fault]:
    """Columns that an aggregate expression uses bare: their value would be any row's."""
    bare = sorted({node.name for node in _bare_columns(parsed.tree)})
    if not parsed.aggregates:
        yield Fault("no-aggregate", f"{parsed.text!r} aggregates nothing.", "Use an aggregate function.", parsed.text)
    elif bare:
        yield Fault(
            "bare-column",
            f"{parsed.text!r} uses {', '.join(map(repr, bare))} outside an aggregate function.",
            "Put it into one.",
            bare[0],
        )


def _bare_columns(node: exp.Expression) -> Iterator[exp.Column]:
    if isinstance(node, exp.Column):
        if not _is_unit(node):
            yield node
        return
    if function_name(node) in functions.names("aggregates") or isinstance(node, exp.Filter | exp.WithinGroup):
        return
    for child in node.iter_expressions():
        yield from _bare_columns(child)


def function_name(node: exp.Expression) -> str | None:
    """The lower-case name of a function call; None for operators and everything else."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return "to_unix_timestamp" if name == "unix_timestamp" and node.expressions else name
    return _PARSED_FUNCTIONS.get(type(node))


_PARSED_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.CurrentTime: "current_time",
    exp.Transform: "transform",
    exp.Substring: "substring",
    exp.Trim: "trim",
    exp.Extract: "extract",
    exp.StrPosition: "position",
    exp.Overlay: "overlay",
    exp.GroupConcat: "listagg",
    exp.Any: "any",
    exp.Localtimestamp: "localtimestamp",
}


def _functions(tree: exp.Expression) -> set[str]:
    return {name for name in map(function_name, tree.find_all(exp.Expression)) if name}


def _columns(tree: exp.Expression) -> Iterator[str]:
    for node in tree.find_all(exp.Column, bfs=False):
        if not _is_unit(node) and not isinstance(node.this, exp.Star):
            yield node.name


def _is_unit(node: exp.Column) -> bool:
    """Whether this is the unit of `timestampdiff(HOUR, a, b)` and its like, not a column."""
    call = node.parent
    return (
        isinstance(call, exp.Anonymous)
        and str(call.this).lower() in functions.names("unit_first")
        and len(call.expressions) == 3
        and call.expressions[0] is node
    )


def _syntax_fault(text: str, error: Exception) -> Fault:
    details = getattr(error, "errors", None) or [{}]
    description = details[0].get("description") or "it cannot be read"
    if "Required keyword" in description or "No expression" in description:
        description = "something is missing"
    description = description.rstrip(".")
    column = details[0].get("col")
    place = f" near character {column}" if column else ""
    return Fault(
        "bad-expression", f"{_cut(text)!r} is not Spark SQL: {description}{place}.", "Mend the expression.", text
    )


def _unclosed(text: str) -> bool:
    """Whether a bracket is left open: not everything that reads SQL says so."""
    kinds = [token.token_type.name for token in _Dialect().tokenize(text)]
    return kinds.count("L_PAREN") != kinds.count("R_PAREN")


def _cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."


def _listing(names: Collection[str]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (", ..." if len(names) > 12 else "")
