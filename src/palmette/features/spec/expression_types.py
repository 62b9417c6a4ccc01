"""Types of Spark SQL expressions, by Spark's ANSI rules but without implicit casts between text and other types.

`Typer.of` returns the type of an expression, or None for functions that are missing from
`spark_functions.yaml`. It never guesses.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from palmette.errors import Mistake
from palmette.features.spec import functions
from palmette.features.spec import type_rules as c
from palmette.features.spec.sql import COMPARISONS, OPERATORS, field_name, function_name
from palmette.features.spec.values import SparkType
from palmette.problems import fault


class Typer:
    """Infers types bottom-up and collects type errors in `faults`."""

    def __init__(self, schema: Mapping[str, SparkType], text: str) -> None:
        self.schema, self.text = schema, text
        self.faults: list[Mistake] = []
        self._local: dict[str, SparkType | None] = {}

    def of(self, node: exp.Expression | None) -> SparkType | None:
        """The type of `node`; None if unknown."""
        if node is None:
            return None
        for kind, method in self._methods().items():
            if isinstance(node, kind):
                return method(node)
        return None

    def _methods(self) -> Mapping[type | tuple[type, ...], Callable[[exp.Expression], SparkType | None]]:
        return {
            (exp.Paren, exp.Alias): lambda node: self.of(node.this),
            exp.Column: lambda node: self.schema.get(node.name),
            exp.Identifier: lambda node: self._local.get(node.name),
            exp.Literal: literal_type,
            (exp.Boolean, exp.Any): lambda _: c.BOOLEAN,
            exp.Null: lambda _: c.NULL,
            exp.Interval: lambda _: c.INTERVAL,
            exp.Cast: self._cast,
            exp.Neg: lambda node: self._checked(
                node.this, "negative", lambda kind: kind.is_numeric or kind == c.INTERVAL
            ),
            (exp.And, exp.Or, exp.Not): self._logic,
            (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike): self._text_match,
            exp.Is: lambda node: self._compare(node.this),
            (*COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ): lambda node: self._compare(node.this, node.expression),
            exp.In: lambda node: self._compare(node.this, *node.expressions),
            exp.Between: lambda node: self._compare(node.this, node.args["low"], node.args["high"]),
            tuple(OPERATORS): self._arithmetic,
            exp.DPipe: self._concatenation,
            exp.Case: self._case,
            exp.If: lambda node: self._common(node, [node.args.get("true"), node.args.get("false")]),
            exp.Bracket: self._bracket,
            (exp.Filter, exp.IgnoreNulls, exp.RespectNulls): lambda node: self.of(node.this),
            exp.WithinGroup: self._within_group,
            exp.Transform: lambda node: self._higher_order("transform", [node.this, node.expression]),
            exp.Dot: self._dot,
            (exp.Substring, exp.Trim, exp.Overlay, exp.GroupConcat): lambda _: c.STRING,
            exp.StrPosition: lambda _: c.INT,
            exp.Extract: lambda node: None if node.name.lower().startswith("s") else c.INT,
            (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot): lambda node: self.of(node.this),
            exp.Distinct: lambda node: self.of(node.expressions[0]),
            exp.Anonymous: self._function,
        }

    def _fault(self, kind: str, node: exp.Expression, **facts: object) -> None:
        found = fault(f"illegal-type/{kind}", self.text, node=_sql(node), **facts)
        if found not in self.faults:
            self.faults.append(found)

    def _cast(self, node: exp.Expression) -> SparkType | None:
        source = self.of(node.this)
        try:
            target = SparkType.parse(node.args["to"].sql("spark"))
        except ValueError:
            return None
        if source is not None and not c.castable(source, target):
            self._fault("cast", node.this, type=source, target=target)
        return target

    def _checked(
        self, node: exp.Expression, problem: str, fits: Callable[[SparkType], bool], **facts: object
    ) -> SparkType | None:
        """The type of `node`; reports a known one that does not fit and is not that of NULL."""
        kind = self.of(node)
        if kind is not None and kind != c.NULL and not fits(kind):
            self._fault(problem, node, type=kind, a_type=_a(kind), **facts)
        return kind

    def _logic(self, node: exp.Expression) -> SparkType:
        for operand in node.iter_expressions():
            self._checked(operand, "condition", c.BOOLEAN.__eq__)
        return c.BOOLEAN

    def _text_match(self, node: exp.Expression) -> SparkType:
        self._checked(node.this, "pattern", c.STRING.__eq__)
        return c.BOOLEAN

    def _compare(self, left: exp.Expression, *others: exp.Expression) -> SparkType:
        """Reports types that cannot be compared; texts such as '2025-03-01' may be compared with times."""
        one = self.of(left)
        for right in others:
            other = self.of(right)
            if one is None or other is None or c.comparable(one, other):
                continue
            if not (left.is_string and other.is_temporal) and not (right.is_string and one.is_temporal):
                self._fault("comparison", left, type=one, other=_sql(right), other_type=other)
        return c.BOOLEAN

    def _arithmetic(self, node: exp.Expression) -> SparkType | None:
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None:
            return None
        if c.NULL in (left, right):
            return right if left == c.NULL else left
        if left.is_numeric and right.is_numeric:
            sides = _exactly(node.this, left, right), _exactly(node.expression, right, left)
            return c.arithmetic_type(OPERATORS[type(node)], *sides)
        result = _time_arithmetic(node, left, right)
        if result is None:
            self._fault("arithmetic", node, left=_a(left), right=_a(right))
        return result

    def _concatenation(self, node: exp.Expression) -> SparkType | None:
        left, right = self.of(node.this), self.of(node.expression)
        return left if left is not None and left.name == "array" else c.STRING if left and right else None

    def _case(self, node: exp.Expression) -> SparkType | None:
        for branch in node.args["ifs"]:
            if node.this is not None:
                self._compare(node.this, branch.this)
            else:
                self._checked(branch.this, "condition", c.BOOLEAN.__eq__)
        default = node.args.get("default")
        return self._common(node, [branch.args["true"] for branch in node.args["ifs"]] + ([default] if default else []))

    def _common(self, node: exp.Expression, options: Sequence[exp.Expression | None]) -> SparkType | None:
        result: SparkType | None = c.NULL
        for option in options:
            kind = self.of(option)
            if kind is None or result is None:
                result = None
                continue
            merged = c.common_type(result, kind)
            if merged is None:
                self._fault("common", node, one=result, other=kind)
                return None
            result = merged
        return result

    def _bracket(self, node: exp.Expression) -> SparkType | None:
        kind = self.of(node.this)
        if kind is not None and kind.fields and node.expressions[0].is_string:
            return self._field(kind, node.expressions[0].name, node)
        if kind is not None and kind.name not in ("array", "map"):
            self._fault("brackets", node.this, type=kind)
        return kind.element if kind else None

    def _dot(self, node: exp.Expression) -> SparkType | None:
        """A field of a struct; for an array of structs, an array of the field's values."""
        kind = self.of(node.this)
        if kind is None:
            return None
        if kind.name == "array" and kind.element and kind.element.fields:
            found = self._field(kind.element, node.expression.name, node)
            return c.array_of(found) if found else None
        return self._field(kind, node.expression.name, node)

    def _field(self, kind: SparkType, name: str, node: exp.Expression) -> SparkType | None:
        place = kind.field(name)
        if place is None:
            self._fault("field", node, field=name, type=kind)
            return None
        return kind.fields[place][1]

    def _within_group(self, node: exp.Expression) -> SparkType | None:
        if ordered := node.expression.find(exp.Ordered):
            name = function_name(node.this) or ""
            self._checked(ordered.this, "ordered", lambda kind: kind.is_numeric, name=name)
        return c.DOUBLE

    def _lambda(self, body: exp.Expression, *kinds: SparkType | None) -> SparkType | None:
        """The type of a lambda's body, given the types of its parameters."""
        if not isinstance(body, exp.Lambda):
            return None
        outer, names = self._local, [item.name for item in body.expressions]
        self._local = {**outer, **dict(zip(names, kinds, strict=False))}
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
            return c.BIGINT if name == "date_diff" else c.TIMESTAMP
        if name in functions.names("like_first"):
            return first
        kinds = [self.of(argument) for argument in arguments]
        if name in ("struct", "named_struct", "arrays_zip", "from_json"):
            return _nested(name, kinds, arguments)
        return functions.result_of(name, kinds, arguments)

    def _higher_order(self, name: str, arguments: Sequence[exp.Expression]) -> SparkType | None:
        first = self._first_argument(name, arguments)
        element, body = first.element if first else None, arguments[-1]
        match name:
            case "transform":
                result = self._lambda(body, element, c.INT)
                return c.array_of(result) if result else None
            case "exists" | "forall" | "filter":
                self._lambda(body, element, c.INT)
                return first if name == "filter" else c.BOOLEAN
            case "array_sort":
                self._lambda(body, element, element)
                return first
            case "transform_keys":
                return first if self._lambda(body, c.STRING, element) == c.STRING else None
            case "map_filter" | "transform_values":
                result = self._lambda(body, c.STRING, element)
                changed = SparkType("map", element=result) if result else None
                return first if name == "map_filter" else changed
            case "zip_with":
                second = self.of(arguments[1])
                result = self._lambda(body, element, second.element if second else None)
                return c.array_of(result) if result else None
            case "aggregate" | "reduce" if len(arguments) > 2:
                state = self.of(arguments[1])
                self._lambda(arguments[2], state, element)
                return self._lambda(body, state) if len(arguments) > 3 else state
        return None

    def _first_argument(self, name: str, arguments: Sequence[exp.Expression]) -> SparkType | None:
        """The type of the first argument, after checking that the function accepts it."""
        if not arguments:
            return None
        kind = self.of(arguments[0])
        if kind is None or kind == c.NULL or (len(arguments) == 3 and name in ("date_add", "datediff")):
            return kind
        fits = {
            "numeric_first": kind.is_numeric or kind == c.INTERVAL,
            "temporal_first": kind.is_temporal or isinstance(arguments[0], exp.Literal),
            "array_first": kind.name in ("array", "map"),
        }
        wrong = next((place for place, is_right in fits.items() if name in functions.names(place) and not is_right), "")
        if wrong:
            self._fault(wrong.replace("_", "-"), arguments[0], name=name, type=kind)
        return kind


