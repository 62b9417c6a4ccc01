"""The resolved feature view: an FSC and a registry that are consistent and complete.

Everything downstream (script writer, oracle, frames, checks) reads a `View`, never raw documents:
names are resolved, words have become computations, categories are expanded, defaults are filled in, types are known.
`palmette.features.spec.resolve.resolve` creates it. The docstrings in this module define the semantics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Expression, FeatureSpec, Lookup, Spine, UnitTest
from palmette.features.spec.fsc_steps import Step, expressions_of
from palmette.features.spec.sql import ExpressionError, parse
from palmette.features.spec.values import SparkType, Window

Schema = Mapping[str, SparkType]
"""Column name to type, in order."""


def ddl(schema: Schema) -> str:
    """The schema as text, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


AS_OF = "as_of"
"""Name of the output column with the row's cut-off (timestamp)."""


@dataclass(frozen=True)
class ViewSource:
    """A source with its steps.

    Semantics for one cut-off T: take the table's rows, apply the `early` steps, keep the visible rows, and apply the
    `late` steps to those alone. Visible rows of an event table have event time < T and, if the registry names one,
    availability time < T; rows with a null time are never visible. For other kinds, the visible rows are the state as
    of T. `late` begins at the first step that looks at other events, at the state at the cut-off, or at the cut-off
    itself (`as_of`). Windows and `where` apply after all steps: previous, gap and session see all visible history.

    The state as of a time E (the cut-off, or the event's time with `at: event`) is what was known just before E,
    among the rows available before E. In a snapshot table it is each key's newest row with event time < E; in an scd2
    table, the row with valid_from < E <= valid_to (still valid without valid_to); a dimension has a single state.

    An event time of type date is that day's midnight in the view's zone. An integer event time counts its `unit` since
    the epoch. A timestamp_ntz is a local time in the view's zone.
    """

    name: str
    table: Table
    early: tuple[Step, ...]
    late: tuple[Step, ...]
    schema: Schema
    """Columns after all steps."""

    @property
    def late_by(self) -> tuple[str, ...] | None:
        """The `by` that the late steps share; None if no step looks at other events."""
        return next((by for step in self.late if (by := getattr(step.body, "by", None))), None)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.early, *self.late)

    @property
    def is_event(self) -> bool:
        return self.table.kind == "event"

    @property
    def uses_cutoff(self) -> bool:
        """Whether late steps use the cut-off. A column of the table with the same name does not count."""
        return AS_OF not in self.table.column_types and any(mentions_cutoff(step) for step in self.late)


def mentions_cutoff(step: Step) -> bool:
    """Whether an expression over the rows of a step names `as_of`."""
    for _, text in expressions_of(step) if not step.member else ():
        with suppress(ExpressionError):
            if AS_OF in parse(text).columns:
                return True
    return False


Computation = Aggregate | Expression | Lookup


@dataclass(frozen=True)
class ViewFeature:
    """One fully determined feature: it has either `computation` or `derive`."""

    name: str
    dtype: SparkType
    nullable: bool
    default: object
    """Python value that replaces null (a tuple for arrays), or None. Applied after the cast to `dtype`."""
    computation: Computation | None
    """With `by`, `order` and `on` filled in, and without `categories`."""
    derive: str | None
    internal: bool
    description: str
    words: str | None
    """The author's words, if the computation was read from words."""

    @property
    def source(self) -> str | None:
        """Name of the source that the feature reads, if any."""
        return self.computation.source if isinstance(self.computation, Aggregate | Expression) else None

    @property
    def window(self) -> Window | None:
        return self.computation.window if isinstance(self.computation, Aggregate | Expression) else None


