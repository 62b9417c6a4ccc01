"""Recognises what a specification can state in Spark's aggregates and window functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from sqlglot import exp

from palmette.features.adoption import trees
from palmette.features.adoption.trees import NotReadError, Ordering, Tree, duration, number_of, text_of, time_column
from palmette.features.spec import AS_OF, SparkType, Table, functions
from palmette.features.spec.expressions import check
from palmette.features.spec.sql import function_name

_PLAIN = {
    "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max", "stddev": "stddev", "stddev_samp": "stddev",
    "approx_count_distinct": "approx_count_distinct", "mode": "mode",
}  # fmt: skip
_PERCENTILES = {"percentile": False, "median": False, "percentile_approx": True, "approx_percentile": True}
_MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass
class RowChoice:
    """The rows that an aggregate uses: those in a window that satisfy conditions."""

    table: Table
    schema: Mapping[str, SparkType]
    window: timedelta | None = None
    conditions: list[Tree] = field(default_factory=list)

    def add(self, condition: Tree) -> None:
        for part in trees.conjuncts(condition):
            tests = [test for test in trees.time_tests(part) if test.column == self.table.event_time]
            if len(tests) == 1 and not tests[0].is_upper and tests[0].is_half_open:
                self.window = min(tests[0].before, self.window or timedelta.max)
            elif len(tests) == 1 and not tests[0].before and tests[0].is_half_open:
                continue  # a specification sees no row at or after the cut-off
            elif trees.mentions(part, AS_OF):
                raise NotReadError(f"{trees.text_of(part)} compares with the cut-off in a way that no window does")
            else:
                self.conditions.append(part)

    def value(self, tree: Tree) -> Tree:
        """The value of `CASE WHEN condition THEN value END`, with its condition added."""
        if isinstance(tree, exp.Case) and len(tree.args["ifs"]) == 1 and tree.args.get("default") is None:
            self.add(tree.args["ifs"][0].this)
            tree = tree.args["ifs"][0].args["true"]
        return tree

    @property
    def shared(self) -> dict[str, Any]:
        """Window and condition as fields of a specification."""
        parts = [exp.paren(one) if isinstance(one, exp.Or) else one for one in self.conditions]
        where = trees.text_of(exp.and_(*parts)) if parts else None
        found: dict[str, Any] = {"where": where} if where else {}
        return found | ({"window": trees.duration(self.window)} if self.window is not None else {})


def aggregate_of(tree: Tree, rows: RowChoice, unique: tuple[str, ...] = ()) -> dict[str, Any] | None:
    """The `aggregate` of a specification that a tree is, without its source; None if it is not exactly one.

    Args:
        tree: a Spark aggregate over the source's columns.
        rows: the rows it is computed from; conditions inside the aggregate are added.
        unique: keys of which the script keeps one row each, where the table may have several.
    """
    tree = tree.unnest()
    composite = _days_since(tree, rows) or _values_in_order(tree, rows) or _vector(tree, rows)
    if composite is not None:
        return composite
    if isinstance(tree, exp.GT) and trees.number_of(tree.right) == 0:
        counted = aggregate_of(tree.left, rows, unique)
        return {"function": "exists"} if counted == {"function": "count"} else None
    if isinstance(tree, exp.Filter):
        rows.add(tree.expression.this)
        tree = tree.this
    found = _vocabulary(tree, rows)
    return _once(found, unique) if unique and found is not None else found


def _once(found: dict[str, Any], unique: tuple[str, ...]) -> dict[str, Any]:
    """The aggregate over one row of each key, if it is also one over all rows."""
    if found["function"] == "count" and "of" not in found and len(unique) == 1:
        return {"function": "count_distinct", "of": unique[0]}
    if found["function"] not in ("count_distinct", "min", "max", "days_since_last", "exists"):
        raise NotReadError(f"{found['function']} over rows without repetitions has no counterpart in a specification")
    return found


def _vocabulary(tree: Tree, rows: RowChoice) -> dict[str, Any] | None:
    name, arguments = function_name(tree), tree.args.get("expressions", [])
    if name == "count":
        return _count(arguments, rows)
    if name == "count_if":
        rows.add(arguments[0])
        return {"function": "count"}
    if name == "sum" and (found := _indicator(arguments[0], rows)) is not None:
        return found
    if name == "avg" and (condition := _share(arguments[0], rows)) is not None:
        return {"function": "share", "of": trees.text_of(condition)}
    if name in _PLAIN:
        return {"function": _PLAIN[name], "of": trees.text_of(rows.value(arguments[0]))}
    if name in _PERCENTILES:
        p = 0.5 if name == "median" else trees.number_of(arguments[1])
        if p is None:
            return None
        found = {"function": "percentile", "of": trees.text_of(rows.value(arguments[0])), "p": p}
        return found | ({"approximate": True} if _PERCENTILES[name] else {})
    if name in ("max_by", "min_by"):
        return _edge(name, arguments, rows)
    return None


def _count(arguments: list[Tree], rows: RowChoice) -> dict[str, Any] | None:
    (argument, *others) = arguments
    if isinstance(argument, exp.Distinct):
        return {"function": "count_distinct", "of": trees.text_of(rows.value(argument.expressions[0]))}
    value = rows.value(argument)
    if others or isinstance(value, exp.Null):
        return None
    constant = isinstance(value, exp.Star | exp.Literal | exp.Boolean)
    return {"function": "count"} if constant else {"function": "count", "of": trees.text_of(value)}


def _indicator(tree: Tree, rows: RowChoice) -> dict[str, Any] | None:
    """The count that `sum(CASE WHEN condition THEN 1 ELSE 0 END)` or `sum(CAST(condition AS INT))` is."""
    tree = tree.unnest()
    if isinstance(tree, exp.Cast) and isinstance(tree.this.unnest(), exp.Predicate):
        rows.add(tree.this)
        return {"function": "count"}
    if not isinstance(tree, exp.Case) or len(tree.args["ifs"]) != 1 or tree.args.get("default") is None:
        return None
    branch = tree.args["ifs"][0]
    if trees.number_of(tree.args["default"]) != 0:
        return None
    rows.add(branch.this)
    one = trees.number_of(branch.args["true"]) == 1
    return {"function": "count"} if one else {"function": "sum", "of": trees.text_of(branch.args["true"]), "default": 0}


def _share(tree: Tree, rows: RowChoice) -> Tree | None:
    inner = tree.args["ifs"][0].args["true"] if isinstance(tree, exp.Case) and len(tree.args["ifs"]) == 1 else tree
    inner = inner.unnest()
    if not isinstance(inner, exp.Cast) or check(trees.text_of(inner.this), rows.schema).type != SparkType("boolean"):
        return None
    rows.value(tree)
    condition: Tree = inner.this.unnest()
    return condition


def _edge(name: str, arguments: list[Tree], rows: RowChoice) -> dict[str, Any] | None:
    """`first` or `last`, which ignore rows whose value is null."""
    of, order = arguments[0], rows.value(arguments[1])
    present = trees.text_of(exp.Not(this=exp.Is(this=of, expression=exp.Null())))
    counted = [one for one in rows.conditions if trees.text_of(one) != present]
    by = order.expressions if function_name(order) == "struct" else [order]
    if len(counted) == len(rows.conditions) or not all(isinstance(one, exp.Column) for one in by):
        return None
    rows.conditions = counted
    function = "last" if name == "max_by" else "first"
    return {"function": function, "of": trees.text_of(of), **_unless_usual([one.name for one in by], rows)}


def _unless_usual(order: list[str], rows: RowChoice) -> dict[str, Any]:
    usual = list(dict.fromkeys([rows.table.event_time, *rows.table.keys]))
    return {} if order == usual else {"order": order}


def _days_since(tree: Tree, rows: RowChoice) -> dict[str, Any] | None:
    """`(micros of the cut-off - micros of the newest event) / micros of a day`, floored or not."""
    if function_name(tree) == "floor":
        tree = tree.expressions[0].unnest()
    if not isinstance(tree, exp.Div) or trees.number_of(tree.right) != _MICROSECONDS_PER_DAY:
        return None
    elapsed = tree.left.unnest()
    if not isinstance(elapsed, exp.Sub) or function_name(elapsed.right) != "unix_micros":
        return None
    newest = elapsed.right.expressions[0]
    if trees.before_cutoff(elapsed.left) != timedelta(0) or function_name(newest) != "max":
        return None
    if trees.time_column(rows.value(newest.expressions[0])) != rows.table.event_time:
        return None
    return {"function": "days_since_last"}


def _values_in_order(tree: Tree, rows: RowChoice) -> dict[str, Any] | None:
    """`last_k` or `collect`: a field of sorted structs, the first k of them, or all."""
    if function_name(tree) != "nullif":
        return None
    tree, found = tree.expressions[0], dict[str, Any]()
    if function_name(tree) == "slice":
        found = {"k": int(trees.number_of(tree.expressions[2]) or 1)}
        tree = tree.expressions[0]
    if function_name(tree) == "array_distinct":
        found["distinct"] = True
        tree = tree.expressions[0]
    array = tree.this if isinstance(tree, exp.Dot) else tree
    if function_name(array) != "sort_array" or function_name(array.expressions[0]) != "collect_list":
        return None
    newest_first = len(array.expressions) > 1 and array.expressions[1].sql() == "FALSE"
    struct = rows.value(array.expressions[0].expressions[0])
    if function_name(struct) != "struct":
        return None
    *order, value = struct.expressions
    if not isinstance(value, exp.Alias) or newest_first != ("k" in found):
        return None
    present = trees.text_of(exp.Not(this=exp.Is(this=value.this, expression=exp.Null())))
    rows.conditions = [one for one in rows.conditions if trees.text_of(one) != present]
    function = "last_k" if "k" in found else "collect"
    by = _unless_usual([one.name for one in order], rows)
    return {"function": function, "of": trees.text_of(value.this), **found, **by}


def _vector(tree: Tree, rows: RowChoice) -> dict[str, Any] | None:
    """`vector_mean` or `vector_sum`: an array of one aggregate for each position."""
    if not isinstance(tree, exp.Case) or function_name(array := tree.args["ifs"][0].args["true"]) != "array":
        return None
    names = {function_name(one) for one in array.expressions}
    items = [one.expressions[0] for one in array.expressions]
    vectors = {item.expressions[0].sql() if function_name(item) == "get" else "" for item in items}
    if len(vectors) != 1 or "" in vectors or names not in ({"avg"}, {"sum"}):
        return None
    of = trees.text_of(rows.value(items[0].expressions[0]))
    return {"function": "vector_mean" if names == {"avg"} else "vector_sum", "of": of}


def aggregate_calls(tree: Tree) -> Iterator[Tree]:
    """The outermost calls of aggregate functions, with their FILTER clauses."""
    if isinstance(tree, exp.Filter) or function_name(tree) in functions.names("aggregates"):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from aggregate_calls(child)


def split(tree: Tree, name: str) -> tuple[Tree, dict[str, Tree]]:
    """A row-wise tree over the aggregates in `tree`, and these by name."""
    parts = {f"{name}_{number}": part for number, part in enumerate(aggregate_calls(tree), 1)}
    by_text = {part.sql(): key for key, part in parts.items()}

    def replace(node: exp.Expr) -> exp.Expr:
        return exp.column(by_text[node.sql()]) if node.sql() in by_text else node

    return tree.copy().transform(replace), {by_text[part.sql()]: part for part in parts.values()}


_UNITS = {1e6: "seconds", 6e7: "minutes", 3.6e9: "hours", 8.64e10: "days"}
_MICROSECONDS = {"unix_micros": 1, "unix_millis": 1e3, "unix_seconds": 1e6, "unix_timestamp": 1e6}
"""How many microseconds the results of functions count."""


def over(function: Tree, ordering: Ordering) -> Tree:
    ordered = [exp.Ordered(this=exp.column(name), desc=not up, nulls_first=up) for name, up in ordering.order]
    running = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    return exp.Window(
        this=function,
        partition_by=[exp.column(name) for name in ordering.by],
        order=exp.Order(expressions=ordered) if ordered else None,
        spec=running if ordering.is_running else None,
    )


def sequence_step(name: str, tree: Tree, table: Table) -> Mapping[str, Any] | None:
    """The step that computes a column with window functions; None if there is none."""
    tree = tree.unnest()
    if (gap := _gap(tree)) is not None:
        window, microseconds = gap
        unit = _UNITS.get(microseconds)
        return {"gap": {"column": name, "by": _by(window, table), "unit": unit}} if unit else None
    if isinstance(tree, exp.Window) and function_name(tree.this) == "lag":
        of, *rest = tree.this.expressions
        offset = int(number_of(rest[0]) or 1) if rest else 1
        step = {"column": name, "of": text_of(of), "by": _by(tree, table)}
        return {"previous": {**step, "offset": offset} if offset > 1 else step}
    return _session(name, tree, table)


def _gap(tree: Tree) -> tuple[exp.Window, float] | None:
    """The window of a time since the row before, and the microseconds that it counts."""
    if isinstance(tree, exp.Div):
        inner, divisor = _gap(tree.left.unnest()), number_of(tree.right)
        return None if inner is None or divisor is None else (inner[0], inner[1] * divisor)
    if not isinstance(tree, exp.Sub):
        return None
    now, before = tree.left.unnest(), tree.right.unnest()
    factor = _MICROSECONDS.get(function_name(now) or "")
    if factor is None or not isinstance(before, exp.Window) or function_name(before.this) != "lag":
        return None
    if before.this.expressions != [now]:
        return None
    return before, factor


def _session(name: str, tree: Tree, table: Table) -> Mapping[str, Any] | None:
    """The step for 1 plus the running number of long gaps."""
    if not isinstance(tree, exp.Add) or number_of(tree.right) != 1 or not isinstance(tree.left.unnest(), exp.Window):
        return None
    window = cast(exp.Window, tree.left.unnest())
    starts = window.this.expressions[0].unnest() if function_name(window.this) == "count_if" else None
    if not isinstance(starts, exp.GTE | exp.GT):
        return None
    gap, least = _gap(starts.left.unnest()), number_of(starts.right)
    if gap is None or least is None:
        return None
    timeout = duration(timedelta(microseconds=least * gap[1]))
    step = {"column": name, "by": _by(window, table), "timeout": timeout}
    return {"session": {**step, "longer": True} if isinstance(starts, exp.GT) else step}


def _by(window: exp.Window, table: Table) -> list[str]:
    """The keys of a window that is ordered by the event's time."""
    order = window.args.get("order")
    first = order.expressions[0] if order is not None else None
    if first is None or first.args.get("desc") or time_column(first.this) != table.event_time:
        raise NotReadError(f"a window function is not in the order of {table.event_time}")
    return [one.name for one in window.args["partition_by"] if one.name != AS_OF]


def is_newest(tree: Tree, table: Table) -> bool:
    """Whether a condition keeps the newest row of each key."""
    tree = tree.unnest()
    if not isinstance(tree, exp.EQ) or number_of(tree.right) != 1 or not isinstance(tree.left.unnest(), exp.Window):
        return False
    window = tree.left.unnest()
    order = window.args["order"].expressions if window.args.get("order") else []
    times = (table.event_time, table.valid_from)
    is_latest = bool(order) and time_column(order[0].this) in times and all(one.args.get("desc") for one in order)
    return function_name(window.this) == "row_number" and is_latest
