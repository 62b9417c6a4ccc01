"""Types of Spark SQL expressions, by Spark's ANSI rules but without its implicit casts between text and other types.

`Typer.of` gives the type of an expression, or None where it cannot be told: for functions that are not in the
tables below, and for values that the formats have no name for (structs). It never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from palmette.features.spec.values import SparkType

BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, NULL = map(
    SparkType,
    ("boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp", "null"),
)
INTERVAL = SparkType("interval")
"""Of interval literals and of differences of times; no column may have it."""

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}

_RESULTS = {
    "bigint": "count count_if approx_count_distinct unix_seconds unix_millis unix_micros to_unix_timestamp "
    "timestampdiff xxhash64 regr_count crc32 factorial shiftleft_long json_long",
    "int": "length len char_length character_length octet_length bit_length ascii instr locate position find_in_set "
    "levenshtein year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute "
    "datediff size cardinality array_size sign_int json_array_length hash unix_date "
    "regexp_count regexp_instr bit_count",
    "string": "upper lower ucase lcase trim ltrim rtrim btrim initcap reverse_text concat_ws substring substr left right "
    "replace regexp_replace regexp_extract regexp_substr repeat lpad rpad translate split_part substring_index "
    "overlay date_format from_unixtime format_number format_string printf md5 sha sha1 sha2 hex "
    "base64 get_json_object to_json soundex chr char space monthname dayname conv bin array_join to_char listagg "
    "string_agg url_encode url_decode parse_url elt string decode",
    "boolean": "isnull isnotnull isnan startswith endswith contains array_contains arrays_overlap exists forall like "
    "ilike rlike regexp regexp_like bool_and bool_or every some any map_contains_key equal_null boolean luhn_check",
    "double": "stddev std stddev_samp stddev_pop variance var_samp var_pop sqrt cbrt exp expm1 ln log log2 log10 log1p "
    "pow power sin cos tan asin acos atan atan2 sinh cosh tanh degrees radians hypot corr covar_pop covar_samp "
    "skewness kurtosis median percentile percentile_cont months_between pi e rint signum double",
    "float": "float vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm",
    "date": "to_date date_sub last_day next_day make_date trunc date_from_unix_date date",
    "timestamp": "to_timestamp date_trunc timestamp_seconds timestamp_millis timestamp_micros from_utc_timestamp "
    "to_utc_timestamp make_timestamp to_timestamp_ltz timestamp",
    "timestamp_ntz": "to_timestamp_ntz make_timestamp_ntz",
    "array<string>": "split regexp_extract_all",
    "binary": "unhex unbase64 encode binary to_binary",
    "interval": "make_interval make_dt_interval make_ym_interval",
    "map<string,string>": "str_to_map",
}
_BY_NAME = {
    name: SparkType.parse(kind) if kind != "interval" else INTERVAL
    for kind, names in _RESULTS.items()
    for name in names.split()
}

_LIKE_FIRST = frozenset(
    "max min first last any_value first_value last_value mode abs negative positive nullif array_sort sort_array "
    "array_distinct array_except slice filter array_remove array_compact max_by min_by array_append array_prepend "
    "array_union array_intersect reverse shuffle nullifzero zeroifnull shiftleft shiftright map_filter "
    "percentile_disc".split()
)
_COMMON = frozenset("coalesce greatest least ifnull nvl nanvl".split())
_NUMERIC_FIRST = frozenset(
    "sum avg mean stddev std stddev_samp stddev_pop variance var_samp var_pop sqrt cbrt exp expm1 ln log2 log10 log1p "
    "pow power sin cos tan abs negative median percentile percentile_approx approx_percentile round bround ceil ceiling "
    "floor sign signum corr covar_pop covar_samp skewness kurtosis try_sum try_avg timestamp_seconds timestamp_millis "
    "timestamp_micros degrees radians mod pmod try_divide try_add try_subtract try_multiply try_mod".split()
)
_TEMPORAL_FIRST = frozenset(
    "year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute second date_add date_sub "
    "last_day add_months months_between next_day trunc date_format unix_seconds unix_millis unix_micros unix_date "
    "datediff".split()
)
_ARRAY_FIRST = frozenset(
    "array_contains array_distinct array_max array_min array_position array_sort sort_array array_union array_except "
    "array_intersect array_size transform filter forall aggregate reduce flatten array_join array_remove "
    "array_compact slice explode".split()
)


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
            exp.Boolean: lambda node: BOOLEAN,
            exp.Null: lambda node: NULL,
            exp.Interval: lambda node: INTERVAL,
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
            exp.ApproxQuantile: self._quantile,
            (exp.Substring, exp.Trim, exp.Overlay, exp.GroupConcat): lambda node: STRING,
            exp.StrPosition: lambda node: INT,
            exp.Extract: lambda node: None if node.name.lower().startswith("s") else INT,
            exp.Any: lambda node: BOOLEAN,
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
            self._fault(
                f"{_sql(node.this)} is {source}, which cannot be cast to {target}.", "Convert it another way."
            )
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
            return _numeric_result(node, left, right)
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
                    self._fault(
                        f"{_sql(branch.this)} is {kind}, not a condition.", "Compare it with something."
                    )
        default = node.args.get("default")
        return self._common(
            node, [branch.args["true"] for branch in node.args["ifs"]] + ([default] if default else [])
        )

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

    def _quantile(self, node: exp.Expression) -> SparkType | None:
        kind = self._first_argument("percentile_approx", [node.this])
        is_many = self.of(node.args.get("quantile"))
        return SparkType("array", element=kind) if is_many and is_many.name == "array" else kind

    def _function(self, node: exp.Expression) -> SparkType | None:
        name, arguments = str(node.this).lower(), node.expressions
        if any(isinstance(argument, exp.Lambda) for argument in arguments):
            return self._higher_order(name, arguments)
        first = self._first_argument(name, arguments)
        if name in _COMMON:
            return self._common(node, arguments)
        if name == "nvl2":
            return self._common(node, arguments[1:])
        for argument in arguments[1:]:
            self.of(argument)
        if name in ("date_add", "dateadd", "date_diff", "timestampadd") and len(arguments) == 3:
            return BIGINT if name == "date_diff" else TIMESTAMP
        if name in _LIKE_FIRST:
            return first
        return _special(
            name, first, [self.of(argument) for argument in arguments], arguments
        ) or _BY_NAME.get(name)

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
        if kind is None or kind == NULL or len(arguments) == 3 and name in ("date_add", "datediff"):
            return kind
        shown = _sql(arguments[0])
        if name in _NUMERIC_FIRST and not kind.is_numeric and kind != INTERVAL:
            self._fault(f"{name} of {shown}, which is {kind}, not a number.", "Use a number, or cast it.")
        elif name in _TEMPORAL_FIRST and not (kind.is_temporal or isinstance(arguments[0], exp.Literal)):
            self._fault(
                f"{name} of {shown}, which is {kind}, not a date or time.", "Use a time, or convert it."
            )
        elif name in _ARRAY_FIRST and kind.name not in ("array", "map"):
            self._fault(f"{name} of {shown}, which is {kind}, not an array.", "Use an array.")
        return kind


def _special(
    name: str, first: SparkType | None, kinds: Sequence[SparkType | None], arguments: Sequence[exp.Expression]
) -> SparkType | None:
    """Functions whose type depends on those of their arguments."""
    match name:
        case "array":
            element = kinds[0] if kinds and len(set(kinds)) == 1 else None
            return SparkType("array", element=element) if element else None
        case "concat":
            return first if first and first.name == "array" else STRING
        case "date_add":
            return DATE
        case "add_months":
            return DATE
        case "mod" | "pmod" | "try_mod" | "try_add" | "try_subtract" | "try_multiply" | "try_divide":
            left, right = (*kinds, None, None)[:2]
            operator = {
                "mod": exp.Mod,
                "pmod": exp.Mod,
                "try_mod": exp.Mod,
                "try_divide": exp.Div,
                "try_multiply": exp.Mul,
            }.get(name, exp.Add)
            numeric = left and right and left.is_numeric and right.is_numeric
            return _numeric_result(operator(), left, right) if numeric and left and right else None
        case "array_repeat" | "collect_list" | "collect_set" | "array_agg":
            return SparkType("array", element=first) if first else None
        case "element_at" | "get" | "try_element_at" | "array_max" | "array_min" | "flatten":
            return first.element if first else None
        case "map_keys":
            return SparkType("array", element=STRING)
        case "map_values":
            return SparkType("array", element=first.element) if first else None
        case "array_position":
            return BIGINT
        case "sign" | "signum":
            return DOUBLE
        case "second":
            return INT
        case "percentile" if len(kinds) > 1 and kinds[1] and kinds[1].name == "array":
            return SparkType("array", element=DOUBLE)
    return _numeric_function(name, first, arguments)


def _numeric_function(
    name: str, first: SparkType | None, arguments: Sequence[exp.Expression]
) -> SparkType | None:
    if first is None:
        return None
    match name:
        case "sum" | "try_sum":
            if first.name == "decimal":
                return SparkType("decimal", min(38, first.precision + 10), first.scale)
            return BIGINT if first.is_integer else DOUBLE if first.is_numeric else None
        case "avg" | "mean" | "try_avg":
            return average_type(first)
        case "ceil" | "ceiling" | "floor" if len(arguments) == 1:
            return (
                SparkType("decimal", min(38, first.precision - first.scale + 1), 0)
                if first.name == "decimal"
                else BIGINT
            )
        case "round" | "bround":
            if first.name != "decimal":
                return first
            digits = arguments[1] if len(arguments) > 1 else None
            scale = int(digits.name) if isinstance(digits, exp.Literal) and digits.name.isdigit() else 0
            scale = min(scale, first.scale)
            return SparkType("decimal", min(38, first.precision - first.scale + scale + 1), scale)
    return None


def average_type(kind: SparkType) -> SparkType:
    """The type of Spark's `avg`."""
    return _adjusted(kind.precision + 4, kind.scale + 4) if kind.name == "decimal" else DOUBLE


