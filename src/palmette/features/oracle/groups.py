"""SQL aggregate functions over the rows of a group, which may be empty."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

from sqlglot import exp

from palmette.features.oracle import summaries
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import Build, EvaluationScope, TypedExpression, attempted, order_key, same, to
from palmette.features.spec.type_rules import BIGINT, BOOLEAN, DOUBLE, STRING, array_of, average_type, sum_type
from palmette.features.spec.values import SparkType

OfValues = Callable[[Sequence[Any]], Any]


class AggregateCall(NamedTuple):
    """A call of an aggregate function."""

    arguments: list[TypedExpression]  # row-wise expressions, evaluated for each row of the group
    scope: EvaluationScope
    distinct: bool


def _values(call: AggregateCall, rows: Sequence[Any]) -> list[Any]:
    run = call.arguments[0].run
    values = [value for value in (run(row) for row in rows) if value is not None]
    return summaries.distinct(values) if call.distinct else values


def _count(call: AggregateCall) -> TypedExpression:
    runs = [item.run for item in call.arguments]

    def run(rows: Any) -> int:
        found = [tuple(each(row) for each in runs) for row in rows]
        known = [values for values in found if all(value is not None for value in values)]
        return len(summaries.distinct(known) if call.distinct else known)

    return TypedExpression(BIGINT, run)


def _summary(
    function: Callable[[Sequence[Any], SparkType], Any],
    result: Callable[[SparkType], SparkType | None],
    call: AggregateCall,
) -> TypedExpression:
    if not call.arguments[0].kind.is_numeric:
        call = call._replace(arguments=[to(call.arguments[0], DOUBLE, call.scope.zone)])
    kind = call.arguments[0].kind
    return TypedExpression(result(kind) or DOUBLE, lambda rows: function(_values(call, rows), kind))


_sum, _mean = partial(_summary, summaries.total, sum_type), partial(_summary, summaries.mean, average_type)


def _plain(
    kind: SparkType | None, function: OfValues, call: AggregateCall, argument: SparkType | None = None
) -> TypedExpression:
    """A function of the non-null values, cast to `argument` if given; `kind` defaults to their type."""
    if argument is not None:
        call = call._replace(arguments=[to(call.arguments[0], argument, call.scope.zone)])
    return TypedExpression(kind or call.arguments[0].kind, lambda rows: function(_values(call, rows)))


def _by(pick: Any, call: AggregateCall) -> TypedExpression:
    """max_by and min_by; a tie between different values is unsupported because Spark may return either."""
    if len(call.arguments) > 2:
        raise NotCovered("max_by or min_by of several values")
    value, rank = (item.run for item in call.arguments)

    def run(rows: Any) -> Any:
        ranked = [(order_key(place), value(row)) for row in rows if (place := rank(row)) is not None]
        if not ranked:
            return None
        best = pick(place for place, _ in ranked)
        winners = [found for place, found in ranked if place == best]
        if any(not same(found, winners[0]) for found in winners):
            raise NotCovered("a tie, which leaves max_by or min_by undetermined")
        return winners[0]

    return TypedExpression(call.arguments[0].kind, run)


def _undetermined(call: AggregateCall) -> TypedExpression:
    """first, last, any_value; supported only if all rows have the same value."""
    run_value = call.arguments[0].run
    skip = len(call.arguments) > 1 and bool(call.arguments[1].value())

    def run(rows: Any) -> Any:
        values = [value for value in map(run_value, rows) if value is not None or not skip]
        if any(not same(value, values[0]) for value in values):
            raise NotCovered("first, last or any_value, which depend on the order of the rows")
        return values[0] if values else None

    return TypedExpression(call.arguments[0].kind, run)


def _collected(call: AggregateCall) -> TypedExpression:
    """An array in an order that Spark does not fix; returned sorted."""
    return _plain(array_of(call.arguments[0].kind), partial(sorted, key=order_key), call)


def _listed(node: exp.GroupConcat, scope: EvaluationScope, build: Build) -> TypedExpression:
    """listagg, in the order of WITHIN GROUP; null for no values."""
    rows, order = replace(scope, groups=False), node.this if isinstance(node.this, exp.Order) else None
    inner = order.this if order else node.this
    unique = isinstance(inner, exp.Distinct)
    text = to(build(inner.expressions[0] if unique else inner, rows), STRING, scope.zone).run
    separator = build(node.args.get("separator") or exp.Literal.string(""), rows).value()
    entries = order.expressions if order else []
    if any(each.args.get("nulls_first") is bool(each.args.get("desc")) for each in entries):
        raise NotCovered("an order with its own place for nulls")
    keys = [(build(each.this, rows).run, bool(each.args.get("desc"))) for each in entries]

    def run(group: Any) -> str | None:
        pairs = [(row, value) for row in group if (value := text(row)) is not None]
        values = summaries.in_order(pairs, keys, "listagg")
        return separator.join(summaries.distinct(values) if unique else values) if values else None

    return TypedExpression(STRING, run)


def _quantile(approximate: bool, call: AggregateCall) -> TypedExpression:
    if len(call.arguments) > 2 and not approximate:
        raise NotCovered("percentile with frequencies")
    item, share = call.arguments[:2]
    find, kind = (summaries.nth, item.kind) if approximate else (summaries.percentile, DOUBLE)
    if share.kind.name == "array":
        shares = [float(p) for p in share.run({})]
        return TypedExpression(
            array_of(kind), lambda rows: [find(values, p) for p in shares] if (values := _values(call, rows)) else None
        )
    p = float(share.value())
    return TypedExpression(kind, lambda rows: find(_values(call, rows), p))


def _bits(combine: Callable[[int, int], int], call: AggregateCall) -> TypedExpression:
    return _plain(None, lambda values: reduce(combine, values) if values else None, call)


_truth = partial(_plain, argument=BOOLEAN)
_numbers = partial(_plain, DOUBLE, argument=DOUBLE)


def _pairs(function: Callable[[list[tuple[float, float]]], Any], call: AggregateCall) -> TypedExpression:
    one, other = (to(item, DOUBLE, call.scope.zone).run for item in call.arguments)

    def run(rows: Any) -> Any:
        found = [(one(row), other(row)) for row in rows]
        return function([(a, b) for a, b in found if a is not None and b is not None])

    return TypedExpression(DOUBLE, run)


_COMPILERS: dict[str, Callable[[AggregateCall], TypedExpression]] = {
    "count": _count,
    "count_if": partial(_truth, BIGINT, sum),
    "approx_count_distinct": lambda call: _count(call._replace(arguments=call.arguments[:1], distinct=True)),
    "sum": _sum,
    "avg mean": _mean,
    "try_sum": lambda call: attempted(_sum(call)),
    "try_avg": lambda call: attempted(_mean(call)),
    "min": partial(_plain, None, partial(min, key=order_key, default=None)),
    "max": partial(_plain, None, partial(max, key=order_key, default=None)),
    "stddev stddev_samp std": partial(_numbers, summaries.deviation),
    "stddev_pop": partial(_numbers, partial(summaries.deviation, sample=False)),
    "variance var_samp": partial(_numbers, partial(summaries.deviation, square=True)),
    "var_pop": partial(_numbers, partial(summaries.deviation, sample=False, square=True)),
    "percentile": partial(_quantile, False),
    "percentile_approx approx_percentile": partial(_quantile, True),
    "median": partial(_numbers, partial(summaries.percentile, p=0.5)),
    "bool_or some any": partial(_truth, BOOLEAN, lambda values: any(values) if values else None),
    "bool_and every": partial(_truth, BOOLEAN, lambda values: all(values) if values else None),
    "max_by": partial(_by, max),
    "min_by": partial(_by, min),
    "first first_value last last_value any_value": _undetermined,
    "collect_list array_agg": _collected,
    "collect_set": lambda call: _collected(call._replace(distinct=True)),
    "covar_samp": partial(_pairs, partial(summaries.covariance, sample=True)),
    "covar_pop": partial(_pairs, partial(summaries.covariance, sample=False)),
    "corr": partial(_pairs, summaries.correlation),
    "skewness": partial(_numbers, partial(summaries.asymmetry, power=3)),
    "kurtosis": partial(_numbers, partial(summaries.asymmetry, power=4)),
    **{f"regr_{name}": partial(_pairs, partial(summaries.line, wanted=name)) for name in ("slope", "intercept", "r2")},
    "bit_and": partial(_bits, operator.and_),
    "bit_or": partial(_bits, operator.or_),
    "bit_xor": partial(_bits, operator.xor),
}
_OF_TWO = (
    "max_by", "min_by", "percentile", "percentile_approx", "approx_percentile", "covar_samp", "covar_pop", "corr",
)  # fmt: skip
AGGREGATES = {name: compiler for names, compiler in _COMPILERS.items() for name in names.split()}


def aggregate(name: str, nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    """Compiles a call of an aggregate function; its `run` takes the rows of the group."""
    rows = replace(scope, groups=False)
    unique = bool(nodes) and isinstance(nodes[0], exp.Distinct)
    inner = [*nodes[0].expressions, *nodes[1:]] if unique else list(nodes)
    if any(isinstance(node, exp.Star) for node in inner):
        inner = []
    if len(inner) < (2 if name in _OF_TWO or name.startswith("regr_") else name != "count"):
        raise NotCovered(f"{name} with {len(inner)} arguments")
    return AGGREGATES[name](AggregateCall([build(node, rows) for node in inner], rows, unique))


def modified(node: Any, scope: EvaluationScope, build: Build) -> TypedExpression:
    """FILTER (WHERE ...), IGNORE NULLS and WITHIN GROUP around an aggregate function, and listagg."""
    if isinstance(node, exp.Filter):
        inner, rows = build(node.this, scope), replace(scope, groups=False)
        test = to(build(node.expression.this, rows), BOOLEAN, scope.zone).run
        return TypedExpression(inner.kind, lambda group: inner.run([row for row in group if test(row) is True]))
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.Anonymous):
        return aggregate(str(node.this.this).lower(), [*node.this.expressions, exp.true()], scope, build)
    if isinstance(node, exp.GroupConcat):
        return _listed(node, scope, build)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, scope, build)
    raise NotCovered(f"{node.sql(dialect='spark')}")


def _within_group(node: Any, scope: EvaluationScope, build: Build) -> TypedExpression:
    name = str(node.this.this).lower()
    ordered = node.expression.expressions
    if name != "percentile_cont" or len(ordered) != 1:
        raise NotCovered(f"{node.sql(dialect='spark')}")
    p = float(build(node.this.expressions[0], scope).value())
    return aggregate(
        "percentile", [ordered[0].this, exp.Literal.number(1 - p if ordered[0].args.get("desc") else p)], scope, build
    )
