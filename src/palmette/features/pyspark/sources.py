"""Writes the rows of each source that are visible at the cut-off, as small named transforms."""

from dataclasses import dataclass, field

from palmette.features.pyspark.code import CodeFragment, chain, conjunction, name_arguments, quoted
from palmette.features.pyspark.layout import changed_columns, keys, longest_window, windows
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.states import current_state, join_keys
from palmette.features.pyspark.steps import Pipeline, add_steps
from palmette.features.pyspark.times import (
    Pruning,
    containing,
    event_column,
    in_window,
    is_utc,
    pruning,
    team_window,
    visible,
)
from palmette.features.spec import AS_OF, ViewSource, Window

_SHORT = 6
"""Maximum number of calls in a readable chain; longer chains are split in two."""

By = tuple[str, ...]


@dataclass
class SourceTransforms:
    """The transforms of a source that the build function calls, with their arguments."""

    source: ViewSource
    event: CodeFragment | None = None  # code of the event time after all steps, as a timestamp
    prepared: str | None = None  # name of the transform that applies the early steps, if it is separate
    early_tables: list[str] = field(default_factory=list)  # joined tables that `prepared` takes after the source's own
    function: str = ""  # name of the transform that keeps the visible rows and applies the late steps
    tables: list[str] = field(default_factory=list)
    takes_as_of: bool = False
    window: Window | None = None
    """The window that the rows are already restricted to; None for all history."""
    fan_out: dict[By, By] = field(default_factory=dict)
    """With a cut-off per row: for each `by` of the features, the keys on which rows are joined to cut-offs."""
    by_relatives: dict[By, str] = field(default_factory=dict)
    """Transforms that replace `function` for a `by` without keys of the late steps."""


def write_source(scope: ScriptScope, source: ViewSource) -> SourceTransforms:
    """Adds the transforms of a source to the script."""
    early = Pipeline(scope, source, dict(source.table.column_types))
    add_steps(early, source.early)
    late = Pipeline(scope, source, dict(early.schema))
    window = None if looks_back(source) else containing(windows(scope.view, source), scope.view.zone)
    _narrow(late, window)
    if source.uses_cutoff:
        late.know_cutoff()
    add_steps(late, source.late)
    known = SourceTransforms(source, late.event() if event_column(late.table) else None, window=window)
    is_long = len(early.calls) > 1 and len(early.calls) + len(late.calls) > _SHORT
    if early.calls and (scope.per_row or is_long):
        known.prepared = scope.fresh(f"prepared_{source.name}")
        known.early_tables = list(early.parameters.values())
        what = ", whenever they happened"
        what = " with the columns that its steps add" if early.schema != source.table.column_types else what
        doc = f"Rows of `{source.name}`{what}."
        start = identifier(source.table.name)
        body = [*early.statements, f"return {chain(start, early.calls)}"]
        scope.write(known.prepared, [start, *early.parameters], doc, body)
        early = Pipeline(scope, source, early.schema)
    known.tables = list((early.parameters | late.parameters).values())
    if scope.per_row:
        _per_row(scope, known, late)
    else:
        _for_run(scope, known, early, late)
    return known


def _for_run(scope: ScriptScope, known: SourceTransforms, early: Pipeline, late: Pipeline) -> None:
    source = known.source
    days = _pruning(scope, source)
    known.function = scope.fresh(f"known_{source.name}")
    start = identifier(source.name if known.prepared else source.table.name)
    doc = f"Rows of `{source.name}` that were known at the cut-off."
    calls = [*days.calls, *early.calls, *late.calls]
    body = [*days.statements, *early.statements, *late.statements, f"return {chain(start, calls)}"]
    known.takes_as_of = scope.write(known.function, [start, *early.parameters, *late.parameters], doc, body)


