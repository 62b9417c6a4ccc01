"""Choices, and functions that are defined by other expressions of Spark SQL."""

from collections.abc import Sequence
from functools import cache

from sqlglot import exp

from palmette.features.oracle import typed
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import EvaluationScope, TypedExpression, builder
from palmette.features.spec.sql import parse
from palmette.features.spec.type_rules import NULL
from palmette.features.spec.values import ATOMIC_TYPES

_DATE_PARTS = "year quarter month day dayofmonth weekofyear dayofweek weekday dayofyear hour minute"
DEFINITIONS = {
    "nvl2(test, there, absent)": "CASE WHEN test IS NULL THEN absent ELSE there END",
    "nullif(one, other)": "CASE WHEN one = other THEN NULL ELSE one END",
    "nullifzero(value)": "nullif(value, 0)",
    "zeroifnull(value)": "coalesce(value, 0)",
    "nanvl(value, other)": "CASE WHEN isnan(value) THEN other ELSE value END",
    "isnull(value)": "value IS NULL",
    "isnotnull(value)": "value IS NOT NULL",
    "equal_null(one, other)": "one <=> other",
    "negative(value)": "-value",
    "positive(value)": "value",
    "mod(one, other)": "one % other",
    "pmod(one, other)": "CASE WHEN one % other < 0 THEN (one % other + other) % other ELSE one % other END",
    "log(value)": "ln(value)",
    "log(base, value)": "CASE WHEN ln(base) = 0 THEN ln(value) * double('Infinity') ELSE ln(value) / ln(base) END",
    "get(items, place)": "CASE WHEN place >= 0 AND place < size(items) THEN items[place] END",
    "find_in_set(text, listed)": "CAST(array_position(split(listed, ','), text) AS int)",
    "regexp_count(text, pattern)": "size(regexp_extract_all(text, pattern, 0))",
    "regexp_substr(text, pattern)": "nullif(regexp_extract(text, pattern, 0), '')",
    "date_sub(day, days)": "date_add(day, -days)",
    "unix_date(day)": "datediff(day, DATE'1970-01-01')",
    "date_from_unix_date(days)": "date_add(DATE'1970-01-01', days)",
    "from_unixtime(seconds)": "from_unixtime(seconds, 'yyyy-MM-dd HH:mm:ss')",
    "from_unixtime(seconds, pattern)": "date_format(timestamp_seconds(seconds), pattern)",
    "to_timestamp_ntz(time)": "CAST(time AS timestamp_ntz)",
    "second(time)": "CAST(date_part('second', time) AS int)",
    **{f"{part}(time)": f"date_part('{part}', time)" for part in _DATE_PARTS.split()},
    **{f"{kind}(value)": f"CAST(value AS {kind})" for kind in (*ATOMIC_TYPES, "decimal")},
}
"""By signature."""


def expanded(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """The expression that defines a call; None if there is none."""
    if (name, len(arguments)) not in _definitions():
        return None
    call, definition = _definitions()[name, len(arguments)]
    given = {parameter.name: argument for parameter, argument in zip(call.expressions, arguments, strict=True)}
    return definition.transform(lambda node: given[node.name].copy() if isinstance(node, exp.Column) else node)


@cache
def _definitions() -> dict[tuple[str, int], tuple[exp.Expr, exp.Expr]]:
    """The call and the definition of each function, by name and number of arguments."""
    parsed = ((parse(call).tree, parse(definition).tree) for call, definition in DEFINITIONS.items())
    return {(str(call.this), len(call.expressions)): (call, definition) for call, definition in parsed}


@builder("coalesce", "nvl", "ifnull")
def coalesce(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, items = typed.unify(arguments, scope.zone)
    return TypedExpression(kind, lambda row: next((one for item in items if (one := item.run(row)) is not None), None))


@builder("decode")
def decode(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) < 3:
        raise NotCovered("decode of a character set")
    pairs = [(arguments[i], arguments[i + 1]) for i in range(1, len(arguments) - 1, 2)]
    default = arguments[-1] if len(arguments) % 2 == 0 else typed.constant(None, NULL)
    tests = [typed.null_safe_equal(arguments[0], key, scope.zone).run for key, _ in pairs]
    return typed.choose(tests, [*(value for _, value in pairs), default], scope)
