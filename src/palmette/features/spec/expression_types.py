"""Types of Spark SQL expressions, by Spark's ANSI rules but without its casts between text and other types.

`Typer.of` gives the type of an expression, or None where it cannot be told: for functions that are not in the
lists of `spark_functions.yaml`, and for values that the formats have no name for (structs). It never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from palmette.features.spec import functions
from palmette.features.spec.function_types import result_of
from palmette.features.spec.functions import INTERVAL
from palmette.features.spec.type_rules import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Operator,
    arithmetic_type,
    castable,
    common_type,
    comparable,
)
from palmette.features.spec.values import SparkType

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}


class Typer:
    """Infers types bottom up and keeps what is illegal in `faults` (message, remedy)."""

    def __init__(self, schema: Mapping[str, SparkType]) -> None:
        self.schema = schema
        self.faults: list[tuple[str, str]] = []
        self._local: dict[str, SparkType | None] = {}

    def of(self, node: exp.Expression | None) -> SparkType | None:
        """The type of `node`; None when it cannot be told."""
        if node is None:
            return None
        for kind, method in self._methods().items():
            if isinstance(node, kind):
                return method(node)
        return None

    def _methods(self) -> Mapping[type | tuple[type, ...], Callable[[exp.Expression], SparkType | None]]:
        return {
            exp.Paren: lambda node: self.of(node.this),
            exp.Column: self._column,
            exp.Identifier: lambda node: self._local.get(node.name),
            exp.Literal: _literal,
            exp.Boolean: lambda _: BOOLEAN,
            exp.Null: lambda _: NULL,
            exp.Interval: lambda _: INTERVAL,
            exp.Cast: self._cast,
            exp.Neg: self._negation,
            (exp.And, exp.Or, exp.Not): self._logic,
            (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike): self._text_match,
            exp.Is: self._is,
            (
                exp.EQ,
                exp.NEQ,
                exp.GT,
                exp.GTE,
                exp.LT,
                exp.LTE,
                exp.NullSafeEQ,
                exp.NullSafeNEQ,
            ): self._comparison,
            exp.In: self._in,
            exp.Between: self._between,
            (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv): self._arithmetic,
            exp.DPipe: self._concatenation,
            exp.Case: self._case,
            exp.If: lambda node: self._common(node, [node.args.get("true"), node.args.get("false")]),
            exp.Bracket: self._bracket,
            (exp.Filter, exp.IgnoreNulls, exp.RespectNulls): lambda node: self.of(node.this),
            exp.WithinGroup: self._within_group,
            exp.Transform: lambda node: self._transform(node.this, node.expression),
            (exp.Substring, exp.Trim, exp.Overlay, exp.GroupConcat): lambda _: STRING,
            exp.StrPosition: lambda _: INT,
            exp.Extract: lambda node: None if node.name.lower().startswith("s") else INT,
            exp.Any: lambda _: BOOLEAN,
            (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot): lambda node: self.of(node.this),
            exp.Distinct: lambda node: self.of(node.expressions[0]),
            exp.Anonymous: self._function,
        }

    def _fault(self, message: str, remedy: str = "") -> None:
        if (message, remedy) not in self.faults:
            self.faults.append((message, remedy))

    def _column(self, node: exp.Expression) -> SparkType | None:
        return self.schema.get(node.name)

    def _cast(self, node: exp.Expression) -> SparkType | None:
        source = self.of(node.this)
        try:
            target = SparkType.parse(node.args["to"].sql("spark"))
        except ValueError:
            return None
        if source is not None and not castable(source, target):
            self._fault(f"{_sql(node.this)} is {source}, which cannot be cast to {target}.", "Convert it another way.")
        return target

    def _negation(self, node: exp.Expression) -> SparkType | None:
        kind = self.of(node.this)
        if kind is not None and not (kind.is_numeric or kind in (NULL, INTERVAL)):
            self._fault(f"-{_sql(node.this)} negates {_a(kind)}.", "Only numbers have a negative.")
        return kind

    def _logic(self, node: exp.Expression) -> SparkType:
        operands = [node.this] if isinstance(node, exp.Not) else [node.this, node.expression]
        for operand in operands:
            kind = self.of(operand)
            if kind is not None and kind not in (BOOLEAN, NULL):
                self._fault(f"{_sql(operand)} is {kind}, not a condition.", "Compare it with something.")
        return BOOLEAN

    def _text_match(self, node: exp.Expression) -> SparkType:
        kind = self.of(node.this)
        if kind is not None and kind not in (STRING, NULL):
            self._fault(
                f"{_sql(node.this)} is {kind}, and only text can be matched with a pattern.",
                "Cast it to string.",
            )
        return BOOLEAN

    def _is(self, node: exp.Expression) -> SparkType:
        self.of(node.this)
        return BOOLEAN

    def _comparison(self, node: exp.Expression) -> SparkType:
        self._compare(node.this, node.expression)
        return BOOLEAN

    def _in(self, node: exp.Expression) -> SparkType:
        for value in node.expressions:
            self._compare(node.this, value)
        return BOOLEAN

    def _between(self, node: exp.Expression) -> SparkType:
        self._compare(node.this, node.args["low"])
        self._compare(node.this, node.args["high"])
        return BOOLEAN

    def _compare(self, left: exp.Expression, right: exp.Expression) -> None:
        kinds = self.of(left), self.of(right)
        if (
            None in kinds
            or comparable(kinds[0], kinds[1])
            or _is_time_text(left, kinds[1])
            or _is_time_text(right, kinds[0])
        ):
            return
        self._fault(
            f"{_sql(left)} is {kinds[0]} and {_sql(right)} is {kinds[1]}: they cannot be compared.",
            "Cast one of them, or compare with a value of the same type.",
        )

    def _arithmetic(self, node: exp.Expression) -> SparkType | None:
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None:
            return None
        if left == NULL or right == NULL:
            return right if left == NULL else left
        if left.is_numeric and right.is_numeric:
            return arithmetic_type(
                _OPERATORS[type(node)],
                _exactly(node.this, left, right),
                _exactly(node.expression, right, left),
            )
        result = _time_arithmetic(node, left, right)
        if result is None:
            self._fault(
                f"{_sql(node)} puts {_a(left)} and {_a(right)} together with an arithmetic operator.",
                "Cast text to a number first; use concat for text and datediff or timestampdiff for times.",
            )
        return result

    def _concatenation(self, node: exp.Expression) -> SparkType | None:
        left, right = self.of(node.this), self.of(node.expression)
        return left if left is not None and left.name == "array" else STRING if left and right else None

    def _case(self, node: exp.Expression) -> SparkType | None:
        for branch in node.args["ifs"]:
            if node.this is not None:
                self._compare(node.this, branch.this)
            else:
                kind = self.of(branch.this)
                if kind is not None and kind not in (BOOLEAN, NULL):
                    self._fault(f"{_sql(branch.this)} is {kind}, not a condition.", "Compare it with something.")
        default = node.args.get("default")
        return self._common(node, [branch.args["true"] for branch in node.args["ifs"]] + ([default] if default else []))

    def _common(self, node: exp.Expression, options: Sequence[exp.Expression | None]) -> SparkType | None:
        result: SparkType | None = NULL
        for option in options:
            kind = self.of(option)
            if kind is None or result is None:
                result = None
                continue
            merged = common_type(result, kind)
            if merged is None:
                self._fault(f"{_sql(node)} gives {result} here and {kind} there.", "Cast them to one type.")
                return None
            result = merged
        return result

    def _bracket(self, node: exp.Expression) -> SparkType | None:
        kind = self.of(node.this)
        if kind is not None and kind.name not in ("array", "map"):
            self._fault(f"{_sql(node.this)} is {kind}, not an array or a map.", "Leave the brackets out.")
        return kind.element if kind else None

    def _within_group(self, node: exp.Expression) -> SparkType | None:
        ordered = node.expression.find(exp.Ordered)
        name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
        kind = self.of(ordered.this) if ordered else None
        if kind is not None and not kind.is_numeric:
            self._fault(
                f"{name} of {_sql(ordered.this) if ordered else ''}, which is {kind}, not a number.",
                "Use a number.",
            )
        return DOUBLE

    def _transform(self, array: exp.Expression, body: exp.Expression | None) -> SparkType | None:
        element = self._lambda(array, body)
        return SparkType("array", element=element) if element else None

    def _lambda(self, array: exp.Expression, body: exp.Expression | None) -> SparkType | None:
        """The type of a lambda's body over the elements of an array."""
        kind = self.of(array)
        if not isinstance(body, exp.Lambda) or kind is None or kind.name != "array":
            return None
        outer, names = self._local, [item.name for item in body.expressions]
        self._local = {**outer, **dict(zip(names, (kind.element, INT), strict=False))}
        result = self.of(body.this)
        self._local = outer
        return result

    def _function(self, node: exp.Expression) -> SparkType | None:
        name, arguments = str(node.this).lower(), node.expressions
        if any(isinstance(argument, exp.Lambda) for argument in arguments):
            return self._higher_order(name, arguments)
        first = self._first_argument(name, arguments)
        if name in functions.names("common"):
            return self._common(node, arguments)
        if name == "nvl2":
            return self._common(node, arguments[1:])
        for argument in arguments[1:]:
            self.of(argument)
        if name in ("date_add", "dateadd", "date_diff", "timestampadd") and len(arguments) == 3:
            return BIGINT if name == "date_diff" else TIMESTAMP
        if name in functions.names("like_first"):
            return first
        kinds = [self.of(argument) for argument in arguments]
        return result_of(name, kinds, arguments)

    def _higher_order(self, name: str, arguments: Sequence[exp.Expression]) -> SparkType | None:
        first = self._first_argument(name, arguments)
        if name in ("exists", "forall", "filter", "array_sort"):
            self._lambda(arguments[0], arguments[1])
            return BOOLEAN if name in ("exists", "forall") else first
        if name in ("aggregate", "reduce") and len(arguments) == 3:
            return self.of(arguments[1])
        return None

    def _first_argument(self, name: str, arguments: Sequence[exp.Expression]) -> SparkType | None:
        """The type of the first argument, held against what the function takes."""
        if not arguments:
            return None
        kind = self.of(arguments[0])
        if kind is None or kind == NULL or (len(arguments) == 3 and name in ("date_add", "datediff")):
            return kind
        shown = _sql(arguments[0])
        if name in functions.names("numeric_first") and not kind.is_numeric and kind != INTERVAL:
            self._fault(f"{name} of {shown}, which is {kind}, not a number.", "Use a number, or cast it.")
        elif name in functions.names("temporal_first") and not (
            kind.is_temporal or isinstance(arguments[0], exp.Literal)
        ):
            self._fault(f"{name} of {shown}, which is {kind}, not a date or time.", "Use a time, or convert it.")
        elif name in functions.names("array_first") and kind.name not in ("array", "map"):
            self._fault(f"{name} of {shown}, which is {kind}, not an array.", "Use an array.")
        return kind


