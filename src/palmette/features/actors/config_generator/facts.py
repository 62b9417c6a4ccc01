"""What is known about a view, with the names that teams give to it in their configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Entity, Expression
from palmette.features.spec.run import Destination, Run
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, View, ViewFeature

VIEW = "view"
"""Key of the fact that holds the view's name."""
NAME = "name:"
"""Before a table's name, the key of the fact that holds it."""

FORMATS: tuple[str, ...] = get_args(Table.model_fields["format"].annotation)
"""Of files."""

Value = Any
"""A JSON value: a scalar or a list of scalars."""


@dataclass(frozen=True)
class Fact:
    """A value and what fields that hold it are called."""

    value: Value
    names: tuple[str, ...]
    """Names that say it for certain."""
    perhaps: tuple[str, ...] = ()
    """Names that may mean it."""
    key: str = ""
    """Key of the accessor, for facts that scripts read from the configuration."""


@dataclass(frozen=True)
class Collection:
    """Records of one kind, by key."""

    names: tuple[str, ...]
    items: Mapping[str, Record]
    stands_for: tuple[str, ...]
    """Names of the facts by which an item is represented where only one value is wanted, the best first."""


@dataclass(frozen=True)
class Record:
    """Facts that belong together, e.g. those about the output."""

    names: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    sections: tuple[Record, ...] = ()
    collections: tuple[Collection, ...] = ()

    def fact(self, name: str) -> Fact | None:
        return next((fact for fact in self.facts if name in fact.names), None)


def facts_of(view: View, run: Run, paths: Mapping[str, str] | None = None, output: str | None = None) -> Record:
    """All facts about a view. `paths` (by table) and `output` go before the registry's and the run file's."""
    paths = paths or {}
    destination = run.output
    if output is not None:
        destination = destination.model_copy(update={"path": output} if destination.path else {"table": output})
    location = _location(destination.path, destination.table, "output", "output")
    tables = tuple(fact for table in view.tables.values() for fact in _flat(view, table, paths.get(table.name)))
    return Record(
        names=("view",),
        facts=(*_identity(view), *_keys_and_times(view, run), _partition(view), *location, *tables),
        sections=(_output(view, destination, location),),
        collections=_collections(view, paths),
    )


def _identity(view: View) -> tuple[Fact, ...]:
    return (
        Fact(
            view.name,
            ("feature_view", "view", "view_name", "feature_view_name", "feature_group", "feature_set"),
            ("name", "job", "job_name", "id", "title", "pipeline", "feature_table"),
            key=VIEW,
        ),
        Fact(view.description or None, ("description", "summary", "doc", "purpose", "about")),
        Fact(
            view.owner or None,
            ("owner", "maintainer", "owned_by", "responsible"),
            ("contact", "author", "team", "squad"),
        ),
    )


def _keys_and_times(view: View, run: Run) -> tuple[Fact, ...]:
    return (
        Fact(
            list(view.grain),
            ("keys", "entity_keys", "join_keys", "grain", "unit_of_analysis", "primary_key", "key_columns", "group_by"),
            ("id_columns", "index", "identifiers", "entity_columns", "unique_key", "entities", "entity"),
        ),
        Fact([entity.name for entity in view.spec.entities], ("entities", "entity", "entity_names")),
        Fact(
            AS_OF, ("as_of_column", "cutoff_column"), ("timestamp_column", "event_timestamp_column", "snapshot_column")
        ),
        Fact(_instant(run.interval.as_of), (), ("as_of", "cutoff", "as_of_date", "reference_date", "run_date")),
        Fact(view.zone, ("timezone", "time_zone", "zone")),
        Fact(
            _windows(view),
            ("windows", "lookback_windows", "window_sizes", "window_days", "lookbacks"),
            ("lookback_days",),
        ),
        Fact(
            _longest(view),
            ("lookback", "lookback_days", "max_window", "max_lookback_days"),
            ("window", "window_days", "history_days", "history"),
        ),
        Fact(view.spine.table if view.spine else None, ("spine", "spine_table"), ("population", "base_table")),
        Fact(list(view.forbidden) or None, ("forbidden", "forbidden_columns"), ("excluded_columns", "blocked_columns")),
    )


