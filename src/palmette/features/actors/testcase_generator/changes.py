"""Small changes of a computation or a step, each a plausible mistake: one field has another value."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from sqlglot import exp

from palmette.documents import Model
from palmette.features.frames.value_pool import PredicateValues
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.expression import parse
from palmette.features.spec import Duration, Table, ViewSource, Window, fsc, fsc_steps

WINDOW = "the window is"
"""Prefix of changes in the length of a window."""
COLUMN = "the column is"
"""Prefix of changes to another column of the same type."""
ORDER = "the order begins with"
"""Prefix of changes that order rows without the first column of their order."""
TIES = "the order ends with"
"""Prefix of changes that decide ties the other way."""
MOST = 8
"""Maximum number of changes of one expression."""

Changes = Iterator[tuple[str, Any]]
"""Pairs of a description and the changed value."""
_Part = TypeVar("_Part", bound=Model)

_OPERATORS: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.LTE, exp.LTE: exp.LT, exp.GT: exp.GTE, exp.GTE: exp.GT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
    exp.And: exp.Or, exp.Or: exp.And, exp.Add: exp.Sub, exp.Sub: exp.Add, exp.Mul: exp.Add, exp.Div: exp.Mul,
}  # fmt: skip
_DEFAULTING = ("coalesce", "nullif", "nvl", "ifnull")
_FUNCTIONS: Mapping[str, str] = {
    "count": "exists", "count_distinct": "count", "approx_count_distinct": "count", "sum": "avg max", "avg": "sum max",
    "min": "max avg", "max": "min avg", "first": "last", "last": "first", "mode": "min max", "stddev": "avg max",
    "percentile": "avg max", "exists": "count", "vector_mean": "vector_sum", "vector_sum": "vector_mean",
    "vector_weighted_mean": "vector_mean",
}  # fmt: skip
"""The functions that each function may be mistaken for."""


def changes(part: _Part) -> Iterator[tuple[str, _Part]]:
    """The part with one field changed, for each way to change one."""
    for name, change in _FIELDS.items():
        value = getattr(part, name, None)
        if value is not None and name in _OPTIONAL:
            yield f"{name} was dropped", part.model_copy(update={name: None})
        for what, other in change(value) if value is not None else ():
            yield what, part.model_copy(update={name: other})


def step_changes(step: fsc_steps.Step) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    """The steps that replace this one, for each mistake in it."""
    kind, body = step.kind, step.body
    if kind in ("filter", "replace"):
        yield f"the {kind} was dropped", ()
    for what, changed in changes(step):
        yield what, (changed,)
    if isinstance(body, Model):
        about = getattr(body, "column", getattr(body, "table", kind))
        for what, mistaken in changes(body):
            yield f"{about}: {what}", (step.model_copy(update={kind: mistaken}),)


def aggregate_changes(aggregate: fsc.Aggregate, source: ViewSource) -> Iterator[tuple[str, fsc.Aggregate]]:
    """Mistakes in what an aggregation does with nulls, duplicates, order and columns, beside those in one field."""
    yield from changes(aggregate)
    if aggregate.function in ("first", "last", "last_k", "collect"):
        rest = aggregate.order[1:] if aggregate.order else source.table.keys
        if rest and not {each.split()[0] for each in rest} - source.schema.keys():
            yield f"{ORDER} {rest[0]}", aggregate.model_copy(update={"order": rest})
            first = aggregate.order[:1] if aggregate.order else (source.table.event_time or rest[0],)
            ties = tuple(_reversed(each) for each in rest)
            yield f"{TIES} {ties[-1]}", aggregate.model_copy(update={"order": (*first, *ties)})
    for what, update in (*_nulls(aggregate, source), *_other_columns(source, aggregate.of or "")):
        yield what, aggregate.model_copy(update=update)


def _reversed(order: str) -> str:
    name, _, direction = order.partition(" ")
    return name if direction.lower() == "desc" else f"{name} desc"


def _nulls(aggregate: fsc.Aggregate, source: ViewSource) -> Iterator[tuple[str, dict[str, Any]]]:
    if aggregate.function in ("collect", "last_k"):
        yield "distinct is not distinct", {"distinct": not aggregate.distinct}
    if aggregate.of is None:
        return
    if aggregate.function in ("count", "exists", "days_since_last"):
        yield "nulls count too", {"of": None}
    if aggregate.function in ("avg", "min", "max", "stddev", "percentile", "first", "last"):
        kind = source.schema.get(aggregate.of)
        zero = "''" if kind is not None and kind.name == "string" else "0"
        yield f"nulls are {zero}", {"of": f"coalesce({aggregate.of}, {zero})"}
    if aggregate.function == "share":
        yield "nulls are false", {"of": f"coalesce({aggregate.of}, false)"}
        yield "one row for it is enough", {"function": "max", "of": f"cast({aggregate.of} as double)"}
        yield "one row against it is enough", {"function": "min", "of": f"cast({aggregate.of} as double)"}


def _other_columns(source: ViewSource, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Replaces each column of the table in an expression by the next of the same type, as it is after all steps."""
    schema = {name: source.schema[name] for name in source.table.column_types if name in source.schema}
    for name in (each for each in schema if re.search(rf"\b{each}\b", text)):
        alike = [other for other, kind in schema.items() if kind == schema[name]]
        if len(alike) > 1:
            other = alike[(alike.index(name) + 1) % len(alike)]
            yield f"{COLUMN} {other}", {"of": re.sub(rf"\b{name}\b", other, text)}


