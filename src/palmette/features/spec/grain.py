"""The rows of a view: its grain, its spine and its time."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Mapping

from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.findings import Findings
from palmette.features.spec.fsc import FeatureSpec, Spine
from palmette.features.spec.scope import Columns, Scope
from palmette.features.spec.type_rules import common_type
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF


def resolve_grain(spec: FeatureSpec, registry: Registry, findings: Findings) -> dict[str, SparkType]:
    """The keys of all entities with their types: the spine's, else those of the tables that are named."""
    grain: dict[str, SparkType] = {}
    for index, entity in enumerate(spec.entities):
        if entity.name in [other.name for other in spec.entities[:index]]:
            findings.in_spec(
                "duplicate-entity",
                f"There are two entities named {entity.name!r}.",
                "Rename one.",
                field=f"entities[{index}].name",
                value=entity.name,
            )
        for place, key in enumerate(entity.keys):
            field = f"entities[{index}].keys[{place}]"
            if key in grain:
                findings.in_spec(
                    "duplicate-key-column",
                    f"The key {key!r} is named twice.",
                    "Keep one.",
                    field=field,
                    value=key,
                )
                continue
            kind = _key_type(key, spec, registry)
            _check_key(key, kind, field, registry, findings)
            if kind is not None:
                grain[key] = kind
    return grain


def _check_key(key: str, kind: SparkType | None, field: str, registry: Registry, findings: Findings) -> None:
    if kind is None:
        known = {column.name for table in registry.tables for column in table.columns}
        findings.in_spec(
            "unknown-key-column",
            f"No table of the registry has the key {key!r}.",
            "Name a column that the tables have; one that a step makes cannot be a key.",
            field=field,
            value=key,
            known=known,
        )
    elif kind.name in ("float", "double", "array", "map"):
        findings.in_spec(
            "bad-key-type",
            f"The key {key!r} is {kind}, which does not identify an entity reliably.",
            "Use a key of another type.",
            field=field,
            value=key,
        )


def _key_type(key: str, spec: FeatureSpec, registry: Registry) -> SparkType | None:
    kinds = [column.type.parsed for table in _tables_of_keys(spec, registry) if (column := table.column(key))]
    if not kinds:
        column = next((column for table in registry.tables if (column := table.column(key))), None)
        return column.type.parsed if column else None
    merged = kinds[0]
    for kind in kinds[1:] if spec.spine is None else ():
        merged = (common_type(merged, kind) or merged) if merged.is_integer and kind.is_integer else merged
    return merged


def _tables_of_keys(spec: FeatureSpec, registry: Registry) -> Iterable[Table]:
    """The tables that rows come from, first the one that decides."""
    names = [spec.spine.table] if spec.spine else []
    if not spec.spine:
        declared = {source.name: source.table or source.name for source in spec.sources}
        for feature in spec.features:
            computation = feature.aggregate or feature.expression
            if computation is not None:
                names.append(declared.get(computation.source, computation.source))
        names += declared.values()
    return [table for name in dict.fromkeys(names) if (table := registry.table(name))]