def comparable(left: SparkType | None, right: SparkType | None) -> bool:
    """Whether values of the two types can be compared without a cast of text."""
    if left is None or right is None or NULL in (left, right):
        return True
    if left.element and right.element:
        return left.name == right.name and comparable(left.element, right.element)
    return left == right or (left.is_numeric and right.is_numeric) or (left.is_temporal and right.is_temporal)


def common_type(left: SparkType, right: SparkType) -> SparkType | None:
    """The type that both become in one column; None when there is none."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if left.is_numeric and right.is_numeric:
        return _wider(left, right)
    if left.is_temporal and right.is_temporal:
        return TIMESTAMP if TIMESTAMP in (left, right) else SparkType("timestamp_ntz")
    if left.element and right.element and left.name == right.name:
        element = common_type(left.element, right.element)
        return SparkType(left.name, element=element) if element else None
    return None


def _wider(left: SparkType, right: SparkType) -> SparkType:
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda kind: _INTEGERS.index(kind.name))
    if DOUBLE in (left, right) or FLOAT in (left, right):
        return FLOAT if left == right == FLOAT else DOUBLE
    one, other = _as_decimal(left), _as_decimal(right)
    scale = max(one.scale, other.scale)
    return SparkType(
        "decimal", min(38, max(one.precision - one.scale, other.precision - other.scale) + scale), scale
    )


def _numeric_result(node: exp.Expression, left: SparkType, right: SparkType) -> SparkType:
    """The type of an arithmetic operation on numbers."""
    if isinstance(node, exp.IntDiv):
        return BIGINT
    is_integral = left.is_integer and right.is_integer
    if is_integral or DOUBLE in (left, right) or FLOAT in (left, right):
        return DOUBLE if isinstance(node, exp.Div) else _wider(left, right)
    one, other = (
        _literal_decimal(node.args.get(side)) or _as_decimal(kind)
        for side, kind in (("this", left), ("expression", right))
    )
    (p1, s1), (p2, s2) = (one.precision, one.scale), (other.precision, other.scale)
    if isinstance(node, exp.Mul):
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if isinstance(node, exp.Div):
        scale = max(6, s1 + p2 + 1)
        return _adjusted(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    if isinstance(node, exp.Mod):
        return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
    return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)


def _adjusted(precision: int, scale: int) -> SparkType:
    """Spark's rule for decimals of more than 38 digits: keep the integral part, and at least 6 digits behind the point."""
    if precision <= 38:
        return SparkType("decimal", precision, scale)
    return SparkType("decimal", 38, max(38 - (precision - scale), min(scale, 6)))


