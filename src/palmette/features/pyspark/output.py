"""Writes the rows of a spine, and the final select, which is the output contract."""

import re

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from palmette.features.pyspark.code import CodeFragment, call, chain, literal, method, quoted
from palmette.features.pyspark.expressions import safe_division, translate
from palmette.features.pyspark.layout import own_columns
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.states import selected
from palmette.features.pyspark.times import is_dated, timestamp
from palmette.features.spec import AS_OF, Aggregate, Expression, Lookup, Schema, SparkType, View, ViewFeature
from palmette.features.spec.expressions import never_null, type_of
from palmette.features.spec.sql import parse

_NULL_IN_NULL_OUT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Cast, exp.TryCast, exp.Round, exp.Paren, exp.Abs,
    exp.Sqrt, exp.Floor, exp.Ceil, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ,
)  # fmt: skip
_ZERO = (exp.Count, exp.CountIf, exp.ApproxDistinct)


def empty_value(sql: str, schema: Schema | None = None) -> str | None:
    """The value for zero rows, as a Spark SQL expression without columns; None if it is null.

    Empty arrays get their type from `schema`, which describes the rows.
    """
    tree = exp.Paren(this=sqlglot.parse_one(sql, dialect="spark"))
    for node in reversed(list(tree.find_all(exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Anonymous))):
        value = _of_aggregate(node, schema or {})
        if value is not None and node.parent is not None:
            node.replace(value)
    for column in list(tree.find_all(exp.Column)):
        column.replace(exp.Null())
    folded = _fold(tree.this)
    return None if isinstance(folded, exp.Null) else simplify(folded, dialect="spark").sql(dialect="spark")


def presence_column(feature: ViewFeature) -> str:
    """Name of the column that marks whether an SQL aggregate's group had rows."""
    return f"{feature.name}_has_rows"


def needs_presence(feature: ViewFeature) -> bool:
    """Whether a presence column is needed to distinguish the value for zero rows from a null result."""
    sql = feature.computation.sql if isinstance(feature.computation, Expression) else None
    return sql is not None and not never_null(parse(sql).tree, ()) and empty_value(sql) is not None


def _of_aggregate(node: exp.Expr, schema: Schema) -> exp.Expr | None:
    if isinstance(node, _ZERO):
        return exp.Literal.number(0)
    if isinstance(node, exp.ArrayAgg | exp.ArrayUniqueAgg):
        kind = type_of(node.sql(dialect="spark"), schema)
        return exp.cast(exp.Array(), str(kind), dialect="spark") if kind is not None else exp.Array()
    if isinstance(node, exp.Filter | exp.WithinGroup):
        inner: exp.Expr = node.this.copy()
        return inner
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.find(exp.Column)):
        return exp.Null()
    return None


def _fold(node: exp.Expr) -> exp.Expr:
    """Folds operations on null to null."""
    for child in list(node.iter_expressions()):
        folded = _fold(child)
        if folded is not child:
            child.replace(folded)
    if isinstance(node, _NULL_IN_NULL_OUT) and any(isinstance(child, exp.Null) for child in node.iter_expressions()):
        return exp.Null()
    if isinstance(node, exp.Coalesce):
        known = [child for child in (node.this, *node.expressions) if not isinstance(child, exp.Null)]
        return (
            exp.Null() if not known else exp.Coalesce(this=known[0], expressions=known[1:]) if known[1:] else known[0]
        )
    return safe_division(node) if isinstance(node, exp.Div | exp.Mod) else node


_NEVER_NULL = {"count": "bigint", "count_distinct": "bigint", "approx_count_distinct": "bigint", "exists": "boolean"}
"""Aggregates that are never null, each with its result type; without rows, they are 0 or false."""