def _partition(view: View) -> Fact:
    names = ("partition_by", "partition_column", "partition", "partition_key", "partitioned_by")
    return Fact(view.partition, names, key="partition")


def _output(view: View, destination: Destination, location: tuple[Fact, ...]) -> Record:
    return Record(
        names=(
            "output",
            "sink",
            "target",
            "destination",
            "write",
            "store",
            "offline_store",
            "materialization",
            "result",
        ),
        facts=(
            *_bare(location),
            _partition(view),
            Fact(view.table_name, (), ("table", "table_name", "name", "id")),
            _format(destination),
        ),
    )


def _format(destination: Destination) -> Fact:
    """Of files; where the catalogue knows it, it may be wanted all the same."""
    certain, perhaps = ("format", "file_format", "storage_format"), ("type", "storage", "kind")
    if destination.path is None:
        return Fact(destination.format, (), (*certain, *perhaps))
    return Fact(destination.format, certain, perhaps)


_SOURCES = (
    "sources",
    "inputs",
    "input_tables",
    "source_tables",
    "tables",
    "datasets",
    "input_datasets",
    "dependencies",
    "upstream",
    "reads",
    "feeds",
    "source_paths",
    "input_paths",
)
_FEATURES = (
    "features",
    "feature_columns",
    "feature_definitions",
    "feature_list",
    "columns",
    "outputs",
    "output_columns",
    "schema",
    "fields",
)


def _collections(view: View, paths: Mapping[str, str]) -> tuple[Collection, ...]:
    sources = {name: _source(view, table, paths.get(name)) for name, table in view.tables.items()}
    features = {feature.name: _feature(feature) for feature in view.features if not feature.internal}
    entities = {entity.name: _entity(view, entity) for entity in view.spec.entities}
    keys = {name: _key(name, kind) for name, kind in view.grain.items()}
    return (
        Collection(_SOURCES, sources, ("location", "name")),
        Collection(_FEATURES, features, ("dtype",)),
        Collection(("entities", "entity"), entities, ("keys",)),
        Collection(("keys", "grain", "join_keys", "entity_keys"), keys, ("dtype",)),
    )


def _key(name: str, kind: SparkType) -> Record:
    return Record(
        ("key",),
        (
            Fact(name, ("name", "key", "column")),
            Fact(str(kind), ("dtype", "data_type", "value_type"), ("type",)),
        ),
    )


def _entity(view: View, entity: Entity) -> Record:
    return Record(
        ("entity",),
        (
            Fact(entity.name, ("name", "entity", "entity_name"), ("id",)),
            Fact(
                list(entity.keys),
                ("keys", "join_keys", "key_columns", "join_key", "key"),
                ("columns", "id_columns", "column"),
            ),
            Fact(entity.description or None, ("description", "doc")),
            Fact(str(view.grain[entity.keys[0]]), ("dtype", "value_type", "key_type", "data_type"), ("type",)),
        ),
    )


def _location(path: str | None, table: str | None, key: str, prefix: str) -> tuple[Fact, ...]:
    """A path fits path-like names, a catalogue name table-like names, and either one the general names."""
    general = ("location", "destination", "target", "sink")
    special = (
        ("path", "uri", "url", "directory", "folder", "file", "prefix")
        if path is not None
        else ("table", "table_name", "full_name", "catalog_table", "identifier")
    )
    names = tuple(f"{prefix}_{name}" for name in (*special, *general))
    return (Fact(path if path is not None else table, (*names, prefix, *general), special, key=key),)


