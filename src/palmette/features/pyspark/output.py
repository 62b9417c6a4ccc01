"""The rows of a spine, and the columns of the output: the final select that is the contract."""

from __future__ import annotations

import re
from decimal import Decimal

from palmette.features.pyspark.code import Code, chain, function, literal, method, quoted
from palmette.features.pyspark.empty import empty_value, never_null, presence_column
from palmette.features.pyspark.expressions import translate
from palmette.features.pyspark.layout import own_columns
from palmette.features.pyspark.scope import Scope, identifier
from palmette.features.pyspark.states import selected
from palmette.features.pyspark.times import instant, is_dated
from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, Schema, View, ViewFeature

_NEVER_NULL = {"count": "bigint", "count_distinct": "bigint", "approx_count_distinct": "bigint", "exists": "boolean"}
"""Aggregates that have a value over any rows, with its type."""


def write_spine(scope: Scope) -> str:
    """Adds the transform that selects the spine's rows with their cut-offs; gives its name."""
    view, spine = scope.view, scope.view.spine
    assert spine is not None
    table = view.tables[spine.table]
    schema: Schema = {column.name: column.type.parsed for column in table.columns}
    rows = identifier(table.name)
    calls = [] if spine.where is None else [f"where({scope.sql(spine.where, schema).as_column.text})"]
    columns = [_cast(name, schema[name], kind) for name, kind in view.grain.items()]
    columns += [quoted(name) for name in view.kept]
    columns += selected(own_columns(view))
    if scope.per_row:
        cutoff = instant(spine.cutoff or "", schema, table, view.zone)
        columns.append(quoted(AS_OF) if cutoff.column == AS_OF else method(cutoff, "alias", quoted(AS_OF)).text)
    calls.append(f"select({', '.join(columns)})")
    name = scope.names.fresh("spine_rows")
    doc = "The rows of the output, duplicates included" + (", each with its cut-off." if scope.per_row else ".")
    scope.functions.append(function(name, [f"{rows}: DataFrame"], "DataFrame", doc, [f"return {chain(rows, calls)}"]))
    return name


def _cast(name: str, have: SparkType, want: SparkType) -> str:
    if have == want:
        return quoted(name)
    return f"F.col({quoted(name)}).cast({quoted(str(want))}).alias({quoted(name)})"


def finished(feature: ViewFeature, computed: Code, *, joined: bool = True) -> Code:
    """The feature's column: cast to its type, null replaced by its default.

    `joined` says that the column was joined to the keys, so that rows of other keys have null there.
    """
    exact = _never_null(feature)
    code = computed if exact == str(feature.dtype) else method(computed, "cast", quoted(str(feature.dtype)))
    default = default_of(feature) if joined or not exact else None
    return code if default is None else Code(f"F.coalesce({code.argument}, {default})")


def default_of(feature: ViewFeature) -> str | None:
    """Source of the value that replaces null; counts are 0 and `exists` is false where there are no rows."""
    default: object = {"bigint": 0, "boolean": False, None: feature.default}[_never_null(feature)]
    return None if default is None else typed_literal(default, feature.dtype)


def _never_null(feature: ViewFeature) -> str | None:
    """The type of the feature's aggregate where that has a value over any rows."""
    return _NEVER_NULL.get(feature.computation.function) if isinstance(feature.computation, Aggregate) else None


def typed_literal(value: object, kind: SparkType) -> str:
    """A Column of exactly this type."""
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, tuple | list):
        items = ", ".join(f"F.lit({item!r})" for item in value)
        return f"F.array({items}).cast({quoted(str(kind))})"
    if kind.name == "double" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"F.lit({float(value)!r})"
    text = f"F.lit({literal(value).text})" if not isinstance(value, bool) else f"F.lit({value})"
    exact = {"boolean": bool, "string": str, "int": int, "bigint": int}.get(kind.name)
    if exact is not None and type(value) is exact:
        return text
    if isinstance(value, float) and kind.name == "decimal":
        text = f"F.lit({quoted(repr(value))})"
    return f"{text}.cast({quoted(str(kind))})"


def computed_code(view: View, feature: ViewFeature) -> Code:
    """The joined column; for an SQL aggregate with a value over no rows, that value where nothing was joined."""
    found = Code(f"F.col({quoted(feature.name)})", column=feature.name)
    if isinstance(feature.computation, Expression):
        empty = empty_value(feature.computation.sql, view.source(feature.computation.source).schema)
        if empty is not None and not never_null(feature.computation.sql):
            marker = quoted(presence_column(feature))
            return Code(f"F.when(F.col({marker}), {found.text}).otherwise({translate(empty).text})")
        if empty is not None and empty != str(feature.default):
            return Code(f"F.coalesce({quoted(feature.name)}, F.lit({empty}))")
    if (
        isinstance(feature.computation, Lookup)
        and _may_lack_cutoff(view)
        and not is_dated(view.tables[feature.computation.table])
    ):
        return Code(f'F.when(F.col("as_of").isNotNull(), {found.text})')
    return found


def _may_lack_cutoff(view: View) -> bool:
    """Whether a row of the spine may have no cut-off; then it sees nothing, not even what has no time."""
    if view.cutoff != "spine" or view.spine is None:
        return False
    registered = view.tables[view.spine.table].column(view.spine.cutoff or "")
    return registered is None or registered.nullable


def derive_levels(view: View) -> list[list[ViewFeature]]:
    """Derived features in rounds: each uses only features of earlier rounds."""
    levels: dict[str, int] = {}
    for name in view.derivation_order:
        feature = view.feature(name)
        if feature.derive is None:
            levels[name] = 0
        else:
            mentioned = set(re.findall(r"\w+", feature.derive))
            levels[name] = 1 + max((levels[other] for other in levels if other in mentioned), default=0)
    rounds = range(1, max(levels.values(), default=0) + 1)
    return [[view.feature(name) for name, level in levels.items() if level == number] for number in rounds]
