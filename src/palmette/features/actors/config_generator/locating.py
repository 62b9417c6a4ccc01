"""Finds known facts in a document that somebody else wrote: by value, and among equal values by name and place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from palmette.features.actors.config_generator.facts import NAME, Fact, Record
from palmette.features.actors.config_generator.filling import score
from palmette.features.actors.config_generator.names import STRONG
from palmette.features.actors.config_generator.schema import Json, Resolved, TeamSchema, quoted
from palmette.features.actors.config_generator.spot import Spot, typed


class _Leaf(NamedTuple):
    """A value of the document, and where it is."""

    spot: Spot
    value: Any
    attribute: str


def locate(schema: TeamSchema, facts: Record, document: Any) -> dict[str, Spot]:
    """By key of a fact: the place that holds its value; a fact whose value stands nowhere has none."""
    leaves = list(_Walk(schema, names_of_items(facts)).value(schema.top, document, Spot(), ""))
    known = _by_key(facts)
    found: dict[str, Spot] = {}
    for key, one in known.items():
        fitting = [leaf for leaf in leaves if any(same(leaf.value, fact.value) for fact in one)]
        if fitting:
            best = max(enumerate(fitting), key=lambda item: (_nearness(key, one, item[1]), -item[0]))[1]
            found[key] = best.spot
    return found


def same(value: Any, expected: Any) -> bool:
    """Equal as a value, or as a path; a list of one is that one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return str(value) == str(expected) or os.path.normpath(str(value)) == os.path.normpath(str(expected))


def all_facts(record: Record) -> Iterator[Fact]:
    """Every fact that scripts read from a configuration, wherever it stands."""
    yield from (fact for fact in record.facts if fact.key and fact.value is not None)
    for section in record.sections:
        yield from all_facts(section)
    for collection in record.collections:
        for item in collection.items.values():
            yield from all_facts(item)


def names_of_items(record: Record) -> frozenset[str]:
    """What the items of the record's collections are called."""
    return frozenset(fact.value for fact in all_facts(record) if fact.key.startswith(NAME))


def _by_key(record: Record) -> Mapping[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in all_facts(record):
        if not fact.key.startswith(NAME):
            found.setdefault(fact.key, []).append(fact)
    return found


def _nearness(key: str, facts: list[Fact], leaf: _Leaf) -> float:
    """How surely a place with the right value is the one that means the fact."""
    table = key.partition(":")[2]
    inside = bool(table) and (table in leaf.spot.keys or quoted(table) in leaf.spot.access)
    return max(score(fact, leaf.attribute, leaf.spot) for fact in facts) + STRONG * inside


class _Walk(NamedTuple):
    """Goes through a document and its schema side by side."""

    schema: TeamSchema
    names: frozenset[str]
    """Of the items that a list may hold: such an item is found by its name, not by its place."""

    def value(self, of: Resolved, value: Any, spot: Spot, attribute: str) -> Iterator[_Leaf]:
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
            yield _Leaf(typed(spot, of.schema), value, attribute)

    def _mapping(self, of: Resolved, value: dict[Any, Any], spot: Spot) -> Iterator[_Leaf]:
        attributes = {self.schema.key(of.model, name): name for name in of.schema.get("properties", {})}
        beyond = of.schema.get("additionalProperties")
        for key, item in value.items():
            if key in attributes:
                name = attributes[key]
                place = Spot((*spot.keys, key), self.schema.access(of.model, spot.access, name), (*spot.pattern, key))
                yield from self.value(Resolved(of.schema["properties"][name], ""), item, place, name)
            elif isinstance(key, str | int):
                inner = beyond if isinstance(beyond, dict) else {}
                yield from self.value(Resolved(inner, ""), item, spot.item(key), str(key))

    def _item(self, of: Json, item: Any, whole: Spot, spot: Spot) -> Iterator[_Leaf]:
        """What an item of a list holds; one that has a name is read by it: the list may get another order."""
        leaves = list(self.value(Resolved(of, ""), item, spot, spot.name))
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

    def _option(self, of: Json, value: Any) -> Resolved:
        """The alternative of a field that the value is of."""
        options, _ = self.schema.options(of)
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        fitting = [option for option in options if not kind or option.schema.get("type", kind) == kind]
        keys = set(value) if isinstance(value, dict) else set()
        return max(fitting, key=lambda option: self._known(option, keys), default=Resolved({}, ""))

    def _known(self, option: Resolved, keys: set[Any]) -> int:
        return sum(self.schema.key(option.model, name) in keys for name in option.schema.get("properties", {}))
