"""Plausible mistakes in building a view: views and readings of time that deviate in one place.

Cases that detect all of them test the entire specification. The deviations are derived from the specification only,
never from a script.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from palmette.features.actors.testcase_generator.changes import (
    COLUMN,
    ORDER,
    TIES,
    WINDOW,
    aggregate_changes,
    changes,
    expression_changes,
    other_texts,
    step_changes,
)
from palmette.features.actors.testcase_generator.time_misreadings import (
    AGES,
    READINGS,
    STATES,
    TIES_BY_POSITION,
    WithoutKeys,
    beside,
    known_then,
)
from palmette.features.frame import Frame
from palmette.features.frames.row_factory import RowFactory, words
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import Reference, ReferenceCache
from palmette.features.spec import AS_OF, Table, View, ViewFeature, ViewSource, fsc, fsc_steps
from palmette.features.spec.literals import to_python


@dataclass(frozen=True)
class DeviatingView:
    """A view that deviates from the requested one."""

    what: str
    """Description, e.g. `clicks_7d: the window is 8d`."""
    features: tuple[str, ...]
    """Features that can differ; empty if only the rows can."""
    view: View
    reference: type[Reference] = Reference
    """The reference implementation, which determines how time is read."""
    moves_rows: bool = True
    """Whether the rows can differ, too."""
    is_boundary: bool = False
    """Whether it concerns the bounds of time."""
    is_listed: bool = True
    """Whether the prompt lists it. Cases detect unlisted deviations, too."""

    def output(
        self, frames: Mapping[str, Frame], as_of: datetime | None, right: Frame, shared: ReferenceCache | None = None
    ) -> Frame | None:
        """Computes the deviating output; None if it cannot be compared with the right one."""
        moves_rows = self.moves_rows or (as_of is None and AS_OF not in right.schema)
        base = self.view.identity
        bases = None if moves_rows else [{AS_OF: as_of, **{name: row[name] for name in base}} for row in right.rows]
        try:
            return self.reference(self.view, frames, as_of, shared).output(bases)
        except (NotCovered, WouldFail):
            return None


_unlisted = partial(DeviatingView, moves_rows=False, is_listed=False)


def deviants(factory: RowFactory) -> list[DeviatingView]:
    """All deviations that the oracle can compute, with unique names."""
    view = factory.view
    found: list[DeviatingView] = []
    seen: Counter[str] = Counter()
    for one in (*_times(view), *_features(factory), *_sources(factory), *_rows(view)):
        seen[one.what] += 1
        found.append(replace(one, what=f"{one.what} ({seen[one.what]})") if seen[one.what] > 1 else one)
    return found


def _dependents(view: View, name: str) -> tuple[str, ...]:
    """The feature and those derived from it."""
    found = [name]
    for other in view.derivation_order:
        derive = view.feature(other).derive
        if derive is not None and any(each in derive for each in found):
            found.append(other)
    return tuple(found)


def _times(view: View) -> Iterator[DeviatingView]:
    everything = tuple(feature.name for feature in view.features)
    for reading in READINGS:
        for feature in view.features:
            if reading.concerns(view, feature):
                names, what = _dependents(view, feature.name), f"{feature.name}: {reading.what}"
                yield DeviatingView(
                    what, names, view.narrowed(names), reading.reference, moves_rows=False, is_boundary=True
                )
    for what, other, is_boundary in _clocks(view):
        yield DeviatingView(what, everything, other, moves_rows=False, is_boundary=is_boundary)
    for table in (table for table in view.tables.values() if table.available_time is not None):
        what = f"{table.name}: rows known exactly at the cut-off count"
        yield _unlisted(what, everything, view, known_then(table.name))
        if table.kind == "snapshot":
            known = table.model_copy(update={"event_time": table.available_time, "available_time": None})
            other = view.with_tables({**view.tables, table.name: known})
            yield _unlisted(f"{table.name}: the state that was known last", everything, other)


def _clocks(view: View) -> Iterator[tuple[str, View, bool]]:
    """The view in UTC, and without the availability time of each table."""
    if view.zone != "UTC":
        yield "days and hours are UTC", replace(view, zone="UTC"), False
    for table in view.tables.values():
        if table.available_time is not None:
            early = table.model_copy(update={"available_time": None})
            yield f"{table.name}: availability is ignored", view.with_tables({**view.tables, table.name: early}), True


def _rows(view: View) -> Iterator[DeviatingView]:
    """Deviations in the rows of the output."""
    if view.spine is None:
        bare = view.narrowed(view.populating)
        yield DeviatingView("the rows: one is without a key", (), bare, WithoutKeys, is_listed=False)
        for reading in READINGS:
            if reading.events:
                yield DeviatingView(f"the rows: {reading.what}", (), bare, reading.reference, is_boundary=True)
        for what, other, is_boundary in _clocks(bare):
            yield DeviatingView(f"the rows: {what}", (), other, is_boundary=is_boundary)
        for feature in bare.features:
            for what, changed in _changed(bare, feature):
                if what.startswith(WINDOW):
                    yield DeviatingView(
                        f"the rows by {feature.name}: {what}", (), _with(bare, changed), is_boundary=True
                    )
    elif view.spine.where is not None:
        names = tuple(feature.name for feature in view.features)
        for what, where in (("where was dropped", None), *expression_changes(view.spine.where)):
            spine = view.spine.model_copy(update={"where": where})
            yield DeviatingView(f"the spine: {what}", names, replace(view, spine=spine))


def _features(factory: RowFactory) -> Iterator[DeviatingView]:
    view = factory.view
    for feature in view.features:
        names, own = _dependents(view, feature.name), view.narrowed((feature.name,))
        small, known = view.narrowed(names), {_computed(feature)}
        for what, changed in _changed(view, feature):
            known.add(_computed(changed))
            yield DeviatingView(
                f"{feature.name}: {what}",
                names,
                _with(small, changed),
                moves_rows=False,
                is_boundary=what.startswith(WINDOW),
                is_listed=not what.startswith((COLUMN, ORDER, TIES)),
            )
        for what, changed in _confusions(factory, feature):
            if _computed(changed) not in known:
                known.add(_computed(changed))
                yield _unlisted(f"{feature.name}: {what}", (feature.name,), _with(own, changed))
        if isinstance(one := feature.computation, fsc.Aggregate):
            found = AGES if one.function == "days_since_last" else TIES_BY_POSITION if len(one.order or ()) > 1 else ()
            yield from (_unlisted(f"{feature.name}: {what}", names, small, reference) for what, reference in found)


def _computed(feature: ViewFeature) -> str:
    return repr((feature.computation, feature.derive, feature.default))


def _confusions(factory: RowFactory, feature: ViewFeature) -> Iterator[tuple[str, ViewFeature]]:
    """A computation of other rows, or of values that only several rows tell apart."""
    one = feature.computation
    if one is None and feature.derive and feature.dtype.name in ("double", "float"):
        yield "the result is whole", replace(feature, derive=f"floor({feature.derive})")
    if not isinstance(one, fsc.Aggregate | fsc.Expression):
        return
    if isinstance(one, fsc.Aggregate) and one.function in ("first", "last") and one.of and one.order:
        names, ways = zip(*(each.partition(" ")[::2] for each in one.order), strict=True)
        pick = "max_by" if (one.function == "last") == (ways[0] != "desc") else "min_by"
        if len(set(ways)) == 1:
            sql = f"{pick}({one.of}, struct({', '.join(names)}))"
            kept = fsc.Expression(sql=sql, source=one.source, where=one.where, window=one.window, by=one.by)
            yield "a null is kept", replace(feature, computation=kept)
    found = [*_other_rows(factory, one)]
    match one:
        case fsc.Aggregate(function="top_k" | "mode", rank_by=None):
            columns = factory.free(factory.view.source(one.source).table)
            sums = [f"sum({column.name})" for column in columns if column.type.parsed.is_numeric]
            found += [(f"{each} ranks", {"rank_by": each}) for each in sums]
        case fsc.Aggregate(function="avg"):
            found.append(("avg became the median", {"function": "percentile", "p": 0.5}))
        case fsc.Aggregate(function="count_distinct"):
            found.append(("null is a value", {"of": f"coalesce(cast({one.of} as string), 'null')"}))
    for what, update in found:
        yield what, replace(feature, computation=one.model_copy(update=update))


def _other_rows(factory: RowFactory, one: fsc.Aggregate | fsc.Expression) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Windows and conditions of features over the same source, further conditions, and further values in conditions."""
    every = [each.computation for each in factory.view.features if each.source == one.source]
    others = [each for each in every if isinstance(each, fsc.Aggregate | fsc.Expression)]
    for other in others:
        yield f"{WINDOW} {other.window}", {"window": other.window}
        yield f"the condition is {other.where}", {"where": other.where}
        both = {"window": other.window, "where": other.where}
        yield f"{WINDOW} {other.window}, and the condition {other.where}", both
    for condition in dict.fromkeys([*(each.where for each in others if each.where), *_of_columns(factory, one)]):
        where = f"({one.where}) AND ({condition})" if one.where else condition
        yield f"only rows with {condition}", {"where": where}
    for field in ("where", "of", "sql"):
        text, table = getattr(one, field, None) or "null", factory.view.source(one.source).table
        yield from ((what, {field: sql}) for what, sql in other_texts(text, table, factory.predicate_values))


