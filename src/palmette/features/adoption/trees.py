"""Columns of a script as Spark SQL trees: building, writing and recognising them."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self, cast

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.optimizer.simplify import simplify_parens

from palmette.features.spec import AS_OF, Duration, Table
from palmette.features.spec.sql import ExpressionError, function_name, parse

Tree = exp.Expr

_INTERVALS = {"DAY": 86_400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1, "WEEK": 604_800, "MICROSECOND": 1e-6}
_RENAMED = {"countDistinct": "count_distinct", "pow": "power", "sumDistinct": "sum_distinct", "stddev_samp": "stddev"}
_OF_TIME = (
    "concat", "to_timestamp", "timestamp_seconds", "timestamp_millis", "timestamp_micros", "unix_micros", "to_date",
)  # fmt: skip
"""Functions that keep the time that their argument holds, or its day."""


class SparkSql(Spark):
    """Spark SQL that keeps `try_cast`."""

    class Generator(Spark.Generator):  # type: ignore[misc, valid-type]  # sqlglot makes the base at run time
        def trycast_sql(self, expression: exp.TryCast) -> str:
            return str(self.cast_sql(expression, safe_prefix="TRY_" if expression.args.get("safe") else ""))


class NotReadError(Exception):
    """Raised where code is not understood, or has no counterpart in a specification."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


@dataclass(frozen=True)
class Unread:
    """An argument that cannot be read."""

    reason: str
    line: int
    name: str
    """The column that it computes; empty if unknown."""


@dataclass(frozen=True)
class Cutoff:
    """The cut-off as a Python value, or a time that lies `before` it."""

    before: timedelta = timedelta(0)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The time that was formatted as a text of a statement; None for any other text."""
        found = re.fullmatch(r"<as_of - (\d+) s>", text)
        return cls(timedelta(seconds=int(found[1]))) if found else None

    def __format__(self, form: str) -> str:
        return f"<as_of - {int(self.before.total_seconds())} s>"

    def __sub__(self, time: timedelta) -> Self:
        return type(self)(self.before + time)

    def __add__(self, time: timedelta) -> Self:
        return type(self)(self.before - time)

    @property
    def tree(self) -> Tree:
        return exp.column(AS_OF) - tree_of(self.before) if self.before else exp.column(AS_OF)


@dataclass(frozen=True)
class Ordering:
    """A window of rows: keys and order, each column with whether it ascends."""

    by: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()
    is_running: bool = False
    """Whether it ends at the current row."""


def tree_of(value: object) -> Tree:
    """The tree of a Column, or of a Python value used as a literal."""
    if isinstance(value, exp.Expr):
        return value
    if isinstance(value, Cutoff):
        return value.tree
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        amount, unit = (seconds // 86_400, "DAYS") if seconds % 86_400 == 0 else (seconds, "SECONDS")
        return parse(f"INTERVAL {amount} {unit}").tree.copy()
    if value is None or isinstance(value, bool | int | float | str):
        return exp.convert(value)
    if isinstance(value, Unread):
        raise NotReadError(value.reason, value.line)
    if isinstance(value, list | tuple):
        return exp.Anonymous(this="array", expressions=[tree_of(one) for one in value])
    raise NotReadError(f"{type(value).__name__} is not a value of a column")


def named(value: object) -> Tree:
    """The tree of a Column, or of a column's name."""
    if not isinstance(value, str):
        return tree_of(value)
    return exp.Star() if value == "*" else exp.column(value)


def text_of(tree: Tree) -> str:
    """Spark SQL without needless parentheses."""
    clean = tree.copy().transform(lambda node: simplify_parens(node, dialect="spark"))
    return with_not_null(str(clean.sql(SparkSql, normalize_functions=False)))


def with_not_null(text: str) -> str:
    """Spark SQL with the usual form of a test for a value."""
    return re.sub(r"\bNOT ([\w.]+) IS NULL", r"\1 IS NOT NULL", text)


def sql(text: str) -> Tree:
    """The tree of SQL in a script."""
    try:
        return parse(text).tree.copy()
    except ExpressionError as error:
        raise NotReadError(f"{text!r}: {error.fault.message}") from None


def call(name: str, *arguments: Tree) -> Tree:
    return exp.Anonymous(this=name, expressions=list(arguments))


