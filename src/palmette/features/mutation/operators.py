"""Mutation operators: each looks at one node and yields replacements for its source text.

Operators know the vocabulary of PySpark, not the script.
"""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import sqlglot
from sqlglot import TokenType

from palmette.features.script_tree import ScriptTree, called, is_spark_function, literal

Operator = Callable[[ScriptTree, ast.AST], Iterator[str]]

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip


def _swapped(*pairs: str) -> dict[str, tuple[str, ...]]:
    """Each name to its counterpart, both ways."""
    both = [pair.split() for pair in pairs]
    return {one: (other,) for pair in both for one, other in (pair, pair[::-1])}


_FUNCTIONS = {
    **_swapped("min max", "max_by min_by", "collect_list collect_set", "greatest least", "lag lead", "first last"),
    **_swapped("date_sub date_add", "desc asc", "floor ceil", "upper lower", "bool_or bool_and", "count countDistinct"),
    "sum": ("avg", "max"), "avg": ("sum", "max"), "mean": ("sum",), "every": ("some",), "to_date": ("to_timestamp",),
    "stddev": ("stddev_pop",), "stddev_samp": ("stddev_pop",), "count_distinct": ("count",),
    "approx_count_distinct": ("count",),
}  # fmt: skip
_METHODS = {
    **_swapped("asc desc", "isNull isNotNull", "desc_nulls_last asc_nulls_last"),
    "asc_nulls_first": ("desc_nulls_first",), "rowsBetween": ("rangeBetween",),
}  # fmt: skip
_DROPPED = ("where", "filter", "distinct", "dropDuplicates", "dropna", "fillna", "cast")
_DEFAULTS = ("coalesce", "nvl", "ifnull")
_JOINS = {
    "left": "inner", "left_outer": "inner", "leftouter": "inner", "inner": "left", "left_semi": "left_anti",
    "leftsemi": "left_anti", "left_anti": "left_semi",
}  # fmt: skip
_DISTINCT = re.compile(r"(?i)^count\(DISTINCT ([^()]+)\)( FILTER \(WHERE [^()]+\))$")
_INTERVAL = re.compile(r"(?i)^(.*?\bINTERVAL\s+'?)(\d+)(.*)$")


