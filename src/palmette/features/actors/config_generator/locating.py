"""Locates known facts in a document: by value, then by name and location among equal values."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from palmette.features.actors.config_generator.convert import STRONG
from palmette.features.actors.config_generator.facts import NAME, ConfigFact, FactRecord
from palmette.features.actors.config_generator.filling import score
from palmette.features.actors.config_generator.schema import (
    MADE_OF_TEXT,
    ConfigLocation,
    Json,
    ResolvedSchema,
    TeamSchema,
)
from palmette.features.pyspark.code import quoted


class _Leaf(NamedTuple):
    """A value of the document and its location."""

    spot: ConfigLocation
    value: Any
    attribute: str


def locate(schema: TeamSchema, facts: FactRecord, document: Any) -> dict[str, ConfigLocation]:
    """By fact key: the location that holds its value. Facts that are not found are left out."""
    known: dict[str, list[ConfigFact]] = {}
    for fact in keyed_facts(facts):
        known.setdefault(fact.key, []).append(fact)
    names = frozenset(facts[0].value for key, facts in known.items() if key.startswith(NAME))
    leaves = list(_Walk(schema, names).value(schema.top, document, ConfigLocation(), ""))
    found: dict[str, ConfigLocation] = {}
    for key, same_key in known.items():
        fitting = [leaf for leaf in leaves if any(same(leaf.value, fact.value) for fact in same_key)]
        if fitting and not key.startswith(NAME):
            best = max(enumerate(fitting), key=lambda item: (_nearness(key, same_key, item[1]), -item[0]))[1]
            found[key] = best.spot
    return found


def same(value: Any, expected: Any) -> bool:
    """Whether two values are equal, also as paths. A list of one item equals that item."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return str(value) == str(expected) or os.path.normpath(str(value)) == os.path.normpath(str(expected))


def keyed_facts(record: FactRecord) -> Iterator[ConfigFact]:
    """Every fact that scripts read from a configuration, and the names of tables, at any depth."""
    yield from (fact for fact in record.facts if fact.key and fact.value is not None)
    items = (item for collection in record.collections for item in collection.items.values())
    for inner in (*record.sections, *items):
        yield from keyed_facts(inner)


def _nearness(key: str, facts: list[ConfigFact], leaf: _Leaf) -> float:
    """How likely a location with the right value is to mean the fact."""
    table = key.partition(":")[2]
    inside = bool(table) and (table in leaf.spot.keys or quoted(table) in leaf.spot.access)
    return max(score(fact, leaf.attribute, leaf.spot) for fact in facts) + STRONG * inside


class _Walk(NamedTuple):
    """Traverses a document and its schema in parallel."""

    schema: TeamSchema
    names: frozenset[str]
    """Names of list items. Such items are addressed by name rather than by index."""

    def value(self, of: ResolvedSchema, value: Any, spot: ConfigLocation, attribute: str) -> Iterator[_Leaf]:
        of = self._option(of.schema, value) if not of.schema.get("properties") else of
        if of.model in self.schema.roots:
            spot = replace(spot, access=f"{spot.access}.root")
        if isinstance(value, dict):
            yield from self._mapping(of, value, spot)
        elif isinstance(value, list):
            yield _Leaf(spot, value, attribute)
            for index, item in enumerate(value):
                yield from self._item(of.schema.get("items") or {}, item, spot, spot.item(index))
        elif value is not None:
            yield _Leaf(replace(spot, is_text=of.schema.get("format") not in MADE_OF_TEXT), value, attribute)

    def _mapping(self, of: ResolvedSchema, value: dict[Any, Any], spot: ConfigLocation) -> Iterator[_Leaf]:
        attributes = {self.schema.key(of.model, name): name for name in of.schema.get("properties", {})}
        beyond = of.schema.get("additionalProperties")
        for key, item in value.items():
            if key in attributes:
                name = attributes[key]
                place = spot.field(key, self.schema.access(of.model, spot.access, name))
                yield from self.value(ResolvedSchema(of.schema["properties"][name], ""), item, place, name)
            elif isinstance(key, str | int):
                inner = beyond if isinstance(beyond, dict) else {}
                yield from self.value(ResolvedSchema(inner, ""), item, spot.item(key), str(key))

    def _item(self, of: Json, item: Any, whole: ConfigLocation, spot: ConfigLocation) -> Iterator[_Leaf]:
        """The values of a list item. A named item is addressed by its name, so that reordering the list is safe."""
        leaves = list(self.value(ResolvedSchema(of, ""), item, spot, spot.name))
        inside = [leaf for leaf in leaves if leaf.spot.access != spot.access]
        named = next((leaf for leaf in inside if isinstance(leaf.value, str) and leaf.value in self.names), None)
        if named is None:
            yield from leaves
            return
        name = named.spot.access.removeprefix(spot.access)
        access = f"next(item for item in {whole.access} if item{name} == {quoted(named.value)})"
        for leaf in leaves:
            moved = replace(leaf.spot, access=access + leaf.spot.access.removeprefix(spot.access))
            yield leaf._replace(spot=moved)

    def _option(self, of: Json, value: Any) -> ResolvedSchema:
        """The alternative of a field that fits the value."""
        options, _ = self.schema.options(of)
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        fitting = [option for option in options if not kind or option.schema.get("type", kind) == kind]
        keys = set(value) if isinstance(value, dict) else set()
        return max(fitting, key=lambda option: self._matching_keys(option, keys), default=ResolvedSchema({}, ""))

    def _matching_keys(self, option: ResolvedSchema, keys: set[Any]) -> int:
        return sum(self.schema.key(option.model, name) in keys for name in option.schema.get("properties", {}))
