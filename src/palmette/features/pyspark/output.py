"""The rows and the columns of the output: the base, the joins, and the final select that is the contract."""

from __future__ import annotations

import re
from dataclasses import dataclass

from palmette.errors import DeveloperError
from palmette.features.pyspark.code import Code, chain, function, literal, method, name_arguments, quoted
from palmette.features.pyspark.empty import empty_value, never_null, presence_column
from palmette.features.pyspark.expressions import translate
from palmette.features.pyspark.layout import keys, longest_window
from palmette.features.pyspark.scope import Scope, identifier
from palmette.features.pyspark.sources import Known
from palmette.features.pyspark.times import in_window, instant
from palmette.features.spec.fsc import Aggregate, Expression
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, Schema, ViewFeature

_COUNTS = ("count", "count_distinct", "approx_count_distinct")
DAY = 'F.to_date(F.col("as_of") - F.expr("INTERVAL 1 MICROSECOND"))'


@dataclass(frozen=True)
class Base:
    """The transform that gives the rows of the output."""

    function: str
    arguments: list[str]


def write_spine(scope: Scope) -> Base:
    """Adds the transform that selects the spine's rows with their cut-offs."""
    view, spine = scope.view, scope.view.spine
    assert spine is not None
    table = view.tables[spine.table]
    schema: Schema = {column.name: column.type.parsed for column in table.columns}
    rows = identifier(table.name)
    calls = [] if spine.where is None else [f"where({scope.sql(spine.where, schema).as_column.text})"]
    columns = [_cast(name, schema[name], kind) for name, kind in view.grain.items()]
    columns += [quoted(name) for name in view.kept]
    cutoff = instant(spine.cutoff, schema, table) if scope.per_row and spine.cutoff else scope.cutoff
    columns.append(quoted(AS_OF) if cutoff.column == AS_OF else method(cutoff, "alias", quoted(AS_OF)).text)
    calls.append(f"select({', '.join(columns)})")
    name = scope.names.fresh("spine_rows")
    parameters = [f"{rows}: DataFrame"] + ([] if scope.per_row else ["as_of: datetime"])
    doc = "The rows of the output, duplicates included, each with its cut-off."
    scope.functions.append(function(name, parameters, "DataFrame", doc, [f"return {chain(rows, calls)}"]))
    return Base(name, [] if scope.per_row else ["as_of"])


def _cast(name: str, have: SparkType, want: SparkType) -> str:
    if have == want:
        return quoted(name)
    return f"F.col({quoted(name)}).cast({quoted(str(want))}).alias({quoted(name)})"


def write_observed(scope: Scope, known: dict[str, Known]) -> tuple[Base, list[str]]:
    """Adds the transform that finds the keys of the output among visible rows; gives the sources it reads, too."""
    grain = tuple(scope.view.grain)
    sources = [source for source in scope.view.sources if source.is_event and any(
        feature.source == source.name and keys(feature) == grain for feature in scope.view.features)]
    if not sources:
        raise DeveloperError(f"feature view {scope.view.name!r} has neither a spine nor events grouped by its grain")
    selects = []
    for source in sources:
        window, event = longest_window(scope.view, source, grain), known[source.name].event
        assert event is not None
        calls = [] if window is None else [
            f"where({in_window(window, event, scope.cutoff, scope.view.zone).text})"]
        selects.append(".".join([identifier(source.name), *calls, f"select({name_arguments(grain)})"]))
    combined = selects[0] + "".join(f".union({item})" for item in selects[1:])
    name = scope.names.fresh("observed_keys")
    parameters = [f"{identifier(source.name)}: DataFrame" for source in sources] + ["as_of: datetime"]
    doc = f"Every {' and '.join(key.removesuffix('_id') for key in grain)} with an event in the longest window."
    body = [f'return {combined}.dropna().distinct().withColumn("as_of", F.lit(as_of))']
    scope.functions.append(function(name, parameters, "DataFrame", doc, body))
    return Base(name, ["as_of"]), [source.name for source in sources]


def finished(feature: ViewFeature, computed: Code) -> str:
    """The feature's column: cast to its type, null replaced by its default, under its name."""
    code = method(computed, "cast", quoted(str(feature.dtype)))
    default = default_of(feature)
    if default is not None:
        code = Code(f"F.coalesce({code.argument}, {default})")
    return code.text


def default_of(feature: ViewFeature) -> str | None:
    """Source of the value that replaces null; counts are 0 and `exists` is false where there are no rows."""
    default = feature.default
    if isinstance(feature.computation, Aggregate) and feature.computation.function in _COUNTS:
        default = 0
    elif isinstance(feature.computation, Aggregate) and feature.computation.function == "exists":
        default = False
    return None if default is None else typed_literal(default, feature.dtype)


def typed_literal(value: object, kind: SparkType) -> str:
    """A Column of exactly this type."""
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


def computed_code(feature: ViewFeature) -> Code:
    """The joined column; for an SQL aggregate with a value over no rows, that value where nothing was joined."""
    if isinstance(feature.computation, Expression):
        empty, text = empty_value(feature.computation.sql), quoted(feature.name)
        if empty is not None and never_null(feature.computation.sql):
            return Code(f"F.coalesce({text}, F.lit({empty}))")
        if empty is not None:
            marker = quoted(presence_column(feature))
            return Code(f"F.when(F.col({marker}), F.col({text})).otherwise({translate(empty).text})")
    return Code(f"F.col({quoted(feature.name)})", column=feature.name)


def derive_levels(scope: Scope) -> list[list[ViewFeature]]:
    """Derived features in rounds: each uses only features of earlier rounds."""
    levels: dict[str, int] = {}
    for name in scope.view.derivation_order:
        feature = scope.view.feature(name)
        if feature.derive is None:
            levels[name] = 0
        else:
            mentioned = set(re.findall(r"\w+", feature.derive))
            levels[name] = 1 + max((levels[other] for other in levels if other in mentioned), default=0)
    rounds = range(1, max(levels.values(), default=0) + 1)
    return [[scope.view.feature(name) for name, level in levels.items() if level == number] for number in rounds]