@dataclass(frozen=True, eq=False)
class View:
    """A resolved feature view, ready to be built and checked; equal only to itself."""

    name: str
    description: str
    owner: str
    grain: Schema
    """Entity keys and their types. Together with the cut-off, they identify a row."""
    cutoff: Literal["run", "spine", "partition"]
    zone: str
    spine: Spine | None
    """None if the rows come from events: one row for each combination of non-null grain keys among the visible rows of
    the event sources that features group by the whole grain, within the longest window that any such feature uses on
    that source (after the steps, before the features' `where`).
    """
    kept: Schema
    """Columns carried from the spine."""
    sources: tuple[ViewSource, ...]
    """The sources that features use, in the order of the FSC."""
    features: tuple[ViewFeature, ...]
    """In output order, with internal features in between. To compute them, use `derivation_order`."""
    derivation_order: tuple[str, ...]
    """Feature names, each after its inputs."""
    partition: str | None
    table_name: str
    """Name of the written table."""
    forbidden: tuple[str, ...]
    tests: tuple[UnitTest, ...]
    tables: Mapping[str, Table]
    """All registry tables that the view reads (sources, joins, lookups, spine), by name."""
    output: Schema
    """Columns of the output in order: grain, kept, `as_of`, features, partition."""
    lineage: Mapping[str, tuple[str, ...]]
    """Feature name to the sorted `table.column` names that its value depends on, through steps, joins, conditions,
    times and derivations. Grouping keys are not included: every feature depends on them.
    """
    spec: FeatureSpec
    """As written by the author."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """By feature in words: why the reviewer should look at its reading closely."""

    def __post_init__(self) -> None:
        assert all(source.table == self.tables[source.table.name] for source in self.sources)

    def with_tables(self, tables: Mapping[str, Table]) -> View:
        """The view with its tables, also those of its sources, replaced by others of the same names."""
        sources = tuple(replace(source, table=tables[source.table.name]) for source in self.sources)
        return replace(self, tables=tables, sources=sources)

    def narrowed(self, names: Iterable[str]) -> View:
        """The view with only these features and those that they are derived from."""
        keep = set(names)
        for name in reversed(self.derivation_order):
            if name in keep and (derive := self.feature(name).derive) is not None:
                keep |= {other.name for other in self.features if other.name in derive}
        hidden = {feature.name for feature in self.features} - keep
        return replace(
            self,
            features=tuple(feature for feature in self.features if feature.name in keep),
            derivation_order=tuple(name for name in self.derivation_order if name in keep),
            output={name: kind for name, kind in self.output.items() if name not in hidden},
        )

    @property
    def populating(self) -> tuple[str, ...]:
        """Without a spine: for each source that contributes rows, the feature with the longest window over it."""
        if self.spine is not None:
            return ()
        longest: dict[str, tuple[timedelta, str]] = {}
        for feature in self.features:
            one, is_event = feature.computation, feature.source is not None and self.source(feature.source).is_event
            if is_event and isinstance(one, Aggregate | Expression) and set(one.by or ()) == set(self.grain):
                own = (one.window.timedelta, feature.name)
                longest[one.source] = max(longest.get(one.source, own), own)
        return tuple(name for _, name in longest.values())

    def source(self, name: str) -> ViewSource:
        return next(source for source in self.sources if source.name == name)

    def feature(self, name: str) -> ViewFeature:
        return next(feature for feature in self.features if feature.name == name)

    @property
    def public(self) -> tuple[ViewFeature, ...]:
        """The features that are output columns."""
        return tuple(feature for feature in self.features if not feature.internal)

    @property
    def identity(self) -> tuple[str, ...]:
        """Columns of the output that identify a row, also one of several with the same grain."""
        return (*self.grain, *self.kept, *([AS_OF] if AS_OF in self.output else []))

    @property
    def personal(self) -> frozenset[str]:
        """Output columns that contain, or are computed from, personal data."""
        columns = [(name, each) for name, table in self.tables.items() for each in table.columns if each.personal]
        marked, names = {f"{table}.{each.name}" for table, each in columns}, {each.name for _, each in columns}
        computed = {name for name, columns in self.lineage.items() if marked & set(columns)}
        return frozenset(computed | (names & {*self.grain, *self.kept}))
