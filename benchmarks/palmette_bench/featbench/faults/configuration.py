"""Faults of the configuration generator."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from palmette.features.artefacts import Config
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite, anywhere, with_text

REFUSED = frozenset({"config-refused", "config-fact", "team-code-failed"})
DOWNSTREAM = frozenset({"script-failed", "sample-mismatch", "no-data-written", "output-schema"})


def _sources(config: Config) -> list[str]:
    return sorted(fact for fact in config.places if fact.startswith("source:"))


def _edited(config: Config, changes: Mapping[tuple[str | int, ...], Any]) -> Config:
    """With other values at some places; the file is written anew."""
    document = yaml.safe_load(config.file.text)
    for place, value in changes.items():
        node = document
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = value
    edited: Config = with_text(config, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return edited


def _at(config: Config, place: Sequence[str | int]) -> Any:
    node = yaml.safe_load(config.file.text)
    for key in place:
        node = node[key]
    return node


def unknown_key(config: Config) -> Faulted | None:
    """A key that the team's class does not know."""
    return Faulted(_edited(config, {("refresh_schedule",): "daily"})) if config.class_name else None


def wrong_shape(config: Config) -> Faulted | None:
    """A text where the class expects a list."""
    document = yaml.safe_load(config.file.text)
    name = next((key for key, value in document.items() if isinstance(value, list)), None)
    return Faulted(_edited(config, {(name,): "all of them"})) if name and config.class_name else None


def wrong_table(config: Config) -> Faulted | None:
    """The place of another table, or of one of last year."""
    facts = _sources(config)
    if not facts:
        return None
    place = config.places[facts[0]]
    other = _at(config, config.places[facts[1]]) if len(facts) > 1 else f"{_at(config, place)}_2019"
    return Faulted(_edited(config, {place: other}))


def key_not_noted(config: Config) -> Faulted | None:
    """The place of a table in the configuration is not recorded, so nobody else can point the script elsewhere."""
    facts = _sources(config)
    if not facts:
        return None
    path = str(_at(config, config.places[facts[0]])).lstrip("./")
    left = {fact: place for fact, place in config.places.items() if fact != facts[0]}
    return Faulted(config.model_copy(update={"places": left}), (path,))


def keys_mixed_up(config: Config) -> Faulted | None:
    """The keys of two tables are noted the wrong way round."""
    facts = _sources(config)
    if len(facts) < 2:
        return None
    first, second = facts[:2]
    places = {**config.places, first: config.places[second], second: config.places[first]}
    return Faulted(config.model_copy(update={"places": places}))


def wrong_format(config: Config, site: FaultSite) -> Faulted | None:
    """A file format that the table does not have."""
    for fact in _sources(config):
        place = (*config.places[fact][:-1], "format")
        try:
            now = _at(config, place)
        except (KeyError, TypeError, IndexError):
            continue
        other = _edited(config, {place: "orc" if now != "orc" else "parquet"})
        return Faulted(other) if site.passes(other) else None
    return None


KINDS = (
    FaultKind("unknown key", "config_generator", False, REFUSED, anywhere(unknown_key)),
    FaultKind("a text for a list", "config_generator", False, REFUSED, anywhere(wrong_shape)),
    FaultKind("another table's place", "config_generator", False, REFUSED, anywhere(wrong_table)),
    FaultKind("keys of tables mixed up", "config_generator", False, REFUSED, anywhere(keys_mixed_up)),
    FaultKind("key of a table not noted", "config_generator", True, DOWNSTREAM, anywhere(key_not_noted)),
    FaultKind("wrong format", "config_generator", True, DOWNSTREAM, wrong_format),
)