def expression_changes(sql: str) -> list[tuple[str, str]]:
    """At most `MOST` changes of an expression, in text order."""
    return list(_rewritten(sql, _of_node))[:MOST]


def other_texts(sql: str, table: Table, named: PredicateValues) -> Iterator[tuple[str, str]]:
    """The expression with another text accepted wherever it compares a column of the table with some."""
    yield from _rewritten(sql, partial(_accepting, table=table, named=named))


def _rewritten(sql: str, change: Callable[[exp.Expr], Iterator[tuple[str, exp.Expr]]]) -> Iterator[tuple[str, str]]:
    """The expression with one node replaced, for each replacement of each node."""
    try:
        tree = parse(sql)
    except NotCovered:
        return
    for index, node in enumerate(tree.walk()):
        for what, other in change(node):
            place = list(tree.copy().walk())[index]
            if (text := place.replace(other).root().sql(dialect="spark")) != sql:
                yield what, text


def _accepting(node: exp.Expr, table: Table, named: PredicateValues) -> Iterator[tuple[str, exp.Expr]]:
    if not isinstance(node, exp.EQ | exp.NEQ | exp.In) or not isinstance(node.this, exp.Column):
        return
    accepted = node.expressions or [node.expression]
    column, texts = table.column(node.this.name), [each.name for each in accepted if each.is_string]
    if column is None or len(texts) != len(accepted):
        return
    lower = exp.Anonymous(this="lower", expressions=[node.this.copy()])
    found: list[tuple[str, exp.Expr, list[str]]] = []
    if not column.values:
        found.append(("upper case, too", lower, [text.lower() for text in texts]))
    for other in column.values or named.literals[column.name]:
        if isinstance(other, str) and other not in texts:
            found.append((f"{other!r}, too", node.this.copy(), [*texts, other]))
    for what, value, names in found:
        member = exp.In(this=value, expressions=[exp.Literal.string(name) for name in names])
        yield what, exp.Not(this=member) if isinstance(node, exp.NEQ) else member


