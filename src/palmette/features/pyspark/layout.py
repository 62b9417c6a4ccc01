"""Which features are computed together: one group per source and keys, wherever one aggregation can serve them all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from palmette.features.pyspark.times import containing, widest
from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.fsc_steps import step_kind
from palmette.features.spec.values import Window
from palmette.features.spec.view import View, ViewFeature, ViewSource


@dataclass(frozen=True)
class Group:
    """Features that one `groupBy().agg()` computes over the rows that pass `window` and `where`."""

    source: ViewSource
    by: tuple[str, ...]
    features: tuple[ViewFeature, ...]
    window: Window | None
    """The widest window of the features; None for all history."""
    where: str | None
    """The condition that all features share."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from the other groups of the view."""
        return tuple(feature.name for feature in self.features)

    @property
    def is_alone(self) -> bool:
        """Whether its one feature needs an aggregation of its own."""
        return len(self.features) == 1 and needs_own_group(self.features[0], self.source)


def groups(view: View, source: ViewSource) -> list[Group]:
    """The groups of a source, in the order of their first features."""
    found: list[Group] = []
    features = [feature for feature in view.features if feature.source == source.name]
    for by in dict.fromkeys(keys(view, feature) for feature in features):
        mine = [feature for feature in features if keys(view, feature) == by]
        shared = [
            feature
            for feature in mine
            if isinstance(feature.computation, Aggregate) and not needs_own_group(feature, source)
        ]
        main = _group(view, source, by, shared) if shared else None
        buckets: dict[tuple[Window | None, str | None], list[ViewFeature]] = {}
        for feature in mine:
            if isinstance(feature.computation, Expression):
                buckets.setdefault((containing(_windows([feature]), view.zone), feature.computation.where), []).append(
                    feature
                )
        if main is not None and (main.window, main.where) in buckets:
            main = _group(view, source, by, [*shared, *buckets.pop((main.window, main.where))])
        found += [main] if main is not None else []
        found += [_group(view, source, by, bucket) for bucket in buckets.values()]
        found += [_group(view, source, by, [feature]) for feature in mine if needs_own_group(feature, source)]
    return found


def keys(view: View, feature: ViewFeature) -> tuple[str, ...]:
    """The keys that a feature is grouped by, in the order of the grain."""
    assert isinstance(feature.computation, Aggregate | Expression)
    by = feature.computation.by or tuple(view.grain)
    return tuple(key for key in view.grain if key in by)


def _group(view: View, source: ViewSource, by: tuple[str, ...], features: Iterable[ViewFeature]) -> Group:
    ordered = tuple(features)
    conditions = {
        feature.computation.where for feature in ordered if isinstance(feature.computation, Aggregate | Expression)
    }
    where = conditions.pop() if len(conditions) == 1 else None
    return Group(source, by, ordered, containing(_windows(ordered), view.zone), where)


def _windows(features: Iterable[ViewFeature]) -> list[Window]:
    return [feature.window for feature in features if feature.window is not None]


def needs_own_group(feature: ViewFeature, source: ViewSource) -> bool:
    """top_k counts twice, and vectors of unknown length are taken apart by position."""
    aggregate = feature.computation
    if not isinstance(aggregate, Aggregate):
        return False
    vector = aggregate.function.startswith("vector_")
    return aggregate.function == "top_k" or (vector and vector_length(aggregate, source) is None)


def vector_length(aggregate: Aggregate, source: ViewSource) -> int | None:
    """The registered length, when `of` is a column of the table that no step changes."""
    column = source.table.column(aggregate.of or "")
    return None if column is None or column.name in changed_columns(source) else column.length


def changed_columns(source: ViewSource) -> frozenset[str]:
    """Columns that some step of the source sets."""
    names: set[str] = set()
    for step in (*source.early, *source.late):
        body = getattr(step, step_kind(step) or "")
        if isinstance(body, dict):
            names |= set(body)
        elif hasattr(body, "columns"):
            names |= set(body.columns)
        elif hasattr(body, "column"):
            names.add(body.column)
    return frozenset(names)


def longest_window(view: View, source: ViewSource, by: tuple[str, ...] | None = None) -> Window | None:
    """The longest window that features take from the source (those of these keys, if any are given); None for all."""
    features = [
        feature
        for feature in view.features
        if feature.source == source.name and (by is None or keys(view, feature) == by)
    ]
    longest = widest(_windows(features))
    return None if longest.unit == "all" else longest


def containing_window(view: View, source: ViewSource) -> Window | None:
    """A window that surely contains those of all features of the source; None for all history."""
    return containing(_windows(feature for feature in view.features if feature.source == source.name), view.zone)


def lookups(view: View) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[ViewFeature]]:
    """Lookup features by table and keys (grain key, table column)."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[ViewFeature]] = {}
    for feature in view.features:
        if isinstance(feature.computation, Lookup):
            on = feature.computation.on or ()
            mapping = tuple(on.items()) if isinstance(on, dict) else tuple((name, name) for name in on)
            found.setdefault((feature.computation.table, mapping), []).append(feature)
    return found
