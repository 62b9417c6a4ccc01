"""Computes a feature view by its definition: slow, small and easy to read.

For every output row: take the rows of each source, apply the steps, keep what was visible at the cut-off and lies
in the window, aggregate. Shares no code with the script writer. Suitable for small tables only.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.oracle.casts import cast, stored
from palmette.features.oracle.clock import MICROSECOND, day_of, window_start
from palmette.features.oracle.compare import ExpectedFrame, skipped_text
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.expression import columns_of, compile_group, compile_row
from palmette.features.oracle.states import Row, Times, sort_key, state
from palmette.features.oracle.steps import StepState
from palmette.features.oracle.summaries import NUDGES, nudged
from palmette.features.oracle.typed import PartialSchema
from palmette.features.oracle.vocabulary import compile_aggregate
from palmette.features.spec import type_rules as c
from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.fsc_steps import pairs
from palmette.features.spec.values import SparkType, Window, longest
from palmette.features.spec.view import AS_OF, View, ViewFeature, ViewSource

Key = tuple[Any, ...]
T = TypeVar("T")
MOST_KEPT = 500
"""Results of a `ReferenceCache`; more take memory that a spine with many cut-offs does not have."""


def expected(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> ExpectedFrame:
    """Computes the view's rows by definition, without unsupported features.

    Args:
        frames: all tables of the view, by name.
        as_of: the cut-off; None if the spine contains it.

    Raises:
        NotCovered: the oracle cannot determine the rows, or supports none of the features.
        WouldFail: Spark would also raise on these rows.
    """
    return replace(Reference(view, frames, as_of).output(), nudged=lambda: tuple(_nudged(view, frames, as_of)))


def uncovered(view: View) -> dict[str, str]:
    """Features that are unsupported whatever the rows, each with the reason."""
    frames = {name: Frame.of(table.column_types, ()) for name, table in view.tables.items()}
    reference, found = Reference(view, frames, None), dict[str, str]()
    for name in view.derivation_order:
        try:
            if used := next((each for each in reference.inputs(name) if each in found), ""):
                raise NotCovered(f"derived from {used}")
            reference.compiled(view.feature(name))
        except NotCovered as reason:
            found[name] = str(reason)
        except WouldFail:
            continue
    return found


def _nudged(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> Iterator[Frame]:
    for by in NUDGES:
        with nudged(by), suppress(NotCovered, WouldFail):
            yield Reference(view, frames, as_of).output()


def indexed(rows: Iterable[Row], names: Collection[str]) -> dict[Key, list[Row]]:
    """The rows by key, without those where a part of the key is null."""
    index: dict[Key, list[Row]] = {}
    for row in rows:
        if all(row[name] is not None for name in names):
            index.setdefault(sort_key(row[name] for name in names), []).append(row)
    return index


class ReferenceCache:
    """Results shared by evaluations of similar views on the same frames."""

    def __init__(self, frames: Mapping[str, Frame]) -> None:
        self.frames = {name: as_stored(frame) for name, frame in frames.items()}
        self._kept: dict[tuple[object, ...], tuple[View, ViewSource, Any]] = {}
        """The newest results; each entry keeps its inputs alive so that identities are not reused."""

    def kept(self, view: View, source: ViewSource, *place: object, make: Callable[[], T]) -> T:
        """The result for a source of the view that has this place; `make` computes it if it is not there."""
        place = (id(source.table), id(source.early), id(view.tables), id(view.zone), *place)
        if place not in self._kept:
            made = make()
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[place] = (view, source, made)
        result: T = self._kept[place][2]
        return result

    def early(self, view: View, source: ViewSource) -> StepState:
        """All rows of a source, after the early steps."""

        def make() -> StepState:
            frame = self.frames[source.table.name]
            rows, schema = [dict(row) for row in frame.rows], PartialSchema(frame.schema)
            flow = StepState(source.table, rows, schema, ZoneInfo(view.zone), self.frames, view.tables)
            flow.run(source.early)
            return flow

        return self.kept(view, source, make=make)


class Reference:
    """One evaluation of a view; results that do not depend on the row are cached.

    `within` and `visible` define which rows count.
    """

    def __init__(
        self, view: View, frames: Mapping[str, Frame], as_of: datetime | None, shared: ReferenceCache | None = None
    ) -> None:
        self.view = view
        self.shared = shared or ReferenceCache(frames)
        self.frames = self.shared.frames
        self.as_of = as_of
        self.zone = ZoneInfo(view.zone)
        self.known = cache(self._visible_rows)
        self._by = cache(self._indexed)
        self._compiled = cache(lambda name: self.compiled(view.feature(name)))
        self.inputs = cache(self._inputs)
        self.skipped: dict[str, str] = {}  # unsupported features, each with the reason
        self._condition = cache(lambda source, where: compile_row(where, self.columns(source), self.zone).run)
        self._start = cache(lambda cutoff, window: window_start(cutoff, window, self.zone))

    def output(self, bases: Iterable[Row] | None = None) -> ExpectedFrame:
        """The rows with their features; `bases` replaces the view's own rows."""
        rows = []
        for base in self.bases() if bases is None else bases:
            row = self.features(base)
            if self.view.partition is not None:
                cutoff = base[AS_OF]
                row[self.view.partition] = None if cutoff is None else day_of(cutoff - MICROSECOND, self.zone)
            rows.append(row)
        if self.skipped and not any(feature.name not in self.skipped for feature in self.view.features):
            raise NotCovered(skipped_text(self.skipped))
        schema = {name: kind for name, kind in self.view.output.items() if name not in self.skipped}
        return ExpectedFrame(schema, Frame.of(schema, rows).rows, dict(self.skipped))

    def bases(self) -> Iterable[Row]:
        """Grain, kept columns and cut-off of every output row."""
        try:
            return [*self.spine()] if self.view.spine is not None else self.keys()
        except (NotCovered, WouldFail) as reason:
            raise type(reason)(f"the rows: {reason}") from reason

    def spine(self) -> Iterable[Row]:
        """Grain, kept columns and cut-off of every row of the spine."""
        spine = self.view.spine
        assert spine is not None
        frame, table = self.frames[spine.table], self.view.tables[spine.table]
        condition = compile_row(spine.where, frame.schema, self.zone).run if spine.where else None
        times = Times(table, self.zone)
        for row in frame.rows:
            if condition is None or condition(row) is True:
                cutoff = times.at(row, spine.cutoff) if spine.cutoff else self.as_of
                yield {**{name: row[name] for name in (*self.view.grain, *self.view.kept)}, AS_OF: cutoff}

    def keys(self) -> Iterable[Row]:
        """Every combination of keys among the visible rows in the longest window of each source."""
        grain = tuple(self.view.grain)
        found: dict[Key, Row] = {}
        for source in self.view.sources:
            window = longest_window(self.view, source)
            if window is None or self.as_of is None:
                continue
            known = self.known(source.name, self.as_of)
            known.schema.require(grain)
            for key, rows in indexed(self.within(known.rows, known.times, window, self.as_of), grain).items():
                found.setdefault(key, {name: rows[0][name] for name in grain})
        return [{**row, AS_OF: self.as_of} for row in found.values()]

    def features(self, base: Row) -> Row:
        """`base` plus all features, internal ones included, except skipped ones."""
        row = dict(base)
        for name in self.view.derivation_order:
            if name in self.skipped:
                continue
            try:
                if used := next((one for one in self.inputs(name) if one in self.skipped), ""):
                    raise NotCovered(f"derived from {used}")
                row[name] = self._compiled(name)(row, base[AS_OF])
            except NotCovered as reason:
                self.skipped[name] = str(reason)
            except WouldFail as reason:
                raise WouldFail(f"{name}: {reason}") from reason
        return row

    def _inputs(self, name: str) -> tuple[str, ...]:
        """The features that a derivation refers to."""
        derive = self.view.feature(name).derive
        named = columns_of(derive) if derive is not None else frozenset[str]()
        return tuple(feature.name for feature in self.view.features if feature.name.lower() in named)

    def compiled(self, feature: ViewFeature) -> Callable[[Row, datetime | None], Any]:
        """A function of the row so far and the cut-off that computes, casts and defaults the feature."""
        kind, compute = self.computation(feature)
        default = stored(feature.default, feature.dtype)

        def value(row: Row, cutoff: datetime | None) -> Any:
            found = cast(compute(row, cutoff), kind, feature.dtype, self.zone)
            return default if found is None else found

        return value

    def computation(self, feature: ViewFeature) -> tuple[SparkType, Callable[[Row, datetime | None], Any]]:
        match feature.computation:
            case Aggregate() as aggregate:
                return self.aggregate(aggregate)
            case Expression() as expression:
                return self.expression(expression)
            case Lookup() as lookup:
                return self.lookup(lookup)
            case None:
                derived = compile_row(feature.derive or "", self.derivable, self.zone)
                return derived.kind, lambda row, _: derived.run(row)

    @cached_property
    def derivable(self) -> dict[str, SparkType]:
        features = {feature.name: feature.dtype for feature in self.view.features}
        return {**self.view.grain, **self.view.kept, AS_OF: c.TIMESTAMP, **features}

    def aggregate(self, aggregate: Aggregate) -> tuple[SparkType, Callable[[Row, datetime | None], Any]]:
        kind, function = compile_aggregate(aggregate, self.columns(aggregate.source), self.zone)

        def value(row: Row, cutoff: datetime | None) -> Any:
            rows, times = self.matching(aggregate, row, cutoff)
            return function(rows, cutoff or datetime.min.replace(tzinfo=self.zone), times.event)

        return kind, value

    def expression(self, expression: Expression) -> tuple[SparkType, Callable[[Row, datetime | None], Any]]:
        compiled = compile_group(expression.sql, self.columns(expression.source), self.zone)
        return compiled.kind, lambda row, cutoff: compiled.run(self.matching(expression, row, cutoff)[0])

    def matching(
        self, computation: Aggregate | Expression, row: Row, cutoff: datetime | None
    ) -> tuple[list[Row], Times]:
        """The rows of the entity that lie in the window and satisfy `where`."""
        times = self.known(computation.source, cutoff).times
        by = computation.by or tuple(self.view.grain)
        rows = self._by(computation.source, cutoff, by).get(sort_key(row[name] for name in by), [])
        if cutoff is not None:
            rows = list(self.within(rows, times, computation.window, cutoff))
        if computation.where is not None:
            condition = self._condition(computation.source, computation.where)
            rows = [candidate for candidate in rows if condition(candidate) is True]
        return rows, times

    def within(self, rows: Iterable[Row], times: Times, window: Window, cutoff: datetime) -> Iterable[Row]:
        start = self._start(cutoff, window)
        return [row for row in rows if start is None or ((at := times.event(row)) is not None and at >= start)]

    def columns(self, name: str) -> PartialSchema:
        """The columns of a source after all steps."""
        source = self.view.source(name)

        def make() -> PartialSchema:
            flow = replace(self.shared.early(self.view, source), rows=[], zone=self.zone)
            self.run_late(flow, source)
            return flow.schema

        return self.shared.kept(self.view, source, id(source.late), make=make)

    def run_late(self, flow: StepState, source: ViewSource) -> None:
        """Applies the late steps; adds the cut-off as a column if they use it."""
        if source.uses_cutoff:
            flow.column(AS_OF, c.TIMESTAMP, lambda _: flow.cutoff)
        flow.run(source.late)

    def _indexed(self, name: str, cutoff: datetime | None, by: tuple[str, ...]) -> dict[Key, list[Row]]:
        known = self.known(name, cutoff)
        known.schema.require(by)
        return self._of_visible(name, cutoff, by, make=lambda: indexed(known.rows, by))

    def _visible_rows(self, name: str, cutoff: datetime | None) -> StepState:
        """The rows of a source that are visible at the cut-off, after all steps."""
        source = self.view.source(name)

        def make() -> StepState:
            early = self.shared.early(self.view, source)
            flow = replace(early, rows=self.visible(early.rows, early.times, cutoff), cutoff=cutoff)
            self.run_late(flow, source)
            return flow

        return self._of_visible(name, cutoff, make=make)

    def _of_visible(self, name: str, *place: object, make: Callable[[], T]) -> T:
        """The result for the visible rows of a source; readings that see other rows do not share it."""
        source = self.view.source(name)
        return self.shared.kept(self.view, source, id(source.late), type(self).visible, *place, make=make)

    def visible(self, rows: list[Row], times: Times, cutoff: datetime | None) -> list[Row]:
        """The rows of a table that were known just before the cut-off."""
        timeless = times.table.kind == "dimension"
        return list(rows) if timeless and cutoff is not None else state(rows, times, cutoff)

    def lookup(self, lookup: Lookup) -> tuple[SparkType, Callable[[Row, datetime | None], Any]]:
        table, frame = self.view.tables[lookup.table], self.frames[lookup.table]
        on = pairs(lookup.on or table.keys)
        times = Times(table, self.zone)

        @cache
        def states(cutoff: datetime | None) -> dict[Key, list[Row]]:
            return indexed(self.visible([dict(each) for each in frame.rows], times, cutoff), on.values())

        def value(row: Row, cutoff: datetime | None) -> Any:
            if any(row[here] is None for here in on):
                return None
            found = states(cutoff).get(sort_key(row[here] for here in on), [])
            if any(each[lookup.column] != found[0][lookup.column] for each in found):
                raise NotCovered(f"a look-up in {lookup.table!r} that finds several rows")
            return found[0][lookup.column] if found else None

        return frame.schema[lookup.column], value


def as_stored(frame: Frame) -> Frame:
    """Rounds the values of a frame to what columns of their types can hold."""
    inexact = {name: kind for name, kind in frame.schema.items() if kind.name == "float" or kind.element}
    if not inexact:
        return frame
    rows = ({**row, **{name: stored(row[name], kind) for name, kind in inexact.items()}} for row in frame.rows)
    return Frame.of(frame.schema, rows)


def longest_window(view: View, source: ViewSource) -> Window | None:
    """The longest window that features grouped by the whole grain use on an event source; None if there is none."""
    computations = [each.computation for each in view.features if each.source == source.name and source.is_event]
    own = (one for one in computations if isinstance(one, Aggregate | Expression))
    return longest(one.window for one in own if set(one.by or ()) == set(view.grain))
