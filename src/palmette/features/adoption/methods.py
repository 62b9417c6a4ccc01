"""Functions and methods of PySpark on symbolic columns, windows and data frames."""

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from sqlglot import exp

from palmette.features.adoption import frames, trees
from palmette.features.adoption.aggregates import over
from palmette.features.adoption.frames import Frame, Grouped, Keyed, ScriptReading
from palmette.features.adoption.trees import NotReadError, Tree
from palmette.features.pyspark.house_style import TYPE_OBJECTS
from palmette.features.spec.view import AS_OF


def _both(kind: type[exp.Connector], left: Any, right: Any) -> Any:
    """AND or OR of two conditions, in parentheses, which sqlglot's own operators can lose."""
    return kind(this=left if isinstance(left, kind) else exp.paren(left), expression=exp.paren(right))


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.BitAnd: partial(_both, exp.And), ast.BitOr: partial(_both, exp.Or),
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Eq: lambda left, right: left.eq(right) if isinstance(left, exp.Expr) else left == right,
    ast.NotEq: lambda left, right: left.neq(right) if isinstance(left, exp.Expr) else left != right,
}  # fmt: skip
_UNCHANGED = frozenset({
    "repartition", "coalesce", "cache", "persist", "checkpoint", "localCheckpoint", "hint", "alias", "orderBy", "sort",
    "sortWithinPartitions", "unpersist", "repartitionByRange",
})  # fmt: skip
"""Methods of data frames that change no value."""
_TYPES = {name: kind for kind, name in TYPE_OBJECTS.items()}


@dataclass(frozen=True)
class DottedName:
    """A dotted name of a library: `pyspark.sql.functions`, or a method of a value."""

    dotted: str


@dataclass(frozen=True)
class Method:
    of: object
    name: str


def labelled(value: object) -> tuple[str, Tree]:
    """The name of an output column, and its tree."""
    if isinstance(value, str):
        return value, exp.column(value)
    tree = trees.tree_of(value)
    if isinstance(tree, exp.Alias):
        return tree.alias, tree.this
    bare = tree
    while isinstance(bare, exp.Cast):
        bare = bare.this
    return (bare.name if isinstance(bare, exp.Column) else tree.sql("spark")), tree


def binary(op: ast.AST, left: Any, right: Any) -> Any:
    if type(op) not in _OPERATORS:
        raise NotReadError(f"the operator {type(op).__name__} is not understood")
    if isinstance(left, exp.Expr) or isinstance(right, exp.Expr):
        left, right = trees.tree_of(left), trees.tree_of(right)
    return _OPERATORS[type(op)](left, right)


def unary(op: ast.unaryop, value: Any) -> Any:
    """`~`, `-` or `not`."""
    if isinstance(value, exp.Expr):
        return ~value if isinstance(op, ast.Invert) else -value
    if isinstance(op, ast.Not) and isinstance(value, bool | int | str | list | dict | None):
        return not value
    if isinstance(op, ast.USub) and isinstance(value, int | float):
        return -value
    raise NotReadError("this negation is not understood")


def type_name(name: str, arguments: Sequence[object]) -> str:
    if name == "DecimalType":
        return f"decimal({arguments[0]},{arguments[1]})"
    if name == "ArrayType":
        return f"array<{arguments[0]}>"
    if name not in _TYPES:
        raise NotReadError(f"{name} is not understood")
    return _TYPES[name]


def window_method(ordering: trees.Ordering, name: str, arguments: Sequence[object]) -> trees.Ordering:
    given = trees.flat(arguments)
    if name == "partitionBy":
        return replace(ordering, by=tuple(trees.named(one).name for one in given))
    if name == "orderBy":
        return replace(ordering, order=tuple(_direction(one) for one in given))
    if name in ("rowsBetween", "rangeBetween"):
        edges = [getattr(one, "dotted", "").rpartition(".")[2] for one in arguments]
        return replace(ordering, is_running=(name, *edges) == ("rowsBetween", "unboundedPreceding", "currentRow"))
    raise NotReadError(f"Window.{name} is not understood")


def _direction(value: object) -> tuple[str, bool]:
    tree = trees.named(value)
    return (tree.this.name, not tree.args.get("desc")) if isinstance(tree, exp.Ordered) else (tree.name, True)