def _as_decimal(kind: SparkType) -> SparkType:
    return SparkType("decimal", _DIGITS[kind.name], 0) if kind.is_integer else kind


def _literal_decimal(node: exp.Expression | None) -> SparkType | None:
    """An integer literal beside a decimal counts with the digits that it has."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return SparkType("decimal", len(node.name), 0)
    return None


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
        return (
            left
            if left != DATE or unit.startswith(("DAY", "MONTH", "YEAR", "WEEK", "QUARTER"))
            else TIMESTAMP
        )
    if isinstance(node, exp.Add) and left == INTERVAL and right.is_temporal:
        return right
    if left == DATE and right.is_integer and right != BIGINT:
        return DATE
    if isinstance(node, exp.Sub) and left.is_temporal and right.is_temporal:
        return INTERVAL
    return None


def castable(source: SparkType, target: SparkType) -> bool:
    """Whether Spark can cast the one type to the other at all."""
    if NULL in (source, target) or INTERVAL in (source, target) or STRING in (source, target):
        return True
    if source.element or target.element:
        return source.name == target.name and castable(source.element or NULL, target.element or NULL)
    if source.is_temporal and target.is_temporal:
        return True
    simple = ("boolean", "timestamp")
    return (
        (source.is_numeric or source.name in simple)
        and (target.is_numeric or target.name in simple)
        or source == target
        or target == BINARY
        and source.is_integer
    )


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
        isinstance(node, exp.Literal)
        and bool(node.args.get("is_string"))
        and other is not None
        and other.is_temporal
    )


def _a(kind: SparkType) -> str:
    return {"string": "text", "null": "nothing"}.get(
        kind.name, f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"
    )


def _sql(node: exp.Expression) -> str:
    text = node.sql("spark")
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