def _of_columns(factory: RowFactory, one: fsc.Aggregate | fsc.Expression) -> Iterator[str]:
    """A condition on each column: not null, or positive where null is impossible or makes no difference."""
    source = factory.view.source(one.source)
    for column in factory.free(source.table):
        kind = source.schema.get(column.name)
        if kind and column.nullable and column.name not in words(one):
            yield f"`{column.name}` IS NOT NULL"
        elif kind and kind.is_numeric:
            yield f"`{column.name}` > 0"


def _with(view: View, changed: ViewFeature) -> View:
    """The view with one feature changed."""
    return replace(view, features=tuple(changed if each.name == changed.name else each for each in view.features))


def _changed(view: View, feature: ViewFeature) -> Iterator[tuple[str, ViewFeature]]:
    match feature.computation:
        case fsc.Aggregate() as aggregate:
            found = aggregate_changes(aggregate, view.source(aggregate.source))
            yield from ((what, replace(feature, computation=changed)) for what, changed in found)
        case fsc.Expression() as expression:
            yield from ((what, replace(feature, computation=changed)) for what, changed in changes(expression))
        case fsc.Lookup():
            yield "nothing is found", replace(feature, computation=None, derive="null")
        case None:
            for what, sql in expression_changes(feature.derive or "null"):
                yield what, replace(feature, derive=sql)
    if feature.default is not None:
        yield "the default is missing", replace(feature, default=None)
    elif feature.dtype.is_numeric:
        yield "null became 0", replace(feature, default=to_python(0, feature.dtype))


