"""Translates Spark SQL expressions to PySpark functions (`F`).

Translated expressions mean exactly the same to Spark's analyzer as the SQL text; all others become `F.expr` with
the author's own text. In both, `/` and `%` give null for a zero divisor.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import sqlglot
from sqlglot import TokenType, exp

from palmette.features.pyspark.code import (
    AND,
    COMPARISON,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    CodeFragment,
    call,
    column,
    literal,
    method,
    quoted,
)
from palmette.features.spec.sql import ExpressionError, function_name, parse
from palmette.features.spec.view import Schema

TRY_DIVIDE = "F.try_divide({numerator}, {denominator})"


class _UncoveredError(Exception):
    """Raised if the expression has no exact PySpark equivalent here."""


def translate(sql: str, schema: Schema | None = None, divide: str = TRY_DIVIDE) -> CodeFragment:
    """Source of the Column for an SQL expression over the columns of `schema`.

    `divide` is the call for `/`, with `{numerator}` and `{denominator}` as Columns.
    """
    try:
        if "\\" in sql or re.search(r"\btry_cast\b|--|/\*", sql, re.IGNORECASE):
            raise _UncoveredError
        return _Translator(schema or {}, divide).code(parse(sql).tree)
    except ExpressionError:
        return expr(sql)
    except _UncoveredError:
        return CodeFragment(f"F.expr({quoted(safe_sql(sql))})")


def expr(sql: str) -> CodeFragment:
    """Wraps the author's text in `F.expr`."""
    return CodeFragment(f"F.expr({quoted(sql)})")


def sql_name(name: str) -> str:
    """A column's name in Spark SQL, in backticks if it could be parsed as something else.

    >>> sql_name("offer_id"), sql_name("end"), sql_name("shop no")
    ('offer_id', '`end`', '`shop no`')
    """
    (first, *others) = sqlglot.tokenize(name, read="spark")
    return name if first.token_type is TokenType.VAR and not others else f"`{name}`"


