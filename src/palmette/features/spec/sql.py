"""Parses Spark SQL expressions: a syntax tree, and the facts that other modules need.

Expressions are only read, never rewritten: generated and executed code contains the author's text.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from palmette.errors import Mistake
from palmette.features.spec import functions
from palmette.features.spec.type_rules import Operator
from palmette.problems import fault

_OWN_SYNTAX = (
    "CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY", "LISTAGG", "STRING_AGG",
)  # fmt: skip
"""Functions whose arguments are not a plain comma-separated list."""


class SparkDialect(Spark):
    """Spark SQL in which functions keep the names they were written with."""

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]  # sqlglot makes the base at run time
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {name: Spark.Parser.FUNCTION_PARSERS[name] for name in _OWN_SYNTAX}


class ExpressionError(ValueError):
    """Raised for text that is not an expression."""

    def __init__(self, fault: Mistake) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True)
class ParsedExpression:
    """A parsed expression and the names it uses."""

    text: str
    tree: exp.Expression
    columns: tuple[str, ...]  # in order of first use
    functions: tuple[str, ...]  # Spark's names in lower case, sorted
    has_window: bool
    has_subquery: bool

    @property
    def aggregates(self) -> tuple[str, ...]:
        return tuple(name for name in self.functions if name in functions.names("aggregates"))


_MAX_DEPTH = 200
"""Maximum nesting depth; a chain of conditions has one level for each."""
_MAX_DIGITS = 38
"""Maximum number of digits in a number: the precision of Spark's decimals."""
OPERATORS: Mapping[type[exp.Expression], Operator] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
}  # fmt: skip
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_EXPRESSIONS = (
    exp.Condition, exp.Paren, exp.Not, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Any,
    exp.Interval,
)  # fmt: skip


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> ParsedExpression:
    """Parses one expression.

    Raises:
        ExpressionError: if the text is not exactly one expression.
    """
    if not text.strip():
        raise ExpressionError(fault("empty-expression"))
    shown = text if len(text) <= 200 else f"{text[:197]}..."
    try:
        tree = cast(exp.Expression, sqlglot.parse_one(text, read=SparkDialect))
    except (SqlglotError, RecursionError) as error:
        raise ExpressionError(fault("bad-expression/syntax", text, shown=shown, reason=_reason(error))) from None
    tokens = [token.token_type.name for token in SparkDialect().tokenize(text)]
    if tokens.count("L_PAREN") != tokens.count("R_PAREN"):  # not every SQL parser reports this
        raise ExpressionError(fault("bad-expression/bracket", text, shown=shown))
    if "SEMICOLON" in tokens:
        reason = "an expression has no semicolon"
        raise ExpressionError(fault("bad-expression/syntax", text, shown=shown, reason=reason))
    if isinstance(tree, exp.Alias):
        raise ExpressionError(fault("bad-expression/alias", text, alias=tree.alias))
    if not isinstance(tree, _EXPRESSIONS):
        raise ExpressionError(fault("bad-expression", text, shown=shown))
    if excess := _excess(tree):
        raise ExpressionError(fault("bad-expression/too-large", text, shown=shown, excess=excess))
    columns = [column for column in tree.find_all(exp.Column, bfs=False) if not isinstance(column.this, exp.Star)]
    return ParsedExpression(
        text,
        tree,
        tuple(dict.fromkeys(column.name for column in columns if not is_unit(column))),
        tuple(sorted({name for name in map(function_name, tree.find_all(exp.Expression)) if name})),
        tree.find(exp.Window) is not None,
        tree.find(exp.Query, exp.Subquery, exp.Exists) is not None,
    )


def _reason(error: Exception) -> str:
    """Why and where a text fails to parse."""
    details = (getattr(error, "errors", None) or [{}])[0]
    description = details.get("description") or "it cannot be read"
    if "Required keyword" in description or "No expression" in description:
        description = "something is missing"
    column = details.get("col")
    return description.rstrip(".") + (f" near character {column}" if column else "")


def _excess(tree: exp.Expression) -> str:
    """Which limit of Spark or of recursion the expression exceeds; empty if none."""
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


def function_name(node: exp.Expr) -> str | None:
    """The lower-case name of a function call; None for operators and other nodes."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return "to_unix_timestamp" if name == "unix_timestamp" and node.expressions else name
    return _PARSED_FUNCTIONS.get(type(node))


_PARSED_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp", exp.CurrentUser: "current_user",
    exp.CurrentTime: "current_time", exp.Transform: "transform", exp.Substring: "substring", exp.Trim: "trim",
    exp.Extract: "extract", exp.StrPosition: "position", exp.Overlay: "overlay", exp.GroupConcat: "listagg",
    exp.Any: "any", exp.Localtimestamp: "localtimestamp",
}  # fmt: skip


def field_name(node: exp.Expr, otherwise: str) -> str:
    """The name of the struct field for an argument of `struct` or `arrays_zip`: its own, or `otherwise`."""
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return str(node.alias_or_name) if isinstance(node, exp.Alias | exp.Column | exp.Identifier) else otherwise


def is_unit(node: exp.Column) -> bool:
    """Whether this is the unit in a call such as `timestampdiff(HOUR, a, b)`, and not a column."""
    call = node.parent
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 3:
        return False
    return call.expressions[0] is node and str(call.this).lower() in functions.names("unit_first")