def spark_function(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    match name, arguments:
        case (("col" | "column"), [str() as text]):
            name, *fields = text.split(".") if "`" not in text else [text.strip("`")]
            return exp.Dot.build([exp.column(name), *map(exp.to_identifier, fields)]) if fields else exp.column(name)
        case "lit", [value]:
            return trees.tree_of(value)
        case "expr", [str() as text]:
            return trees.sql(text)
        case "when", [condition, value]:
            return exp.Case(ifs=[exp.If(this=condition, true=trees.tree_of(value))])
        case "broadcast", [frame]:
            return frame
        case (("asc" | "desc"), [value]):
            return exp.Ordered(this=trees.named(value), desc=name == "desc")
    return trees.function_call(name, arguments, keywords)


def column_method(tree: Tree, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    values = [*arguments, *keywords.values()]
    match name, values:
        case (("alias" | "name"), [str() as text]):
            return exp.alias_(tree, text)
        case (("cast" | "astype" | "try_cast"), [str() as kind]):
            made = exp.TryCast if name == "try_cast" else exp.Cast
            return made(this=tree, to=exp.DataType.build(kind, dialect="spark"), safe=name == "try_cast")
        case "when", [condition, value] if isinstance(tree, exp.Case):
            return exp.Case(ifs=[*tree.args["ifs"], exp.If(this=condition, true=trees.tree_of(value))])
        case "otherwise", [value] if isinstance(tree, exp.Case):
            return exp.Case(ifs=tree.args["ifs"], default=trees.tree_of(value))
        case "over", [trees.Ordering() as window]:
            return over(tree, window)
        case (("asc" | "desc" | "desc_nulls_last" | "asc_nulls_first"), []):
            return exp.Ordered(this=tree, desc=name.startswith("desc"))
        case "astimezone", _:  # of the cut-off, to UTC
            return trees.call("to_utc_timestamp", tree, trees.call("current_timezone"))
        case "date", []:
            return trees.call("to_date", tree)
        case "isoformat", []:
            return exp.cast(tree, "string", dialect="spark")
        case (("getItem" | "getField"), [index]):
            return exp.Bracket(this=tree, expressions=[trees.tree_of(index)])
        case (("startswith" | "endswith" | "contains" | "substr"), _):
            return trees.call(name, tree, *(trees.tree_of(one) for one in values))
    return _condition(tree, name, values)


def _condition(tree: Tree, name: str, values: list[Any]) -> Tree:
    match name, values:
        case (("isNull" | "isNotNull"), []):
            test = tree.is_(exp.null())
            return test if name == "isNull" else exp.Not(this=test)
        case "isin", _:
            items = values[0] if len(values) == 1 and isinstance(values[0], list) else values
            return tree.isin(*(trees.tree_of(one) for one in items))
        case "between", [low, high]:
            return tree.between(trees.tree_of(low), trees.tree_of(high))
        case (("like" | "rlike"), [other]):
            return (tree.like if name == "like" else tree.rlike)(trees.tree_of(other))
        case "eqNullSafe", [other]:
            return exp.NullSafeEQ(this=tree, expression=trees.tree_of(other))
    raise NotReadError(f"the method {name} of a column is not understood")


def aggregated(reading: ScriptReading, grouped: Grouped, name: str, arguments: list[Any]) -> Keyed:
    if name == "agg":
        pairs = [labelled(one) for one in _read(reading, arguments)]
    elif name == "count":
        pairs = [("count", trees.call("count", exp.Star()))]
    elif name in ("sum", "avg", "mean", "min", "max"):
        pairs = [(f"{name}({one})", trees.call(name, exp.column(one))) for one in arguments]
    else:
        raise NotReadError(f"groupBy().{name} is not understood")
    return frames.aggregated(reading, grouped, pairs)


def frame_method(
    reading: ScriptReading, frame: Frame, name: str, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    if name in _UNCHANGED:
        return frame
    if name in ("scalar", "first", "collect", "head"):
        return exp.Placeholder()  # a value of another query, such as the earliest cut-off
    if name not in _METHODS:
        raise NotReadError(f"the method {name} of a data frame is not understood")
    return _METHODS[name](reading, frame, *arguments, **keywords)


def _read(reading: ScriptReading, values: Sequence[object]) -> Iterator[object]:
    """The columns that can be read; a note for each other."""
    for one in values:
        if isinstance(one, trees.Unread):
            reading.note(f"{one.name or 'a column'}: {one.reason}", one.line)
        else:
            yield one


def _select(reading: ScriptReading, frame: Frame, *columns: object) -> Frame:
    chosen = list[tuple[str, Tree]]()
    for one in trees.flat(_read(reading, columns)):
        chosen += [(name, exp.column(name)) for name in frame.columns] if one == "*" else [labelled(one)]
    return frames.select(reading, frame, chosen)


def _join(
    reading: ScriptReading, left: Frame, right: Frame | trees.Unread, on: object = None, how: str = "inner"
) -> Frame:
    if isinstance(right, trees.Unread):
        reading.note(right.reason, right.line)
        if not isinstance(left, Keyed):
            raise NotReadError(right.reason, right.line)
        return replace(left, missing=f"is computed in a way that is not read (line {right.line})")
    if isinstance(on, exp.Expr) and not (isinstance(on, exp.NullSafeEQ) and getattr(right, "are_cutoffs", False)):
        raise NotReadError("a join on a condition is not understood; a join on names of columns is")
    names = [on] if isinstance(on, str) else [] if isinstance(on, exp.Expr) else list(cast(Sequence[str], on))
    return frames.join(reading, left, right, names, how)


def _fill(reading: ScriptReading, frame: Frame, value: Any, subset: Sequence[str] | str | None = None) -> Frame:
    names = [subset] if isinstance(subset, str) else subset or list(frame.columns)
    values = value if isinstance(value, dict) else dict.fromkeys(names, value)
    if not isinstance(value, dict) and subset is None:
        reading.note(f"fillna({value!r}) replaces null in all columns of its type; it is read for every feature")
        keys = getattr(frame, "keys", ())
        values = {name: one for name, one in values.items() if name not in (*keys, AS_OF)}
    filled = {name: trees.call("coalesce", exp.column(name), trees.tree_of(one)) for name, one in values.items()}
    return frames.with_columns(reading, frame, filled)


def _group(_: ScriptReading, frame: Frame, *keys: object) -> Grouped:
    return frames.group(frame, [trees.named(one).name for one in trees.flat(keys)])


def _drop(_: ScriptReading, frame: Frame, *names: object) -> Frame:
    gone = {trees.named(one).name for one in names}
    return replace(frame, columns={name: tree for name, tree in frame.columns.items() if name not in gone})


def _where(reading: ScriptReading, frame: Frame, condition: object) -> Frame:
    return frames.where(
        reading, frame, trees.sql(condition) if isinstance(condition, str) else trees.tree_of(condition)
    )


def _not_null(reading: ScriptReading, frame: Frame, *_: str, subset: Sequence[str] | str | None = None) -> Frame:
    names = [subset] if isinstance(subset, str) else list(subset or frame.columns)
    for name in names:
        frame = frames.where(reading, frame, exp.Not(this=exp.Is(this=exp.column(name), expression=exp.Null())))
    return frame


_METHODS: dict[str, Callable[..., Any]] = {
    "select": _select,
    "where": _where,
    "filter": _where,
    "join": _join,
    "groupBy": _group,
    "groupby": _group,
    "drop": _drop,
    "withColumnRenamed": lambda _, frame, old, new: replace(
        frame, columns={new if name == old else name: tree for name, tree in frame.columns.items()}
    ),
    "withColumn": lambda reading, frame, name, tree: frames.with_columns(reading, frame, {name: trees.tree_of(tree)}),
    "withColumns": lambda reading, frame, added: frames.with_columns(
        reading, frame, {name: trees.tree_of(tree) for name, tree in added.items()}
    ),
    "dropna": _not_null,
    "fillna": _fill,
    "distinct": lambda _, frame: frames.distinct(frame),
    "dropDuplicates": lambda _, frame, names=None: frames.drop_duplicates(frame, names),
    "union": lambda _, frame, other: frames.union(frame, other),
    "unionByName": lambda _, frame, other: frames.union(frame, other),
}
