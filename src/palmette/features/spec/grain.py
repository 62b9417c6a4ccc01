"""Resolves the rows of a view: its grain, spine and time."""

import zoneinfo
from collections.abc import Iterable, Mapping

from palmette.documents import ProblemCollector
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.features import ResolvedFeature
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.lints import UNRELIABLE_KEYS, is_zone
from palmette.features.spec.scope import ColumnSet, ResolutionScope
from palmette.features.spec.type_rules import common_type
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF


def resolve_grain(spec: FeatureSpec, registry: Registry, findings: ProblemCollector) -> dict[str, SparkType]:
    """The keys of all entities with their types, taken from the spine or else from the tables the view reads."""
    grain: dict[str, SparkType] = {}
    for index, entity in enumerate(spec.entities):
        if entity.name in [other.name for other in spec.entities[:index]]:
            findings.report("duplicate-entity", f"entities[{index}].name", entity.name)
        for place, key in enumerate(entity.keys):
            field = f"entities[{index}].keys[{place}]"
            if key in grain:
                findings.report("duplicate-key-column", field, key)
                continue
            kind = _key_type(key, spec, registry)
            if kind is None:
                known = {column.name for table in registry.tables for column in table.columns}
                findings.report("unknown-key-column", field, key, known)
                continue
            if kind.name in UNRELIABLE_KEYS:
                findings.report("bad-key-type", field, key, kind=kind)
            grain[key] = kind
    return grain


def _key_type(key: str, spec: FeatureSpec, registry: Registry) -> SparkType | None:
    kinds = [column.type.parsed for table in _tables_of_keys(spec, registry) if (column := table.column(key))]
    if not kinds:
        column = next((column for table in registry.tables if (column := table.column(key))), None)
        return column.type.parsed if column else None
    merged = kinds[0]
    for kind in kinds[1:]:
        merged = (common_type(merged, kind) or merged) if merged.is_integer and kind.is_integer else merged
    return merged


def _tables_of_keys(spec: FeatureSpec, registry: Registry) -> Iterable[Table]:
    """The tables that rows come from, the decisive one first."""
    names = [spec.spine.table] if spec.spine else []
    if not spec.spine:
        declared = {source.name: source.table or source.name for source in spec.sources}
        for feature in spec.features:
            computation = feature.aggregate or feature.expression
            if computation is not None:
                names.append(declared.get(computation.source, computation.source))
        names += declared.values()
    return [table for name in dict.fromkeys(names) if (table := registry.table(name))]


def lint_time(spec: FeatureSpec, findings: ProblemCollector) -> str:
    """Checks that the cut-off is fully specified and that the zone exists; returns UTC if it does not."""
    zone = spec.time.zone
    if not is_zone(zone):
        findings.report("unknown-zone", "time.zone", zone, zoneinfo.available_timezones())
        zone = "UTC"
    cutoff, spine = spec.time.cutoff, spec.spine
    if cutoff == "spine" and (spine is None or spine.cutoff is None):
        findings.report("missing-cutoff", "spine" if spine else "time.cutoff", "spine")
    if cutoff != "spine" and spine is not None and spine.cutoff is not None:
        findings.report("superfluous-cutoff", "spine.cutoff", spine.cutoff, cutoff=cutoff)
    if cutoff == "partition" and spec.output.partition is None:
        findings.report("missing-partition", "time.cutoff", "partition")
    return zone


def resolve_spine(scope: ResolutionScope) -> tuple[Table | None, dict[str, SparkType]]:
    """The spine's table, and the columns kept from it."""
    spine = scope.spec.spine
    table = scope.table(spine.table, "spine.table") if spine is not None else None
    if spine is None or table is None:
        return None, {}
    columns = ColumnSet.of_table(table)
    for key in scope.grain:
        if key not in columns:
            scope.report("grain-key-missing/spine", "spine.table", key, columns.types, table=table.name)
    if spine.cutoff is not None:
        kind = scope.column(spine.cutoff, columns, "spine.cutoff")
        if kind is not None and not kind.is_temporal:
            scope.report("bad-time-type/cutoff", "spine.cutoff", spine.cutoff, kind=kind)
    scope.condition(spine.where, columns, "spine.where")
    kept: dict[str, SparkType] = {}
    for index, name in enumerate(spine.keep):
        field = f"spine.keep[{index}]"
        kind = scope.column(name, columns, field)
        if name in scope.grain or name in kept:
            scope.report("name-collision/keep", field, name)
        elif kind is not None:
            kept[name] = kind
    return table, kept


def output_schema(
    scope: ResolutionScope, kept: Mapping[str, SparkType], features: Iterable[ResolvedFeature]
) -> dict[str, SparkType]:
    """The columns of the output, among them those `kept` of the spine; reports name collisions."""
    schema = {**scope.grain, **kept}
    if AS_OF in schema:
        scope.report("name-collision/as-of", "spine.keep" if AS_OF in kept else "entities", AS_OF)
    folded = {name.casefold(): name for name in [*schema, AS_OF]}
    if scope.spec.output.as_of:
        schema[AS_OF] = SparkType("timestamp")
    for feature in features:
        name = feature.view.name
        if twin := folded.get(name.casefold()):
            variant = "/as-of-taken" if twin == AS_OF else "" if twin == name else "/twin"
            scope.report(f"name-collision{variant}", f"{feature.field}.name", name, twin=twin)
        folded[name.casefold()] = name
        if not feature.view.internal:
            schema[name] = feature.view.dtype
    partition = scope.spec.output.partition
    if partition is not None and partition.casefold() in folded:
        scope.report("name-collision/partition", "output.partition", partition)
    elif partition is not None:
        schema[partition] = SparkType("date")
    return schema
