"""The rows of each source that are known at the cut-off: one named transform per source."""

from __future__ import annotations

from dataclasses import dataclass, field

from palmette.features.pyspark.code import (
    Code,
    chain,
    conjunction,
    function,
    name_arguments,
)
from palmette.features.pyspark.layout import changed_columns, keys, longest_window
from palmette.features.pyspark.pruning import Pruning, pruning
from palmette.features.pyspark.scope import Scope, identifier
from palmette.features.pyspark.states import current_state, join_keys
from palmette.features.pyspark.steps import Pipeline, add_steps
from palmette.features.pyspark.times import instant, visible
from palmette.features.spec.values import Window
from palmette.features.spec.view import AS_OF, Schema, ViewSource


@dataclass
class Known:
    """How `build` gets at the rows of a source."""

    source: ViewSource
    event: Code | None
    """The event time after all steps, as a timestamp."""
    function: str
    prepared: str | None = None
    """Transform that applies the early steps, where it is a separate one."""
    early_tables: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    """Joined tables that the transforms take, in order."""
    fan_out: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """With a cut-off per row: the keys by which cut-offs meet rows, for each `by` of the features."""


def write_source(scope: Scope, source: ViewSource) -> Known:
    """Adds the transforms of a source to the script."""
    pipeline = Pipeline(scope, source, dict(source.table_schema))
    add_steps(pipeline, source.early)
    return _per_row(scope, source, pipeline) if scope.per_row else _for_run(scope, source, pipeline)


def _for_run(scope: Scope, source: ViewSource, pipeline: Pipeline) -> Known:
    start = identifier(source.table.name)
    statements: list[str] = []
    if days := _pruning(scope, source):
        statements += days.statements
        pipeline.calls.insert(0, f"where({days.condition})")
    extra, calls = _narrowing(scope, source, pipeline.schema)
    pipeline.statements += extra
    pipeline.calls += calls
    add_steps(pipeline, source.late)
    name = scope.names.fresh(f"known_{source.name}")
    tables = list(pipeline.parameters)
    body = [*statements, *pipeline.statements, f"return {chain(start, pipeline.calls)}"]
    needs_as_of = any("as_of" in line for line in body)
    parameters = [f"{item}: DataFrame" for item in (start, *tables)] + ["as_of: datetime"] * needs_as_of
    doc = f"{_title(source)} that were known at the cut-off."
    scope.functions.append(function(name, parameters, "DataFrame", doc, body))
    return Known(source, _event(source, pipeline.schema), name, tables=list(pipeline.parameters.values()))


def _per_row(scope: Scope, source: ViewSource, pipeline: Pipeline) -> Known:
    rows = identifier(source.name)
    known = Known(source, None, scope.names.fresh(f"known_{source.name}"))
    known.early_tables = list(pipeline.parameters.values())
    if pipeline.calls:
        known.prepared = scope.names.fresh(f"prepared_{source.name}")
        start = identifier(source.table.name)
        parameters = [f"{item}: DataFrame" for item in (start, *pipeline.parameters)]
        body = [*pipeline.statements, f"return {chain(start, pipeline.calls)}"]
        scope.functions.append(function(known.prepared, parameters, "DataFrame", f"{_title(source)}, prepared.", body))
    features = [feature for feature in scope.view.features if feature.source == source.name]
    known.fan_out = {by: fan_out_keys(source, by) for by in dict.fromkeys(keys(feature) for feature in features)}
    late = Pipeline(scope, source, pipeline.schema)
    extra, calls = _narrowing(scope, source, late.schema)
    late.statements += extra
    late.calls += calls
    add_steps(late, source.late)
    known.tables = list(late.parameters.values())
    known.event = _event(source, late.schema)
    days = _pruning(scope, source)
    statements = days.statements if days else []
    events = f"{rows}.where({days.condition})" if days else rows
    if AS_OF in source.table_schema:
        events += '.drop("as_of")'
    shared = set(known.fan_out.values())
    only = next(iter(shared)) if len(shared) == 1 else None
    on = join_keys(list(only)) if only else "keys"
    selected = f'{name_arguments(only)}, "as_of"' if only else '*keys, "as_of"'
    join = [f"select({selected})", "distinct()", f'join({events}, on={on}, how="inner")']
    body = [*statements, *late.statements, f"return {chain('spine', join + late.calls)}"]
    parameters = [f"{item}: DataFrame" for item in (rows, *late.parameters, "spine")]
    parameters += [] if only else ["keys: list[str]"]
    doc = f"Each cut-off with the {_title(source, lower=True)} that were known at it."
    scope.functions.append(function(known.function, parameters, "DataFrame", doc, body))
    return known


def fan_out_keys(source: ViewSource, by: tuple[str, ...]) -> tuple[str, ...]:
    """The keys by which a cut-off must meet rows, so that late steps and states see all the rows they depend on."""
    found = set(by)
    if source.late_by is not None:
        found &= set(source.late_by)
    if source.table.kind == "snapshot" or (source.table.kind == "scd2" and not source.table.keys_enforced):
        found &= set(source.table.keys)
    return tuple(key for key in by if key in found)


def _narrowing(scope: Scope, source: ViewSource, schema: Schema) -> tuple[list[str], list[str]]:
    if source.table.kind in ("snapshot", "scd2"):
        return current_state(scope, source.table, schema, "")
    condition = conjunction(visible(source.table, schema, scope.cutoff))
    return [], [] if condition is None else [f"where({condition.text})"]


def _pruning(scope: Scope, source: ViewSource) -> Pruning | None:
    looks_back = source.late_by is not None or not source.is_event
    window: Window | None = None if looks_back else longest_window(scope.view, source)
    return pruning(scope, source.table, window, changed_columns(source))


def _event(source: ViewSource, schema: Schema) -> Code | None:
    time = source.table.event_time
    return None if time is None else instant(time, schema, source.table)


def _title(source: ViewSource, lower: bool = False) -> str:
    words = source.name.replace("_", " ")
    return words if lower else words[:1].upper() + words[1:]