def function_call(name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> Tree:
    """A call of a function of `pyspark.sql.functions`; annotations say which strings name columns."""
    import pyspark.sql.functions

    name = _RENAMED.get(name, name)
    known: Callable[..., object] | None = getattr(pyspark.sql.functions, name, None)
    if known is None or any(callable(one) for one in arguments):
        raise NotReadError(f"F.{name} is not understood")
    try:
        bound = inspect.signature(known).bind(*arguments, **keywords)
    except TypeError as error:
        raise NotReadError(f"F.{name}: {error}") from None
    trees = list[Tree]()
    for parameter, value in bound.arguments.items():
        declared = bound.signature.parameters[parameter]
        is_name = "ColumnOrName" in str(declared.annotation)
        several = declared.kind is declared.VAR_POSITIONAL
        for one in flat(value) if several else [value]:
            trees.append(named(one) if is_name else tree_of(one))
    if name in ("count_distinct", "sum_distinct"):
        return call(name.removesuffix("_distinct"), exp.Distinct(expressions=trees))
    return call(name, *trees)


def flat(values: object) -> Iterator[object]:
    """Values, of which each may be a list of several."""
    for one in cast(Sequence[object], values):
        if isinstance(one, list | tuple):
            yield from one
        else:
            yield one


def resolved(tree: Tree, columns: Mapping[str, Tree], why: str = "") -> Tree:
    """The tree with each column replaced by what it stands for."""

    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        if node.name in columns:
            found = columns[node.name]
            return exp.paren(found.copy()) if isinstance(found, exp.Binary | exp.Not | exp.Between) else found.copy()
        if node.name == AS_OF:
            return node
        raise NotReadError(f"column {node.name!r} {why or 'is unknown here'}")

    return tree.copy().transform(replace)


def conjuncts(tree: Tree) -> list[Tree]:
    """The conditions that a condition joins by AND."""
    tree = tree.unnest()
    return [*conjuncts(tree.left), *conjuncts(tree.right)] if isinstance(tree, exp.And) else [tree]


def mentions(tree: Tree, name: str) -> bool:
    return any(node.name == name for node in tree.find_all(exp.Column))


def before_cutoff(tree: Tree) -> timedelta | None:
    """How long before the cut-off a time lies; None if it is something else."""
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        return timedelta(0) if tree.name == AS_OF else None
    if isinstance(tree, exp.Cast):
        return before_cutoff(tree.this)
    if isinstance(tree, exp.Anonymous) and function_name(tree) in _OF_TIME:
        return before_cutoff(tree.expressions[0])
    if isinstance(tree, exp.Sub) and (start := before_cutoff(tree.left)) is not None:
        length = interval(tree.right)
        return None if length is None else start + length
    return None


def interval(tree: Tree) -> timedelta | None:
    """The length of an interval, or of a number of microseconds."""
    tree = tree.unnest()
    if isinstance(tree, exp.Interval):
        unit = str(tree.unit).upper().rstrip("S")
        amount = tree.this.name
        known = unit in _INTERVALS and amount.isdigit()
        return timedelta(seconds=int(amount) * _INTERVALS[unit]) if known else None
    number = number_of(tree)
    return None if number is None else timedelta(microseconds=number)


def number_of(tree: Tree) -> float | None:
    """The value of a numeric literal, or of a product of them."""
    tree = tree.unnest()
    if isinstance(tree, exp.Literal) and not tree.is_string:
        return float(tree.name)
    if isinstance(tree, exp.Mul):
        left, right = number_of(tree.left), number_of(tree.right)
        return None if left is None or right is None else left * right
    return None


def time_column(tree: Tree) -> str | None:
    """The column whose time the tree holds."""
    tree = tree.unnest()
    if isinstance(tree, exp.Cast):
        return time_column(tree.this)
    if isinstance(tree, exp.Anonymous) and function_name(tree) in _OF_TIME:
        return time_column(tree.expressions[0])
    return tree.name if isinstance(tree, exp.Column) else None


@dataclass(frozen=True)
class TimeTest:
    """A condition that compares a time of a row with the cut-off."""

    column: str
    is_upper: bool
    before: timedelta
    is_half_open: bool
    """Whether it excludes the cut-off at the upper end, and includes the lower end."""


def time_tests(condition: Tree) -> list[TimeTest]:
    """The comparisons with the cut-off that a condition consists of; none if it is anything else."""
    condition = condition.unnest()
    if isinstance(condition, exp.Between):
        column = time_column(condition.this)
        low, high = before_cutoff(condition.args["low"]), before_cutoff(condition.args["high"])
        if column is None or low is None or high is None:
            return []
        return [TimeTest(column, False, low, True), TimeTest(column, True, high, False)]
    if not isinstance(condition, exp.LT | exp.LTE | exp.GT | exp.GTE):
        return []
    left, right = condition.left, condition.right
    is_less, is_strict = isinstance(condition, exp.LT | exp.LTE), isinstance(condition, exp.LT | exp.GT)
    if before_cutoff(left) is not None:
        left, right, is_less = right, left, not is_less
    column, before = time_column(left), before_cutoff(right)
    if column is None or column == AS_OF or before is None:
        return []
    return [TimeTest(column, is_less, before, is_strict == is_less)]


def is_open_state(condition: Tree, table: Table) -> bool:
    """Whether the condition is that a state was valid at the cut-off, or had no end."""
    parts = condition.unnest()
    if not isinstance(parts, exp.Or) or table.valid_to is None:
        return False
    sides = [parts.left.unnest(), parts.right.unnest()]
    ends = [side for side in sides if isinstance(side, exp.Is) and side.this.name == table.valid_to]
    later = [side for side in sides if isinstance(side, exp.GTE) and time_column(side.left) == table.valid_to]
    return len(ends) == len(later) == 1


def duration(length: timedelta) -> str:
    """A length of time as written in specifications."""
    return str(Duration(length.days, length.seconds))