def _of_node(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    if kind := _OPERATORS.get(type(node)):
        yield (f"{type(node).key} became {kind.key}", kind(this=node.this.copy(), expression=node.expression.copy()))
    match node:
        case exp.And() | exp.Or():
            yield "a condition was dropped", node.this.copy()
            yield "a condition was dropped", node.expression.copy()
        case exp.In():
            for item in node.expressions if len(node.expressions) > 1 else ():
                rest = [each.copy() for each in node.expressions if each is not item]
                yield f"{item.sql(dialect='spark')} is forgotten", exp.In(this=node.this.copy(), expressions=rest)
        case exp.Literal() if not node.is_string and re.fullmatch(r"\d+(\.\d+)?", node.this):
            more = str(Decimal(node.this) + Decimal(1).scaleb(-len(node.this.partition(".")[2])))
            yield f"{node.this} became {more}", exp.Literal.number(more)
        case exp.Not():
            yield "a negation was dropped", node.this.copy()
        case exp.Anonymous() if str(node.this).lower() in _DEFAULTING:
            yield f"{node.this} was dropped", node.expressions[0].copy()


def _sql(name: str, text: str) -> Changes:
    for what, changed in expression_changes(text):
        yield (what if name == "sql" else f"in {name}, {what}"), changed


def _columns(expressions: Mapping[str, str]) -> Changes:
    for name, text in expressions.items():
        yield from ((what, {**expressions, name: changed}) for what, changed in _sql(name, text))


def _window(window: Window) -> Changes:
    if window == Window.ALL:
        yield f"{WINDOW} 30d", Window(30)
        return
    in_hours = [Window(0, window.days * 86400)] if window.days and not window.seconds else []
    for other in (window.stepped(1), window.stepped(-1), *in_hours):
        if other != Window.ALL:
            yield f"{WINDOW} {other}", other
    yield f"{WINDOW} all history", Window.ALL


def _rank(text: str) -> Changes:
    for one, other in (("sum", "max"), ("avg", "max"), ("max", "min"), ("min", "max")):
        if text.startswith(f"{one}("):
            yield f"{other} ranks", other + text.removeprefix(one)
    yield from _sql("rank_by", text)


def _cases(cases: tuple[fsc_steps.CategoryCase, ...]) -> Changes:
    for index, case in enumerate(cases):
        before, after = cases[:index], cases[index + 1 :]
        if before or after:
            yield f"{case.then!r} is forgotten", (*before, *after)
        for what, sql in _sql(repr(case.then), case.when):
            yield what, (*before, case.model_copy(update={"when": sql}), *after)


def _buckets(bounds: tuple[float, ...]) -> Changes:
    for index, bound in enumerate(bounds):
        yield f"{bound} belongs to the bucket below", (*bounds[:index], bound + 0.001, *bounds[index + 1 :])


_FIELDS: Mapping[str, Callable[[Any], Iterable[tuple[str, Any]]]] = {
    "window": _window,
    "where": partial(_sql, "where"),
    "by": lambda keys: [
        (f"{key} is not a key", tuple(each for each in keys if each != key)) for key in keys if len(keys) > 1
    ],
    "function": lambda name: [(f"{name} became {other}", other) for other in _FUNCTIONS.get(name, "").split()],
    "k": lambda k: [(f"k is {other}", other) for other in (k + 1, k - 1) if other],
    "rank_by": _rank,
    "p": lambda p: [("p is another", abs(p - 0.25))],
    "half_life": lambda length: [("the half-life is twice as long", Duration(length.days * 2, length.seconds * 2))],
    "sql": partial(_sql, "sql"),
    "filter": partial(_sql, "the filter"),
    "compute": _columns,
    "values": lambda values: [
        (f"{old!r} stays", {key: new for key, new in values.items() if key != old}) for old in values
    ],
    "cases": _cases,
    "buckets": _buckets,
    "otherwise": lambda _: [],
    "unmatched": lambda value: [("unmatched rows are treated otherwise", {"keep": "drop", "drop": "keep"}[value])],
    "at": lambda value: [(f"known at the {other}", other) for other in {"event", "cutoff"} - {value}],
    "timeout": lambda timeout: [
        (f"the timeout is {other}", other) for other in map(timeout.stepped, (1, -1)) if other.timedelta
    ],
    "longer": lambda longer: [("a gap of the timeout counts otherwise", not longer)],
    "offset": lambda offset: [("the event before the previous one", offset + 1)],
    "of": partial(_sql, "of"),
}
"""By field of a computation or a step: descriptions of mistakes, and the values that they give."""
_OPTIONAL = ("where", "rank_by", "otherwise")
"""Fields that may be forgotten."""