def _nested(name: str, kinds: Sequence[SparkType | None], arguments: Sequence[exp.Expression]) -> SparkType | None:
    """The result type of a function that builds structs."""
    if name == "from_json":
        schema = arguments[-1].name if len(arguments) == 2 else ""
        try:
            return SparkType.of_schema(schema)
        except ValueError:
            return None
    if name == "named_struct":
        names, kinds = [argument.name for argument in arguments[::2]], kinds[1::2]
    else:
        first, prefix = (1, "col") if name == "struct" else (0, "")
        names = [field_name(argument, f"{prefix}{place}") for place, argument in enumerate(arguments, first)]
    fields = [kind.element if kind and name == "arrays_zip" else kind for kind in kinds]
    if None in fields:
        return None
    struct = SparkType("struct", fields=tuple((name, kind) for name, kind in zip(names, fields, strict=False) if kind))
    return c.array_of(struct) if name == "arrays_zip" else struct


def _exactly(node: exp.Expression, kind: SparkType, other: SparkType) -> SparkType:
    """The type of an operand; next to a decimal, an integer literal has as many digits as it is written with."""
    is_literal = isinstance(node, exp.Literal) and kind.is_integer and other.name == "decimal"
    return SparkType("decimal", len(node.name), 0) if is_literal else kind


