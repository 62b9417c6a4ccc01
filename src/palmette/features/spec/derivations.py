"""Derived features: an order in which they can be computed, their types, and what they depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from palmette.features.spec.aggregates import dtype_fault
from palmette.features.spec.expressions import check
from palmette.features.spec.features import FeatureResolver, ResolvedFeature
from palmette.features.spec.nullness import never_null
from palmette.features.spec.oversights import oversights
from palmette.features.spec.scope import NOTHING, Columns, Origins, Scope
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF


def derivation_order(features: Sequence[ResolvedFeature], scope: Scope) -> tuple[str, ...]:
    """Names, each after those it is derived from; cycles are reported by their members."""
    by_name = {feature.view.name: feature for feature in features}
    done: dict[str, None] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        feature = by_name.get(name)
        if feature is None or name in done:
            return
        if name in path:
            cycle = [*path[path.index(name) :], name]
            scope.findings.in_spec(
                "derivation-cycle",
                f"Features are derived from each other in a circle: {' -> '.join(cycle)}.",
                "Break it at one of them.",
                field=f"{by_name[cycle[0]].field}.derive",
                value=name,
            )
            return
        path.append(name)
        for used in feature.inputs:
            visit(used)
        path.pop()
        done[name] = None

    for feature in features:
        visit(feature.view.name)
    return tuple(done)


class Derivations:
    """Completes derived features, given everything that they may use."""

    def __init__(
        self, scope: Scope, resolver: FeatureResolver, kept: Mapping[str, SparkType], broken: set[str]
    ) -> None:
        self.scope = scope
        self.resolver = resolver
        spine = scope.spec.spine
        table = spine.table if spine else ""
        origins = {name: frozenset({f"{table}.{name}"}) for name in kept}
        origins[AS_OF] = frozenset({f"{table}.{spine.cutoff}"}) if spine and spine.cutoff else NOTHING
        self.columns = Columns({**scope.grain, **kept, AS_OF: SparkType("timestamp")}, origins, broken)
        self.certain: set[str] = {AS_OF}
        if spine is None:
            self.certain |= set(scope.grain)

    def complete(self, features: Sequence[ResolvedFeature], order: Sequence[str]) -> dict[str, ResolvedFeature]:
        """All features by name, the derived ones with their origins."""
        by_name = {feature.view.name: feature for feature in features}
        for name in order:
            feature = by_name[name]
            if feature.view.derive is not None:
                feature = by_name[name] = self._derived(feature, feature.view.derive, by_name)
            self.columns.put(name, feature.view.dtype, feature.origins)
            if not feature.can_be_null or feature.view.default is not None:
                self.certain.add(name)
        return by_name

    def _derived(self, feature: ResolvedFeature, text: str, by_name: Mapping[str, ResolvedFeature]) -> ResolvedFeature:
        field = f"{feature.field}.derive"
        later = {name for name in feature.inputs if name in by_name and name not in self.columns}
        checked = check(text, self.columns.types, known=self.columns.broken | later)
        self.scope.findings.in_expression(checked.faults, field)
        if checked.tree is not None:
            self.scope.findings.in_expression(oversights(checked.tree, self.columns.values), field)
        reason = (
            dtype_fault(feature.view.dtype, checked.type) if checked.type is not None and not checked.faults else None
        )
        if reason is not None:
            self.scope.findings.in_spec(
                "dtype-mismatch",
                f"Feature {feature.view.name!r} has the dtype {feature.view.dtype}, but {reason}.",
                "Change the dtype, or round or cast in the expression.",
                field=f"{feature.field}.dtype",
                value=str(feature.view.dtype),
            )
        can_be_null = checked.tree is None or not never_null(checked.tree, self.certain)
        if not checked.faults:
            self.resolver.nullability(feature.view, feature.field, can_be_null)
        origins: Origins = self.columns.origins_of(checked.columns)
        return dataclasses.replace(feature, origins=origins, can_be_null=can_be_null)