def _sources(factory: RowFactory) -> Iterator[DeviatingView]:
    view = factory.view
    for source in view.sources:
        names = tuple(feature.name for feature in view.features if feature.source == source.name)
        names = tuple(dict.fromkeys(each for name in names for each in _dependents(view, name)))
        small = view.narrowed((*names, *view.populating))
        for index, step in enumerate(source.steps):
            if step.join or step.member:
                yield from _joined_states(small, names, source, index, step)
            for what, changed in step_changes(step):
                yield DeviatingView(f"{source.name}: {what}", names, _stepped(small, source, index, changed))
            for what, sql in other_texts(step.filter or "null", source.table, factory.predicate_values):
                other = _stepped(small, source, index, (fsc_steps.Step(filter=sql),))
                yield DeviatingView(f"{source.name}: in the filter, {what}", names, other, is_listed=False)


def _joined_states(
    view: View, names: tuple[str, ...], source: ViewSource, index: int, step: fsc_steps.Step
) -> Iterator[DeviatingView]:
    """Deviations in the states or members that one step finds; all other steps find the right ones."""
    (read,) = fsc_steps.reads_of([step])
    table = view.tables[read.table]
    if table.kind == "dimension":
        return
    wrong = table.model_copy(update={"name": f"{table.name} otherwise"})
    joined = step.model_copy(update={step.kind: read.model_copy(update={"table": wrong.name})})
    other = _stepped(view, source, index, (joined,))
    for what, by in STATES:
        kind = table.kind if by else "event"  # event tables have no newest state
        changed = replace(other, tables={**view.tables, wrong.name: wrong.model_copy(update={"kind": kind})})
        found = f"{table.name} at the {read.at}: {what}"
        yield DeviatingView(f"{source.name}: {found}", names, changed, beside(table, wrong.name, by), is_listed=False)
    if late := _when_known(source.table, step):
        what = f"{table.name} at the time when the event was known"
        changed = _stepped(view, source, index, late)
        yield DeviatingView(f"{source.name}: {what}", names, changed, is_listed=False)


def _when_known(table: Table, step: fsc_steps.Step) -> tuple[fsc_steps.Step, ...]:
    """The steps that look up the state at the time a row became available; none if the table has no such time."""
    event, known = (table.column(name) if name else None for name in (table.event_time, table.available_time))
    if not step.join or step.join.at != "event" or not event or not known:
        return ()
    if (event.type, event.unit) != (known.type, known.unit):
        return ()
    aside = fsc_steps.Step(compute={"event_time_aside": f"`{event.name}`", event.name: f"`{known.name}`"})
    return aside, step, fsc_steps.Step(compute={event.name: "event_time_aside"})


def _stepped(view: View, source: ViewSource, index: int, steps: tuple[fsc_steps.Step, ...]) -> View:
    """The view with the step of a source at `index` replaced."""
    every = (*source.steps[:index], *steps, *source.steps[index + 1 :])
    early = len(source.early) + (len(steps) - 1) * (index < len(source.early))
    other = replace(source, early=every[:early], late=every[early:])
    return replace(view, sources=tuple(other if each is source else each for each in view.sources))