def safe_sql(sql: str) -> str:
    """The text with `/` and `%` made null for a zero divisor; unchanged if it contains neither."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    if not tree.find(exp.Div, exp.Mod):
        return sql if re.search(r"['\"`]|--", sql) else " ".join(sql.split())

    root = exp.Paren(this=tree)
    for node in reversed(list(root.find_all(exp.Div, exp.Mod))):
        node.replace(safe_division(node))
    return str(root.this.sql(dialect="spark"))


def safe_division(node: exp.Expr) -> exp.Expr:
    """A division or remainder that is null for a zero divisor, in functions that Spark 3.5 has too."""
    left, right = node.this.unnest().copy(), node.expression.unnest().copy()
    if isinstance(node, exp.Div):
        return exp.Anonymous(this="try_divide", expressions=[left, right])
    if not _is_nonzero(right):
        right = exp.Anonymous(this="nullif", expressions=[right, exp.Literal.number(0)])
    return exp.Mod(this=node.this.copy(), expression=right)


def _is_nonzero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.name) != 0


_OPERATORS: Mapping[type[exp.Expr], tuple[str, int]] = {
    exp.EQ: ("==", COMPARISON),
    exp.NEQ: ("!=", COMPARISON),
    exp.GT: (">", COMPARISON),
    exp.GTE: (">=", COMPARISON),
    exp.LT: ("<", COMPARISON),
    exp.LTE: ("<=", COMPARISON),
    exp.Add: ("+", SUM),
    exp.Sub: ("-", SUM),
    exp.Mul: ("*", PRODUCT),
}
_UNARY = (
    "abs lower upper length sqrt exp year month hour minute quarter dayofmonth to_date sum avg min max stddev count_if "
    "floor ceil ln sign trim count"
)
_FUNCTIONS = {
    **{name: 1 for name in _UNARY.split()},
    **{name: 2 for name in ("nullif", "pow", "datediff")},
    **{name: None for name in ("coalesce", "greatest", "least", "concat")},
}
"""Functions of the same name in PySpark, with their number of arguments (None: any)."""
_SYNONYMS = {"nvl": "coalesce", "ifnull": "coalesce", "power": "pow", "ceiling": "ceil", "day": "dayofmonth"}


class _Translator:
    """Translates one expression over the columns of a schema."""

    def __init__(self, schema: Schema, divide: str) -> None:
        self._schema = schema
        self._divide = divide
        self._handlers: Mapping[type[exp.Expr], Callable[[exp.Expr], CodeFragment]] = {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: literal(bool(node.this)),
            exp.Null: lambda _: literal(None),
            exp.Paren: lambda node: self.code(node.this),
            exp.Neg: self._negative,
            exp.And: lambda node: self._logical(node, "&", AND),
            exp.Or: lambda node: self._logical(node, "|", OR),
            exp.Not: self._not,
            exp.NullSafeEQ: lambda node: self._method(node, "eqNullSafe"),
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Case: self._case,
            exp.If: lambda node: self._case(exp.Case(ifs=[node], default=node.args.get("false"))),
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Div: self._division,
            exp.Mod: self._modulo,
            exp.Like: self._like,
            exp.RegexpLike: self._like,
            exp.ILike: self._like,
            exp.DPipe: lambda node: self._call("concat", [*node.flatten()]),
            exp.Trim: lambda node: self._call("trim", [node.this] if _only(node, "this") else []),
            exp.Anonymous: self._function,
        }

    def code(self, node: exp.Expr) -> CodeFragment:
        kind = type(node)
        if kind in _OPERATORS:
            symbol, strength = _OPERATORS[kind]
            left, right = self._operands(node)
            compares = strength == COMPARISON  # in Python, comparisons make chains
            left = left.as_column if compares or right.literal else left
            return CodeFragment(f"{left.within(strength + compares)} {symbol} {right.within(strength + 1)}", strength)
        if kind not in self._handlers:
            raise _UncoveredError
        return self._handlers[kind](node)

    def _operands(self, node: exp.Expr) -> tuple[CodeFragment, CodeFragment]:
        """Both operands; a decimal literal becomes a Python float only next to a floating-point column."""
        floating = any(self._is_floating(side) for side in (node.this, node.expression))
        return self._side(node.this, floating), self._side(node.expression, floating)

    def _side(self, node: exp.Expr, floating: bool) -> CodeFragment:
        inner = node.unnest()
        sign = "-" if isinstance(inner, exp.Neg) else ""
        number = inner.this if sign else inner
        if floating and isinstance(number, exp.Literal) and not number.is_string and "." in number.this:
            return CodeFragment(repr(float(sign + number.this)), literal=True)
        return self.code(node)

    def _is_floating(self, node: exp.Expr) -> bool:
        """Whether the type is known to be float or double."""
        inner = node.unnest()
        if isinstance(inner, exp.Column):
            kind = self._schema.get(inner.name)
            return kind is not None and kind.name in ("float", "double")
        if function_name(inner) in ("abs", "sum", "avg", "min", "max"):
            return self._is_floating(inner.expressions[0])
        if isinstance(inner, exp.Neg):
            return self._is_floating(inner.this)
        return isinstance(inner, exp.Add | exp.Sub | exp.Mul) and self._is_floating(inner.this)

    def _column(self, node: exp.Expr) -> CodeFragment:
        if isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier):
            return column(node.name)
        raise _UncoveredError

    def _literal(self, node: exp.Expr) -> CodeFragment:
        if node.is_string:
            return literal(node.this)
        if re.fullmatch(r"\d{1,18}", node.this):
            return literal(int(node.this))
        raise _UncoveredError

    def _negative(self, node: exp.Expr) -> CodeFragment:
        inner = self.code(node.this)
        if inner.literal and inner.text.isdigit():
            return CodeFragment(f"-{inner.text}", UNARY, literal=True)
        return CodeFragment(f"-{inner.as_column.within(UNARY)}", UNARY)

    def _logical(self, node: exp.Expr, symbol: str, strength: int) -> CodeFragment:
        left, right = self.code(node.this).as_column, self.code(node.expression).as_column
        return CodeFragment(f"{left.within(strength)} {symbol} {right.within(strength)}", strength)

    def _not(self, node: exp.Expr) -> CodeFragment:
        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return method(self.code(inner.this), "isNotNull")
        return CodeFragment(f"~{self.code(inner).as_column.within(UNARY)}", UNARY)

    def _method(self, node: exp.Expr, name: str) -> CodeFragment:
        return method(self.code(node.this), name, self.code(node.expression).text)

    def _is(self, node: exp.Expr) -> CodeFragment:
        if isinstance(node.expression, exp.Null):
            return method(self.code(node.this), "isNull")
        raise _UncoveredError

    def _in(self, node: exp.Expr) -> CodeFragment:
        items = [self.code(item) for item in node.expressions]
        if not items or not all(item.literal for item in items) or not _only(node, "this", "expressions"):
            raise _UncoveredError
        return method(self.code(node.this), "isin", *(item.text for item in items))

    def _between(self, node: exp.Expr) -> CodeFragment:
        if node.args.get("symmetric"):
            raise _UncoveredError
        floating = self._is_floating(node.this)
        bounds = [self._side(node.args[name], floating).text for name in ("low", "high")]
        return method(self.code(node.this), "between", *bounds)

    def _case(self, node: exp.Expr) -> CodeFragment:
        subject = node.this
        text = "F"
        for branch in node.args["ifs"]:
            test = exp.EQ(this=subject, expression=branch.this) if subject is not None else branch.this
            text += f".when({self.code(test).as_column.text}, {self.code(branch.args['true']).text})"
        default = node.args.get("default")
        return CodeFragment(text + (f".otherwise({self.code(default).text})" if default is not None else ""))

    def _cast(self, node: exp.Expr) -> CodeFragment:
        if not _only(node, "this", "to"):
            raise _UncoveredError
        return method(self.code(node.this), "cast", quoted(node.args["to"].sql(dialect="spark").lower()))

    def _division(self, node: exp.Expr) -> CodeFragment:
        sides = self._operands(node)
        left, right = (side.argument if self._divide == TRY_DIVIDE else side.as_column.text for side in sides)
        return CodeFragment(self._divide.format(numerator=left, denominator=right))

    def _modulo(self, node: exp.Expr) -> CodeFragment:
        left, right = self._operands(node)
        if not _is_nonzero(node.expression.unnest()):
            right = call("F.nullif", right.argument, "F.lit(0)")
        return CodeFragment(f"{left.as_column.within(PRODUCT)} % {right.within(PRODUCT + 1)}", PRODUCT)

    def _like(self, node: exp.Expr) -> CodeFragment:
        pattern = node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string and _only(node, "this", "expression")):
            raise _UncoveredError
        names: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
        return self._method(node, names[type(node)])

    def _function(self, node: exp.Expr) -> CodeFragment:
        name, arguments = str(node.this).lower(), node.expressions
        name, first = _SYNONYMS.get(name, name), arguments[0] if arguments else None
        if name == "count" and isinstance(first, exp.Star):
            return call("F.count", quoted("*"))
        if name == "count" and isinstance(first, exp.Distinct):
            return self._call("count_distinct", first.expressions)
        if name == "startswith" and len(arguments) == 2:
            return method(self.code(arguments[0]), name, self.code(arguments[1]).text)
        digits = [item.sql() for item in arguments[1:]]
        if name == "round" and first is not None and all(re.fullmatch(r"-?\d+", text) for text in digits):
            return call("F.round", self.code(first).argument, *digits)
        if _FUNCTIONS.get(name, 0) not in (None, len(arguments)):
            raise _UncoveredError
        return self._call(name, arguments)

    def _call(self, name: str, arguments: Sequence[exp.Expr]) -> CodeFragment:
        if not arguments:
            raise _UncoveredError
        return call(f"F.{name}", *(self.code(item).argument for item in arguments))


def _only(node: exp.Expr, *names: str) -> bool:
    """Whether only these arguments are given."""
    return all(not value or name in names for name, value in node.args.items())
