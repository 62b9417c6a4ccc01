"""The facts about a view, with the names that teams use for them in configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, get_args

from palmette.features.actors.config_generator.convert import VOCABULARY
from palmette.features.spec import AS_OF, Aggregate, Expression, Run, Table, View, ViewFeature, Window
from palmette.features.spec.run import Destination
from palmette.features.spec.values import longest

VIEW = "view"
"""Key of the fact that holds the view's name."""
NAME = "name:"
"""Prefix of the key of the fact that holds a table's name."""

FORMATS: tuple[str, ...] = get_args(Table.model_fields["format"].annotation)
"""File formats."""

Value = Any
"""A JSON value: a scalar or a list of scalars."""


@dataclass(frozen=True)
class ConfigFact:
    """A value and the usual names of fields that hold it."""

    value: Value
    names: tuple[str, ...]
    """Names that certainly mean it."""
    perhaps: tuple[str, ...] = ()
    """Names that may mean it."""
    key: str = ""
    """Key of the accessor, if scripts read the fact from the configuration."""


@dataclass(frozen=True)
class FactCollection:
    """Records of one kind, by key."""

    names: tuple[str, ...]
    items: Mapping[str, FactRecord]
    stands_for: tuple[str, ...]
    """Names of the facts that represent an item as a single value, best first."""


@dataclass(frozen=True)
class FactRecord:
    """Facts that belong together, e.g. those about the output."""

    names: tuple[str, ...]
    facts: tuple[ConfigFact, ...] = ()
    sections: tuple[FactRecord, ...] = ()
    collections: tuple[FactCollection, ...] = ()

    def fact(self, name: str) -> ConfigFact | None:
        return next((fact for fact in self.facts if name in fact.names), None)


_NAMES = VOCABULARY.facts
_SECTIONS = {section: known.names for section, known in _NAMES["sections"].items()}


def _facts(record: str, keys: Mapping[str, str] = {}, /, **values: Value) -> list[ConfigFact]:
    """Builds the facts of a record; `keys` maps the facts that scripts read to their accessor keys."""
    known = _NAMES[record]
    return [
        ConfigFact(item, known[name].names, known[name].perhaps, keys.get(name, "")) for name, item in values.items()
    ]


def facts_of(view: View, run: Run) -> FactRecord:
    """Collects all facts about a view."""
    facts = _facts(
        "view",
        {"view": VIEW, "partition": "partition"},
        view=view.name,
        description=view.description or None,
        owner=view.owner or None,
        keys=list(view.grain),
        entities=[entity.name for entity in view.spec.entities],
        as_of_column=AS_OF if AS_OF in view.output else None,
        as_of=run.interval.as_of.astimezone(UTC).isoformat() if run.interval.as_of else None,
        zone=view.zone,
        windows=_windows(view),
        longest=_longest(view),
        spine=view.spine.table if view.spine else None,
        forbidden=list(view.forbidden) or None,
        partition=view.partition,
    )
    location = _location(run.output, "output", "output")
    tables = (_flat(view, table) for table in view.tables.values())
    return FactRecord(
        names=("view",),
        facts=(*facts, location, *tables),
        sections=(FactRecord(_SECTIONS["output"], (_bare(location), facts[-1], *_output(view, run.output))),),
        collections=_collections(view),
    )


def _output(view: View, destination: Destination) -> list[ConfigFact]:
    own: dict[str, Value] = {"table_format" if destination.path is None else "format": destination.format}
    return _facts("output", table=view.table_name, **own)


def _collections(view: View) -> tuple[FactCollection, ...]:
    sources = {name: _source(view, table) for name, table in view.tables.items()}
    features = {feature.name: _feature(feature) for feature in view.public}
    entities = {
        one.name: _facts(
            "entity",
            name=one.name,
            keys=list(one.keys),
            description=one.description or None,
            dtype=str(view.grain[one.keys[0]]),
        )
        for one in view.spec.entities
    }
    keys = {name: _facts("key", name=name, dtype=str(kind)) for name, kind in view.grain.items()}

    def collection(name: str, items: Mapping[str, list[ConfigFact]], *stands_for: str) -> FactCollection:
        records = {key: FactRecord((key,), tuple(facts)) for key, facts in items.items()}
        return FactCollection(_SECTIONS[name], records, stands_for)

    return (
        collection("sources", sources, "location", "name"),
        collection("features", features, "dtype"),
        collection("entities", entities, "keys"),
        collection("keys", keys, "dtype"),
    )


def _location(place: Table | Destination, key: str, prefix: str) -> ConfigFact:
    """A path matches path-like names, a catalogue name matches table-like names, and both match general names."""
    kind = "table" if place.path is None else "path"
    general, special = _NAMES["location"]["anywhere"].names, _NAMES["location"][kind].names
    names = tuple(f"{prefix}_{name}" for name in (*special, *general))
    return ConfigFact(getattr(place, kind), (*names, prefix, *general), special, key)


def _bare(location: ConfigFact) -> ConfigFact:
    """The location with its short names as certain ones, for use inside its own section."""
    return ConfigFact(location.value, (*location.names, *location.perhaps), key=location.key)


def _flat(view: View, table: Table) -> ConfigFact:
    """A table's location outside any list of sources: `<table>_path`, or `input_path` for a single table."""
    prefixes = (table.name, "source", "input") if len(view.tables) == 1 else (table.name,)
    known = {prefix: _location(table, f"source:{table.name}", prefix) for prefix in prefixes}
    names = tuple(name for prefix, fact in known.items() for name in fact.names if name.startswith(prefix))
    return ConfigFact(known[table.name].value, names, key=known[table.name].key)


def _source(view: View, table: Table) -> list[ConfigFact]:
    facts = _facts(
        "source",
        {"name": f"{NAME}{table.name}"},
        name=table.name,
        format=table.format if table.path is not None else None,
        kind=table.kind,
        event_time=table.event_time,
        available_time=table.available_time,
        keys=list(table.keys),
        partitions=[partition.column for partition in table.partitions] or None,
        columns=[column.name for column in table.columns],
        description=table.description or None,
        retention=str(table.retention) if table.retention else None,
        longest=_longest(view, {source.name for source in view.sources if source.table.name == table.name}),
    )
    return [_bare(_location(table, f"source:{table.name}", "source")), *facts]


def _feature(feature: ViewFeature) -> list[ConfigFact]:
    computation = feature.computation
    aggregate = computation if isinstance(computation, Aggregate) else None
    return _facts(
        "feature",
        name=feature.name,
        dtype=str(feature.dtype),
        default=list(feature.default) if isinstance(feature.default, tuple) else feature.default,
        description=feature.description or feature.words,
        nullable=feature.nullable,
        window=None if feature.window is None else str(feature.window),
        source=feature.source,
        function=aggregate.function if aggregate else None,
        of=aggregate.of if aggregate else None,
        where=aggregate.where if aggregate else None,
        expression=computation.sql if isinstance(computation, Expression) else feature.derive,
    )


def _windows(view: View) -> list[str] | None:
    windows = {feature.window for feature in view.features if feature.window not in (None, Window.ALL)}
    return [str(w) for w in sorted(windows, key=lambda w: (w.timedelta, str(w)))] or None


def _longest(view: View, sources: set[str] | None = None) -> str | None:
    """The longest window; None if a feature uses all history, or if no feature has a window."""
    features = (one for one in view.features if sources is None or one.source in sources)
    found = longest(one.window for one in features if one.window is not None)
    return None if found in (None, Window.ALL) else str(found)
