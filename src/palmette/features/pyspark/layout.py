"""Groups features that are computed together: one group per source and keys, if one aggregation is enough."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from palmette.features.pyspark.times import containing, is_dated
from palmette.features.spec import Aggregate, Expression, Lookup, View, ViewFeature, ViewSource, Window
from palmette.features.spec.fsc_steps import pairs, set_by
from palmette.features.spec.values import longest


@dataclass(frozen=True)
class FeatureGroup:
    """Features that one `groupBy().agg()` computes over the rows that pass `window` and `where`."""

    source: ViewSource
    by: tuple[str, ...]
    features: tuple[ViewFeature, ...]
    window: Window | None
    """The widest window of the features; None for all history."""
    where: str | None  # the condition that all features share
    is_alone: bool = False  # whether the group has a single feature that needs its own aggregation
    is_distinct: bool = False
    """Whether the group contains the distinct counts that were separated from a source's other features."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Identifies the group within the view."""
        return tuple(feature.name for feature in self.features)


def groups(view: View, source: ViewSource) -> list[FeatureGroup]:
    """The groups of a source, in the order of their first features."""
    found: list[FeatureGroup] = []
    features = [feature for feature in view.features if feature.source == source.name]
    for by in dict.fromkeys(keys(view, feature) for feature in features):
        mine = [feature for feature in features if keys(view, feature) == by]
        alone = [feature for feature in mine if _needs_own_group(view, source, feature)]
        shared = [one for one in mine if isinstance(one.computation, Aggregate) and one not in alone]
        distinct = _apart_from_vectors(shared)
        main = _group(view, source, by, [one for one in shared if one not in distinct]) if shared else None
        buckets: dict[tuple[Window | None, str | None], list[ViewFeature]] = {}
        for feature in mine:
            if isinstance(feature.computation, Expression):
                key = containing(_windows([feature]), view.zone), feature.computation.where
                buckets.setdefault(key, []).append(feature)
        if main is not None and (main.window, main.where) in buckets:
            main = _group(view, source, by, [*shared, *buckets.pop((main.window, main.where))])
        found += [main] if main is not None else []
        found += [replace(_group(view, source, by, distinct), is_distinct=True)] if distinct else []
        found += [_group(view, source, by, bucket) for bucket in buckets.values()]
        found += [replace(_group(view, source, by, [feature]), is_alone=True) for feature in alone]
    return found


def keys(view: View, feature: ViewFeature) -> tuple[str, ...]:
    """The keys that a feature is grouped by, in the order of the grain."""
    assert isinstance(feature.computation, Aggregate | Expression)
    by = feature.computation.by or tuple(view.grain)
    return tuple(key for key in view.grain if key in by)


def _group(view: View, source: ViewSource, by: tuple[str, ...], features: Iterable[ViewFeature]) -> FeatureGroup:
    ordered = tuple(features)
    conditions = {
        feature.computation.where for feature in ordered if isinstance(feature.computation, Aggregate | Expression)
    }
    where = conditions.pop() if len(conditions) == 1 else None
    return FeatureGroup(source, by, ordered, containing(_windows(ordered), view.zone), where)


def _apart_from_vectors(features: list[ViewFeature]) -> list[ViewFeature]:
    """The distinct counts to separate from several vector aggregates, if any.

    Spark also groups by the counted column and would carry the sums of all vector elements through that grouping.
    """
    computed = {feature.name: feature.computation for feature in features}
    functions = {name: one.function for name, one in computed.items() if isinstance(one, Aggregate)}
    several = sum(function.startswith("vector_") for function in functions.values()) > 1
    return [feature for feature in features if several and functions[feature.name] == "count_distinct"]


def _windows(features: Iterable[ViewFeature]) -> list[Window]:
    return [feature.window for feature in features if feature.window is not None]


def _needs_own_group(view: View, source: ViewSource, feature: ViewFeature) -> bool:
    """Whether the feature cannot share a group: ranks group twice, and vectors of unknown length are exploded."""
    aggregate = feature.computation
    if not isinstance(aggregate, Aggregate):
        return False
    vector = aggregate.function.startswith("vector_")
    ranks = aggregate.function == "top_k" or aggregate.rank_by is not None
    return ranks or (vector and vector_length(view, source, aggregate.of or "") is None)


def vector_length(view: View, source: ViewSource, name: str) -> int | None:
    """The registered length of an unchanged table column, from the source's table or a joined one."""
    steps = source.steps
    step = next((step for step in reversed(steps) if name in set_by(step)), None)
    column = source.table.column(name) if step is None else None
    if step and step.join:
        column = view.tables[step.join.table].column(pairs(step.join.columns)[name])
    return None if column is None else column.length


def changed_columns(source: ViewSource) -> frozenset[str]:
    """Columns that any step of the source sets."""
    return frozenset(name for step in source.steps for name in set_by(step))


def windows(view: View, source: ViewSource, by: tuple[str, ...] | None = None) -> list[Window]:
    """The windows of the source's features (only of those grouped by `by`, if given)."""
    features = [feature for feature in view.features if feature.source == source.name]
    return _windows(feature for feature in features if by is None or keys(view, feature) == by)


def longest_window(view: View, source: ViewSource, by: tuple[str, ...] | None = None) -> Window | None:
    """The longest of these windows; None for all history."""
    widest = longest(windows(view, source, by))
    return None if widest == Window.ALL else widest


def own_columns(view: View) -> dict[str, str]:
    """Lookup features that can be read from the spine's own rows: feature to column."""
    table = None if view.spine is None or view.cutoff == "spine" else view.tables[view.spine.table]
    if table is None or is_dated(table):
        return {}
    own = {name for name in table.keys if (column := table.column(name)) is not None and not column.nullable}
    features = lookups(view).get((table.name, tuple((name, name) for name in view.grain)), [])
    computations = {feature.name: feature.computation for feature in features if own == {*view.grain, *table.keys}}
    return {name: found.column for name, found in computations.items() if isinstance(found, Lookup)}


def lookups(view: View) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[ViewFeature]]:
    """Lookup features by table and keys (grain key, table column)."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[ViewFeature]] = {}
    for feature in view.features:
        if isinstance(feature.computation, Lookup):
            on = tuple(pairs(feature.computation.on or ()).items())
            found.setdefault((feature.computation.table, on), []).append(feature)
    return found