def _time_arithmetic(node: exp.Expression, left: SparkType, right: SparkType) -> SparkType | None:
    if isinstance(node, exp.Mul | exp.Div) and c.INTERVAL in (left, right):
        return c.INTERVAL
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    if left == right == c.INTERVAL:
        return c.INTERVAL
    if left.is_temporal and right == c.INTERVAL:
        unit = node.expression.text("unit").upper()
        return left if left != c.DATE or unit.startswith(("DAY", "MONTH", "YEAR", "WEEK", "QUARTER")) else c.TIMESTAMP
    if isinstance(node, exp.Add) and left == c.INTERVAL and right.is_temporal:
        return right
    if left == c.DATE and right.is_integer and right != c.BIGINT:
        return c.DATE
    if isinstance(node, exp.Sub) and left.is_temporal and right.is_temporal:
        return c.INTERVAL
    return None


def literal_type(node: exp.Expression) -> SparkType:
    """The type of a number or text: int, or bigint or decimal if an integer needs more digits."""
    text = node.name
    if node.is_string:
        return c.STRING
    if text.isdigit():
        value = int(text)
        return c.INT if value < 2**31 else c.BIGINT if value < 2**63 else SparkType("decimal", len(text), 0)
    if "e" in text.lower():
        return c.DOUBLE
    whole, _, fraction = text.partition(".")
    return SparkType("decimal", min(38, max(1, len(whole.lstrip("0")) + len(fraction))), len(fraction))


def _a(kind: SparkType) -> str:
    return {"string": "text", "null": "nothing"}.get(kind.name, f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}")


def _sql(node: exp.Expression) -> str:
    text = node.sql("spark")
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