def lint_time(spec: FeatureSpec, findings: Findings) -> None:
    """The zone exists; the cut-off has what it needs."""
    try:
        zoneinfo.ZoneInfo(spec.time.zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        findings.in_spec(
            "unknown-zone",
            f"There is no time zone {spec.time.zone!r}.",
            "Use an IANA name, e.g. 'Europe/Paris'.",
            field="time.zone",
            value=spec.time.zone,
            known=zoneinfo.available_timezones(),
        )
    cutoff, spine = spec.time.cutoff, spec.spine
    if cutoff == "spine" and (spine is None or spine.cutoff is None):
        findings.in_spec(
            "missing-cutoff",
            "With `cutoff: spine`, every row of the spine brings its own cut-off, and no column is named for it.",
            "Give `spine` with `cutoff`.",
            field="spine" if spine else "time.cutoff",
            value="spine",
        )
    if cutoff != "spine" and spine is not None and spine.cutoff is not None:
        findings.in_spec(
            "superfluous-cutoff",
            f"The cut-off is that of the {cutoff}, so the spine's column {spine.cutoff!r} is not used.",
            "Leave it out, or write `time: {cutoff: spine}`.",
            field="spine.cutoff",
            value=spine.cutoff,
        )
    if cutoff == "partition" and spec.output.partition is None:
        findings.in_spec(
            "missing-partition",
            "With `cutoff: partition`, the output needs a partition column.",
            "Give `output.partition`.",
            field="time.cutoff",
            value="partition",
        )


def resolve_spine(scope: Scope) -> tuple[Table | None, dict[str, SparkType]]:
    """The spine's table and the columns that are kept from it."""
    spine = scope.spec.spine
    if spine is None:
        return None, {}
    table = scope.table(spine.table, "spine.table")
    if table is None:
        return None, {}
    columns = Columns.of_table(table)
    for key in scope.grain:
        if key not in columns:
            scope.findings.in_spec(
                "grain-key-missing",
                f"The spine {table.name!r} has no column {key!r}, which the grain has.",
                "Choose a table with all keys, or another grain.",
                field="spine.table",
                value=key,
                known=columns.types,
            )
    if spine.cutoff is not None:
        kind = scope.column(spine.cutoff, columns, "spine.cutoff")
        if kind is not None and not kind.is_temporal:
            scope.findings.in_spec(
                "bad-time-type",
                f"The cut-off {spine.cutoff!r} is {kind}, not a time.",
                "Use a timestamp or date column.",
                field="spine.cutoff",
                value=spine.cutoff,
            )
    if spine.where is not None:
        scope.expression(spine.where, columns, "spine.where", wanted="boolean")
    return table, _kept(scope, spine, columns)


def _kept(scope: Scope, spine: Spine, columns: Columns) -> dict[str, SparkType]:
    kept: dict[str, SparkType] = {}
    for index, name in enumerate(spine.keep):
        field = f"spine.keep[{index}]"
        kind = scope.column(name, columns, field)
        if name in scope.grain or name in kept:
            scope.findings.in_spec(
                "name-collision",
                f"{name!r} is in the output already.",
                "Leave it out.",
                field=field,
                value=name,
            )
        elif kind is not None:
            kept[name] = kind
    return kept


def output_schema(
    scope: Scope, kept: Mapping[str, SparkType], features: Iterable[tuple[str, SparkType, bool, str]]
) -> dict[str, SparkType]:
    """The columns of the output; collisions are reported.

    Args:
        kept: columns of the spine.
        features: name, type, whether it is internal, and field of each.
    """
    schema = {**scope.grain, **kept}
    if AS_OF in schema:
        scope.findings.in_spec(
            "name-collision",
            f"{AS_OF!r} is the output's own column for the cut-off.",
            "Leave it out.",
            field="spine.keep" if AS_OF in kept else "entities",
            value=AS_OF,
        )
    schema[AS_OF] = SparkType("timestamp")
    folded = {name.casefold(): name for name in schema}
    for name, kind, internal, field in features:
        twin = folded.get(name.casefold())
        if twin is not None:
            taken = "is taken" if twin == name else f"is taken by {twin!r}"
            what = "is reserved for the cut-off" if twin == AS_OF else taken
            scope.findings.in_spec(
                "name-collision", f"The name {name!r} {what}.", "Rename the feature.", field=field, value=name
            )
        folded[name.casefold()] = name
        if not internal:
            schema[name] = kind
    partition = scope.spec.output.partition
    if partition is not None and partition.casefold() in folded:
        scope.findings.in_spec(
            "name-collision",
            f"The partition column {partition!r} has the name of another column.",
            "Rename it.",
            field="output.partition",
            value=partition,
        )
    elif partition is not None:
        schema[partition] = SparkType("date")
    return schema