def _exactly(node: exp.Expression, kind: SparkType, other: SparkType) -> SparkType:
    """The type of an operand; an integer literal beside a decimal counts with the digits that it has."""
    is_literal = isinstance(node, exp.Literal) and kind.is_integer and other.name == "decimal"
    return SparkType("decimal", len(node.name), 0) if is_literal else kind


def _time_arithmetic(node: exp.Expression, left: SparkType, right: SparkType) -> SparkType | None:
    if isinstance(node, exp.Mul | exp.Div) and INTERVAL in (left, right):
        return INTERVAL
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    if left == right == INTERVAL:
        return INTERVAL
    if left.is_temporal and right == INTERVAL:
        interval = node.expression
        unit = (
            interval.args["unit"].name.upper()
            if isinstance(interval, exp.Interval) and interval.args.get("unit")
            else ""
        )
        return left if left != DATE or unit.startswith(("DAY", "MONTH", "YEAR", "WEEK", "QUARTER")) else TIMESTAMP
    if isinstance(node, exp.Add) and left == INTERVAL and right.is_temporal:
        return right
    if left == DATE and right.is_integer and right != BIGINT:
        return DATE
    if isinstance(node, exp.Sub) and left.is_temporal and right.is_temporal:
        return INTERVAL
    return None


def _literal(node: exp.Expression) -> SparkType:
    text = node.name
    if node.args.get("is_string"):
        return STRING
    if text.isdigit():
        value = int(text)
        return INT if value < 2**31 else BIGINT if value < 2**63 else SparkType("decimal", len(text), 0)
    if "e" in text.lower():
        return DOUBLE
    whole, _, fraction = text.partition(".")
    return SparkType("decimal", min(38, max(1, len(whole.lstrip("0")) + len(fraction))), len(fraction))


def _is_time_text(node: exp.Expression, other: SparkType | None) -> bool:
    """Whether this is a literal like '2025-03-01' that is compared with a time."""
    return (
        isinstance(node, exp.Literal) and bool(node.args.get("is_string")) and other is not None and other.is_temporal
    )


def _a(kind: SparkType) -> str:
    return {"string": "text", "null": "nothing"}.get(kind.name, f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}")


def _sql(node: exp.Expression) -> str:
    text = node.sql("spark")
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