def _per_row(scope: ScriptScope, known: SourceTransforms, late: Pipeline) -> None:
    source, rows = known.source, identifier(known.source.name)
    features = [feature for feature in scope.view.features if feature.source == source.name]
    known.fan_out = {
        by: fan_out_keys(source, by) for by in dict.fromkeys(keys(scope.view, feature) for feature in features)
    }
    days = _pruning(scope, source)
    events = ".".join([rows, *days.calls])
    events += '.drop("as_of")' if AS_OF in source.table.column_types else ""
    late.statements = days.statements + late.statements
    frames = [rows, *late.parameters, "spine"]
    doc = f"Each cut-off with the rows of `{source.name}` that were known at it."
    shared = {on for on in known.fan_out.values() if on}
    if shared:
        only = next(iter(shared)) if len(shared) == 1 else None
        on = join_keys(list(only)) if only else "keys"
        selected = f'{name_arguments(only)}, "as_of"' if only else '*keys, "as_of"'
        meet = [f"select({selected})", "distinct()", f'join({events}, on={on}, how="inner")']
        known.function = scope.fresh(f"known_{source.name}")
        body = [*late.statements, f"return {chain('spine', meet + late.calls)}"]
        scope.write(known.function, frames, doc, body, [] if only else ["keys: list[str]"])
    for by in [by for by, on in known.fan_out.items() if not on]:
        name = known.by_relatives[by] = scope.fresh(f"known_{source.name}_by_{scope.keys_name(by)}")
        meet = _meet_relatives(scope, source, by, rows)
        scope.write(name, frames, doc, [*late.statements, f"return {chain(events, meet + late.calls)}"])


def _meet_relatives(scope: ScriptScope, source: ViewSource, by: By, rows: str) -> list[str]:
    """Calls that join rows to the cut-offs of all entities that late steps look at, if `by` names another entity."""
    entity = source.late_by or tuple(source.table.keys)
    name = scope.fresh(f"cutoffs_of_{scope.keys_name(entity)}")
    columns = [f"F.col({quoted(key)}).alias({quoted('cutoff_' + key)})" for key in entity]
    calls = [
        f'select({name_arguments(by)}, "as_of")',
        "distinct()",
        f'join({rows}, on={join_keys(list(by))}, how="inner")',
        f'select({", ".join(columns)}, "as_of")',
        "distinct()",
    ]
    doc = f"The cut-offs for which each {' and '.join(entity)} matters."
    scope.write(name, [rows, "spine"], doc, [f"return {chain('spine', calls)}"])
    condition = " & ".join(f"F.col({quoted(key)}).eqNullSafe(F.col({quoted('cutoff_' + key)}))" for key in entity)
    return [
        f'join({name}({rows}, spine), on={condition}, how="inner")',
        f"drop({name_arguments('cutoff_' + key for key in entity)})",
    ]


def fan_out_keys(source: ViewSource, by: By) -> By:
    """The keys on which cut-offs are joined to rows, so that late steps and states see all the rows they need."""
    found = set(by)
    if source.late_by is not None:
        found &= set(source.late_by)
    if source.table.kind == "snapshot" or (source.table.kind == "scd2" and not source.table.keys_enforced):
        found &= set(source.table.keys)
    return tuple(key for key in by if key in found)


def looks_back(source: ViewSource) -> bool:
    """Whether rows before the features' windows matter too."""
    return source.late_by is not None or not source.is_event or source.table.event_time in changed_columns(source)


def _narrow(pipeline: Pipeline, window: Window | None) -> None:
    """Keeps the rows that are visible at the cut-off and in the widest window."""
    table, scope = pipeline.table, pipeline.scope
    if table.kind in ("snapshot", "scd2"):
        statements, calls = current_state(scope, table, pipeline.schema, "")
        pipeline.statements += statements
        pipeline.calls += calls
        return
    conditions = visible(table, pipeline.schema, scope.cutoff, scope.view.zone)
    if table.event_time is None:
        pass
    elif (call := _by_utility(pipeline, window)) is not None:
        pipeline.calls.append(call)
        conditions = conditions[1:]
    elif window is not None and (condition := team_window(scope, window, pipeline.event())) is not None:
        conditions[0] = condition
    elif window is not None:
        conditions.insert(0, in_window(scope, window, pipeline.event()))
    if (condition := conjunction(conditions)) is not None:
        pipeline.calls.append(f"where({condition.text})")


def _by_utility(pipeline: Pipeline, window: Window | None) -> str | None:
    """A call of the repository's own function that keeps the rows before the cut-off; it counts days as 24 hours."""
    scope, event = pipeline.scope, pipeline.event()
    utility = scope.utility("before_cutoff")
    takes_days = utility is not None and "{days}" in utility.call
    has_days = window is not None and not window.seconds and is_utc(scope.view.zone)
    if scope.per_row or event.column is None or takes_days != has_days or (window is not None and not takes_days):
        return None
    days = str(window.days) if window is not None else ""
    return scope.utility_transform("before_cutoff", time=event.argument, as_of="as_of", days=days)


def _pruning(scope: ScriptScope, source: ViewSource) -> Pruning:
    window = None if looks_back(source) else longest_window(scope.view, source)
    return pruning(scope, source.table, window, changed_columns(source))