def _bare(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Inside its own section, a location's short names are certain."""
    return tuple(Fact(fact.value, (*fact.names, *fact.perhaps), (), fact.key) for fact in facts)


def _where(table: Table, path: str | None, prefix: str) -> Fact:
    """Where a table is read from: `path`, when given, instead of what the registry says."""
    if table.path is not None:
        return _location(path or table.path, None, f"source:{table.name}", prefix)[0]
    return _location(None, path or table.table, f"source:{table.name}", prefix)[0]


def _flat(view: View, table: Table, path: str | None) -> tuple[Fact, ...]:
    """A table's location outside of any list of sources: `<table>_path`; `input_path` for the only table."""
    prefixes = (table.name, "source", "input") if len(view.tables) == 1 else (table.name,)
    known = tuple(_where(table, path, prefix) for prefix in prefixes)
    names = tuple(
        name for fact, prefix in zip(known, prefixes, strict=True) for name in fact.names if name.startswith(prefix)
    )
    return (Fact(known[0].value, names, key=known[0].key),)


def _source(view: View, table: Table, path: str | None) -> Record:
    location = _bare((_where(table, path, "source"),))
    used = [source for source in view.sources if source.table.name == table.name]
    partitions = [partition.column for partition in table.partitions]
    return Record(
        names=(table.name,),
        facts=(
            *location,
            Fact(
                table.name,
                ("name", "source_name", "dataset", "alias", "label", "id"),
                ("table", "table_name", "source", "key"),
                key=f"{NAME}{table.name}",
            ),
            Fact(table.format if table.path is not None else None, ("format", "file_format"), ("type", "kind")),
            Fact(table.kind, ("kind", "table_kind", "table_type"), ("type",)),
            *_times(table),
            Fact(
                list(table.keys),
                ("keys", "primary_key", "key_columns", "join_keys"),
                ("id_columns", "key", "unique_key"),
            ),
            Fact(
                partitions or None,
                ("partition_columns", "partition_by", "partitions", "partition", "partitioned_by"),
            ),
            Fact([column.name for column in table.columns], ("columns", "fields")),
            Fact(table.description or None, ("description", "doc")),
            Fact(str(table.retention) if table.retention else None, ("retention", "retention_days")),
            Fact(
                _longest(view, {source.name for source in used}),
                ("lookback", "lookback_days", "window", "window_days"),
            ),
        ),
    )


def _times(table: Table) -> tuple[Fact, Fact]:
    return (
        Fact(
            table.event_time,
            (
                "event_time",
                "event_timestamp",
                "timestamp_column",
                "time_column",
                "event_time_column",
                "timestamp",
                "timestamp_field",
                "ts",
            ),
            ("date_column", "time", "date"),
        ),
        Fact(
            table.available_time,
            ("available_time", "availability_time", "ingestion_time", "available_at", "created_timestamp"),
            ("load_time", "arrival_time"),
        ),
    )


def _feature(feature: ViewFeature) -> Record:
    computation = feature.computation
    aggregate = computation if isinstance(computation, Aggregate) else None
    expression = computation.sql if isinstance(computation, Expression) else feature.derive
    window = None if feature.window is None else str(feature.window)
    default = list(feature.default) if isinstance(feature.default, tuple) else feature.default
    return Record(
        names=(feature.name,),
        facts=(
            Fact(feature.name, ("name", "feature", "feature_name"), ("id", "column", "alias")),
            Fact(str(feature.dtype), ("dtype", "type", "data_type", "spark_type", "value_type", "feature_type")),
            Fact(
                default,
                ("default", "default_value", "fill_value", "fill_null", "null_value"),
                ("fill", "fillna", "missing"),
            ),
            Fact(feature.description or feature.words, ("description", "doc", "summary")),
            Fact(feature.nullable, ("nullable", "is_nullable", "allow_null")),
            Fact(window, ("window", "lookback", "time_window", "window_days", "lookback_days")),
            Fact(feature.source, ("source", "source_name", "source_table"), ("input", "table", "from")),
            Fact(
                aggregate.function if aggregate else None,
                ("aggregation", "function", "aggregate"),
                ("method",),
            ),
            Fact(
                aggregate.of if aggregate else None,
                ("input_column", "of", "source_column"),
                ("column", "field"),
            ),
            Fact(aggregate.where if aggregate else None, ("where", "filter", "condition")),
            Fact(expression, ("expression", "sql", "logic", "formula")),
        ),
    )


def _instant(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat()


def _windows(view: View) -> list[str] | None:
    windows = {
        feature.window for feature in view.features if feature.window is not None and feature.window.unit != "all"
    }
    return [str(w) for w in sorted(windows, key=lambda w: (w.timedelta, str(w)))] or None


def _longest(view: View, sources: set[str] | None = None) -> str | None:
    """The longest window; None when some feature looks at all history, or none has a window."""
    windows = [
        feature.window
        for feature in view.features
        if feature.window is not None and (sources is None or feature.source in sources)
    ]
    if not windows or any(window.timedelta is None for window in windows):
        return None
    return str(max(windows, key=lambda window: window.timedelta or 0))