def comparisons(_source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Moves the boundary of a comparison."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        changed = ast.Compare(node.left, [_COMPARE[type(node.ops[0])]()], node.comparators)
        yield ast.unparse(changed)


def arithmetic(_source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Replaces an arithmetic or logical operator."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.unparse(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield ast.unparse(node.left)
        yield ast.unparse(node.right)


def negations(_source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Removes a negation."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield ast.unparse(node.operand)


def constants(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Changes numbers by one, booleans, durations, and DISTINCT or the operand of a count in SQL."""
    if not isinstance(node, ast.Constant) or id(node) in source.docstrings or _is_neutral(source, node):
        return
    if isinstance(node.value, bool):
        yield repr(not node.value)
    elif isinstance(node.value, int | float):
        yield repr(node.value + 1)
    elif isinstance(node.value, str) and (match := _INTERVAL.match(node.value)):
        yield repr(f"{match[1]}{int(match[2]) + 1}{match[3]}")
    elif isinstance(node.value, str) and (match := _DISTINCT.match(node.value)):
        yield repr(f"count({match[1]}){match[2]}")
        yield repr(f"count(DISTINCT {match[1]})")


def _is_neutral(source: ScriptTree, node: ast.Constant) -> bool:
    """Whether a constant only concerns formatting or layout and does not affect features."""
    parent = source.parents.get(id(node))
    if isinstance(parent, ast.keyword):
        return parent.arg not in ("days", "hours", "minutes", "offset", "default")
    return isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.Subscript | ast.arguments)


def functions(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Replaces a Spark function or column method by a related one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        related = _FUNCTIONS if is_spark_function(source, node) else _METHODS
        for other in related.get(node.func.attr, ()):
            renamed = ast.Attribute(node.func.value, other, ast.Load())
            yield ast.unparse(ast.Call(renamed, node.args, node.keywords))


def dropped_calls(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Removes a filter, a distinct, a cast or a fill of nulls."""
    match node:
        case ast.Call(func=ast.Attribute(value=before, attr=name)) if not is_spark_function(source, node):
            if name in _DROPPED or (name == "otherwise" and node.args):
                yield ast.unparse(before)


def dropped_defaults(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Removes the value that replaces null."""
    match node:
        case ast.Call(args=[value, _, *_]) if called(node) in _DEFAULTS and is_spark_function(source, node):
            yield ast.unparse(value)


def conditions(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Makes the condition of `when` independent of its column."""
    match node:
        case ast.Call(func=ast.Attribute(attr="when") as when, args=[_, result]) if is_spark_function(source, node):
            true = ast.Call(ast.Attribute(when.value, "lit", ast.Load()), [ast.Constant(True)], [])
            yield ast.unparse(ast.Call(when, [true, result], []))


def joins(_source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Changes the type of a join, or removes keys."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "join":
        return
    given = dict(zip(("other", "on", "how"), node.args, strict=False)) | {k.arg or "": k.value for k in node.keywords}
    kind, keys = given.get("how"), given.get("on")
    if isinstance(kind, ast.Constant) and kind.value in _JOINS:
        yield _with_argument(node, kind, ast.Constant(_JOINS[kind.value]))
    if isinstance(keys, ast.List | ast.Tuple) and len(keys.elts) > 1:
        for i in range(len(keys.elts)):
            yield _with_argument(node, keys, ast.List(keys.elts[:i] + keys.elts[i + 1 :], ast.Load()))


def _with_argument(node: ast.Call, old: ast.expr, new: ast.expr) -> str:
    args = [new if item is old else item for item in node.args]
    keywords = [ast.keyword(k.arg, new if k.value is old else k.value) for k in node.keywords]
    return ast.unparse(ast.Call(node.func, args, keywords))


def grouping_keys(_source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Removes a key from a group or a window."""
    if isinstance(node, ast.Call) and called(node) in ("groupBy", "partitionBy", "orderBy") and len(node.args) > 1:
        for i in range(len(node.args)):
            yield ast.unparse(ast.Call(node.func, node.args[:i] + node.args[i + 1 :], []))


def columns(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Uses another column of the same table and type."""
    if not isinstance(node, ast.Call) or not is_spark_function(source, node) or len(node.args) != 1:
        return
    argument = node.args[0]
    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str) or called(node) == "lit":
        return
    for item in source.view.sources:
        kinds = item.table.column_types
        names = [name for name, kind in kinds.items() if kind == kinds.get(argument.value)]
        if len(names) > 1:
            other = names[(names.index(argument.value) + 1) % len(names)]
            yield ast.unparse(ast.Call(node.func, [ast.Constant(other)], []))
            return


_TOKENS: dict[str, tuple[str, ...]] = {
    **{name.upper(): tuple(filter(str.islower, related)) for name, related in _FUNCTIONS.items()},
    **_swapped("AND OR", "LEFT INNER", "ASC DESC", "TRUE FALSE", "< <=", "> >=", "= <>", "+ -", "* /"),
    "FULL": ("LEFT",), "NOT": ("",), "DISTINCT": ("",),
}  # fmt: skip


def queries(source: ScriptTree, node: ast.AST) -> Iterator[str]:
    """Changes one token of a query: an operator, a keyword, a function, a number or an interval."""
    query, in_between = str(getattr(node, "value", "")), False
    is_text = isinstance(node, ast.Constant) and id(node) not in source.docstrings
    is_query = is_text and re.match(r"(?:\s|--.*\n)*(WITH|SELECT)\b", query, re.IGNORECASE)
    for before, token in pairwise(sqlglot.tokenize(query, read="spark") if is_query else ()):
        text, is_operand = token.text.upper(), before.token_type in (TokenType.VAR, TokenType.NUMBER, TokenType.R_PAREN)
        others = _TOKENS.get(text, ()) if is_operand or text not in ("*", "-") else ()
        if text.isdigit() and before.text.upper() in ("INTERVAL", *_TOKENS):
            others = (f"'{int(text) + 1}'" if token.token_type is TokenType.STRING else str(int(text) + 1),)
        others = () if in_between and text == "AND" else others
        in_between = text == "BETWEEN" or (in_between and text != "AND")
        yield from (literal(query[: token.start] + other + query[token.end + 1 :]) for other in others)


OPERATORS: tuple[Operator, ...] = (
    comparisons, arithmetic, negations, constants, functions, dropped_calls, dropped_defaults, conditions, joins,
    grouping_keys, columns, queries,
)  # fmt: skip