def write_spine(scope: ScriptScope) -> str:
    """Adds the transform that selects the spine's rows with their cut-offs; returns its name."""
    view, spine = scope.view, scope.view.spine
    assert spine is not None
    table = view.tables[spine.table]
    schema, rows = table.column_types, identifier(table.name)
    calls = [] if spine.where is None else [f"where({scope.sql(spine.where, schema).as_column.text})"]
    casts = {name: f"F.col({quoted(name)}).cast({quoted(str(kind))})" for name, kind in view.grain.items()}
    columns = [quoted(name) if schema[name] == kind else f"{casts[name]}.alias({quoted(name)})"
               for name, kind in view.grain.items()]  # fmt: skip
    columns += [quoted(name) for name in view.kept]
    columns += selected(own_columns(view))
    if scope.per_row:
        cutoff = timestamp(spine.cutoff or "", schema, table, view.zone)
        columns.append(quoted(AS_OF) if cutoff.column == AS_OF else method(cutoff, "alias", quoted(AS_OF)).text)
    calls.append(f"select({', '.join(columns)})")
    name = scope.fresh("spine_rows")
    doc = "The rows of the output, duplicates included" + (", each with its cut-off." if scope.per_row else ".")
    scope.write(name, [rows], doc, [f"return {chain(rows, calls)}"])
    return name


def finished(feature: ViewFeature, computed: CodeFragment, *, joined: bool = True) -> CodeFragment:
    """Casts a computed feature to its type and replaces null by its default.

    `joined` states whether the column was joined to the keys, which leaves null for keys without rows.
    """
    exact = _NEVER_NULL.get(feature.computation.function) if isinstance(feature.computation, Aggregate) else None
    code = computed if exact == str(feature.dtype) else method(computed, "cast", quoted(str(feature.dtype)))
    default: object = {"bigint": 0, "boolean": False, None: feature.default}[exact]
    if default is None or (exact and not joined):
        return code
    return call("F.coalesce", code.argument, typed_literal(default, feature.dtype))


def typed_literal(value: object, kind: SparkType) -> str:
    """A literal Column of exactly this type."""
    if isinstance(value, tuple | list):
        items = ", ".join(f"F.lit({item!r})" for item in value)
        return f"F.array({items}).cast({quoted(str(kind))})"
    if isinstance(value, int) and kind.name == "double":
        value = float(value)
    exact = {"boolean": bool, "string": str, "int": int, "bigint": int, "double": float}.get(kind.name)
    text = literal(value).as_column.text
    return text if type(value) is exact else f"{text}.cast({quoted(str(kind))})"


def computed_code(view: View, feature: ViewFeature) -> CodeFragment:
    """The joined column; for an SQL aggregate with a value for zero rows, that value if nothing was joined."""
    found = CodeFragment(f"F.col({quoted(feature.name)})", column=feature.name)
    if isinstance(feature.computation, Expression):
        empty = empty_value(feature.computation.sql, view.source(feature.computation.source).schema)
        if needs_presence(feature):
            marker = quoted(presence_column(feature))
            return CodeFragment(f"F.when(F.col({marker}), {found.text}).otherwise({translate(empty or '').text})")
        if empty is not None and empty != str(feature.default):
            return call("F.coalesce", found.argument, translate(empty).as_column.text)
    if (
        isinstance(feature.computation, Lookup)
        and _may_lack_cutoff(view)
        and not is_dated(view.tables[feature.computation.table])
    ):
        return CodeFragment(f'F.when(F.col("as_of").isNotNull(), {found.text})')
    return found


def _may_lack_cutoff(view: View) -> bool:
    """Whether rows of the spine may have no cut-off; no table is visible to such rows, not even one without times."""
    if view.cutoff != "spine" or view.spine is None:
        return False
    registered = view.tables[view.spine.table].column(view.spine.cutoff or "")
    return registered is None or registered.nullable


def derive_levels(view: View) -> list[list[ViewFeature]]:
    """Derived features in rounds, such that each round uses only features of earlier rounds."""
    levels: dict[str, int] = {}
    for name in view.derivation_order:
        derive = view.feature(name).derive
        mentioned = levels.keys() & re.findall(r"\w+", derive or "")
        levels[name] = 0 if derive is None else 1 + max((levels[other] for other in mentioned), default=0)
    rounds = range(1, max(levels.values(), default=0) + 1)
    return [[view.feature(name) for name, level in levels.items() if level == number] for number in rounds]
