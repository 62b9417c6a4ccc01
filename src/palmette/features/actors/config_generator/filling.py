"""Fills a schema with facts, matched by name and type, the team's constants, and a person's answers.

Fields that no rule fits stay missing. Nothing is invented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from palmette.features.actors.config_generator.convert import convert
from palmette.features.actors.config_generator.facts import FORMATS, NAME, VIEW, ConfigFact, FactCollection, FactRecord
from palmette.features.actors.config_generator.names import STRONG, WEAK, best_similarity
from palmette.features.actors.config_generator.neighbour_configs import ANY, NOTHING, NeighbourConfigs
from palmette.features.actors.config_generator.schema import ConfigLocation, Json, ResolvedSchema, TeamSchema, type_text

_PERHAPS = 0.8
"""Weight of a name that may mean a fact, relative to one that certainly does."""


class MissingField(NamedTuple):
    """A required field that no rule fits."""

    field: str
    """Dotted path in the document."""
    type: str
    description: str


@dataclass(frozen=True)
class FilledValue:
    """A value for a part of the schema (or NOTHING), and its origin."""

    value: Any = NOTHING
    read: frozenset[str] = frozenset()
    """Keys of the facts used that scripts read."""
    facts: int = 0
    """The number of facts used."""
    missing: tuple[MissingField, ...] = ()
    learnt: tuple[str, ...] = ()
    """Dotted paths of values copied from neighbouring documents."""

    @property
    def rank(self) -> tuple[int, int, int]:
        """Orders alternatives: nothing missing first, then facts that scripts read, then any facts."""
        return (-len(self.missing), len(self.read), self.facts)


def fill(
    schema: TeamSchema,
    facts: FactRecord,
    observed: NeighbourConfigs,
    answers: Mapping[str, Any],
    refused: frozenset[str] = frozenset(),
) -> FilledValue:
    """Builds a document that fits the schema.

    Args:
        answers: A person's values, by dotted path.
        refused: Dotted paths whose rule-based value the class rejected; only answers and defaults are used there.
    """
    return _Filler(schema, observed, answers, refused).object(schema.top, (facts,), ConfigLocation())


@dataclass(frozen=True)
class _Filler:
    schema: TeamSchema
    observed: NeighbourConfigs
    answers: Mapping[str, Any]
    refused: frozenset[str] = frozenset()

    def object(self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation) -> FilledValue:
        """Builds a mapping with the model's fields; the innermost record of `scope` comes first."""
        required = set(of.schema.get("required", ()))
        parts: dict[str, FilledValue] = {}
        for attribute, inner in of.schema.get("properties", {}).items():
            key = self.schema.key(of.model, attribute)
            parts[key] = self.field(inner, scope, spot.field(key), attribute in required, attribute)
        order = self.observed.order(spot.pattern)
        keys = sorted(parts, key=lambda key: order.index(key) if key in order else len(order))
        value = {key: parts[key].value for key in keys if parts[key].value is not NOTHING}
        return _merged([parts[key] for key in keys], value)

    def field(
        self, of: Json, scope: tuple[FactRecord, ...], spot: ConfigLocation, required: bool, attribute: str
    ) -> FilledValue:
        """Fills a field, in this order: an answer, certain facts, a team constant, likely facts, the default.

        Inside an item, likely facts precede a value that only one neighbour has, because it describes its own item.
        The same holds for facts that fill a collection of which only one neighbour has items.
        """
        if spot.dotted in self.answers:
            return FilledValue(self.answers[spot.dotted])
        options, nullable = self.schema.options(of)
        if not required and not self.observed.values(spot.pattern):
            options = [option for option in options if self._has_own_section(option, scope, spot, attribute)]
        if spot.dotted in self.refused:
            return FilledValue() if not required else self._lacking(of, spot)
        certain = self._best(options, scope, spot, attribute, STRONG)
        if certain is not None and not certain.missing and self._wanted(certain, of, spot, required):
            return certain
        written = required or self.observed.always(spot.pattern)
        likely = self._best(options, scope, spot, attribute, WEAK) if written else None
        suits = likely is not None and not likely.missing
        least = 1 if required and not (suits and ANY in spot.pattern) else 2
        absent = _known_absent(scope, spot, attribute)
        constant = NOTHING if absent else self.observed.constant(spot.pattern, least)
        if constant is not NOTHING and written:
            shared = not isinstance(constant, list | dict) or self.observed.constant(spot.pattern) is not NOTHING
            own = None if shared else self._required(options, scope, spot)
            return own if own and not own.missing else FilledValue(constant, learnt=(spot.dotted,))
        if likely is not None and suits:
            return likely
        if not required:
            return FilledValue()
        partial = certain or likely
        if partial is not None and partial.facts and partial.missing:
            return partial
        if nullable:
            return FilledValue(None)
        found = self._required(options, scope, spot)
        return found or self._lacking(of, spot)

    def _lacking(self, of: Json, spot: ConfigLocation) -> FilledValue:
        return FilledValue(
            missing=(MissingField(spot.dotted, type_text(self.schema, of), str(of.get("description", ""))),)
        )

    def _has_own_section(
        self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str
    ) -> bool:
        """Whether a model has its own section of facts; this also stops recursion into recursive classes."""
        return not of.schema.get("properties") or _section_of(scope[0], attribute, spot, STRONG) is not None

    def _wanted(self, filled: FilledValue, of: Json, spot: ConfigLocation, required: bool) -> bool:
        """Whether to write a field: if required, if scripts or neighbours use it, or if it differs from the default."""
        return (
            required
            or bool(filled.read)
            or self.observed.always(spot.pattern)
            or (filled.value != of.get("default", NOTHING) and not (filled.value in ([], {}) and "default" not in of))
        )

    def _best(
        self,
        options: list[ResolvedSchema],
        scope: tuple[FactRecord, ...],
        spot: ConfigLocation,
        attribute: str,
        least: float,
    ) -> FilledValue | None:
        found = [
            filled for option in options if (filled := self._option(option, scope, spot, attribute, least)) is not None
        ]
        return max(found, key=lambda filled: filled.rank, default=None)

    def _option(
        self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str, least: float
    ) -> FilledValue | None:
        kind = of.schema.get("type")
        if of.model in self.schema.roots:
            inner = ResolvedSchema({k: v for k, v in of.schema.items() if k != "title"}, "")
            return self._option(inner, scope, spot, attribute, least)
        if kind == "object" and of.schema.get("properties"):
            return self._section(of, scope, spot, attribute, least)
        if kind == "object":
            return self._collection(of, scope, spot, attribute, least)
        if kind == "array":
            return self._collection(of, scope, spot, attribute, least) or self._scalar(
                of, scope, spot, attribute, least
            )
        return self._scalar(of, scope, spot, attribute, least)

    def _section(
        self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str, least: float
    ) -> FilledValue | None:
        """Fills a nested model from the section of facts with its name, or from the enclosing record."""
        section = _section_of(scope[0], attribute, spot, least)
        inner = (section, *scope) if section is not None else scope
        filled = self.object(of, inner, spot)
        return filled if section is not None or filled.facts else None

    def _collection(
        self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str, least: float
    ) -> FilledValue | None:
        named = _named(scope[0].collections, attribute, spot, least)
        if named is None:
            return None
        every = [c for c in scope[0].collections if best_similarity(attribute, c.names, spot.context) >= STRONG] or [
            named
        ]
        found = [filled for collection in every if (filled := self._items(of, collection, scope, spot)) is not None]
        return max(found, key=lambda filled: filled.rank, default=None)

    def _items(
        self, of: ResolvedSchema, collection: FactCollection, scope: tuple[FactRecord, ...], spot: ConfigLocation
    ) -> FilledValue | None:
        """Fills all items of a collection, as a list or as a mapping by key."""
        is_list = of.schema.get("type") == "array"
        inner = of.schema.get("items" if is_list else "additionalProperties", {})
        parts: list[FilledValue] = []
        for index, (key, record) in enumerate(collection.items.items()):
            filled = self._item(
                inner if isinstance(inner, dict) else {},
                collection,
                key,
                (record, *scope),
                spot.item(index if is_list else key),
            )
            if filled is None:
                return None
            parts.append(replace(filled, read=filled.read - {f"{NAME}{key}"}))
        values = [part.value for part in parts]
        return _merged(parts, values if is_list else dict(zip(collection.items, values, strict=True)))

    def _item(
        self, of: Json, collection: FactCollection, key: str, scope: tuple[FactRecord, ...], spot: ConfigLocation
    ) -> FilledValue | None:
        options, _ = self.schema.options(of)
        models = [option for option in options if option.schema.get("properties")]
        if models:
            return max((self.object(option, scope, spot) for option in models), key=lambda filled: filled.rank)
        for option in options:
            for fact in self._representatives(collection, key, scope[0], spot):
                value = convert(fact.value, option.schema, spot.name, self.observed.values(spot.pattern))
                if value is not NOTHING and value is not None:
                    return _filled(fact, value)
        return None

    def _representatives(
        self, collection: FactCollection, key: str, record: FactRecord, spot: ConfigLocation
    ) -> list[ConfigFact]:
        """The facts that represent an item as a single value; in a list its name or its location."""
        stands = [fact for name in collection.stands_for if (fact := record.fact(name)) is not None]
        if isinstance(spot.keys[-1], str):
            return stands
        seen = [str(value) for value in self.observed.values(spot.pattern)]
        located = (
            any("/" in value or "." in value for value in seen)
            if seen
            else best_similarity(spot.name, ("paths", "locations", "uris", "source_paths", "input_paths")) >= STRONG
        )
        return stands if located else [ConfigFact(key, ("name",))]

    def _scalar(
        self, of: ResolvedSchema, scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str, least: float
    ) -> FilledValue | None:
        if "const" in of.schema:
            return FilledValue(of.schema["const"])
        seen = self.observed.values(spot.pattern)
        known = seen or [of.schema.get("default")]
        own = next((fact for fact in scope[-1].facts if fact.key == VIEW), None)
        if own is not None and self.observed.names_itself(spot.pattern):
            return _filled(own, own.value)
        for depth, record in enumerate(scope):
            bar = least if depth == 0 else max(least, STRONG)
            ranked = sorted(
                (
                    (found, -index, fact)
                    for index, fact in enumerate(record.facts)
                    if (found := _score_beside(known, fact, attribute, spot)) >= bar
                ),
                key=lambda item: item[:2],
                reverse=True,
            )
            for _, _, fact in ranked:
                if fact.value is None:
                    continue
                value = convert(fact.value, of.schema, attribute, seen)
                if value is not NOTHING:
                    return _filled(fact, value)
            if ranked:
                return None
        return None

    def _required(
        self, options: list[ResolvedSchema], scope: tuple[FactRecord, ...], spot: ConfigLocation
    ) -> FilledValue | None:
        """Fills a required part with an unusual name from the only collection or section that leaves no gap."""
        found: list[FilledValue] = []
        for option in options:
            if option.schema.get("properties"):
                inner = self.object(option, scope, spot)
                if inner.missing:
                    return inner
                found.append(inner)
            elif option.schema.get("type") in ("array", "object"):
                kind = option.schema.get("items") or option.schema.get("additionalProperties") or {}
                if any(inner.schema.get("properties") for inner in self.schema.options(kind)[0]):
                    found += [
                        filled
                        for collection in scope[0].collections
                        if (filled := self._items(option, collection, scope, spot)) is not None and filled.facts
                    ]
        whole = sorted((filled for filled in found if not filled.missing), key=lambda filled: filled.rank)
        return whole[-1] if whole and (len(whole) == 1 or whole[-1].rank > whole[-2].rank) else None


def _known_absent(scope: tuple[FactRecord, ...], spot: ConfigLocation, attribute: str) -> bool:
    """Whether an item is known to lack this value; values of other items are then not used."""
    return len(scope) > 1 and any(
        fact.value is None and best_similarity(attribute, fact.names, spot.context) >= STRONG for fact in scope[0].facts
    )


def _score_beside(known: list[Any], fact: ConfigFact, attribute: str, spot: ConfigLocation) -> float:
    """The score of a fact for a field; if other documents hold file formats there, only formats score."""
    if not any(value in FORMATS for value in known):
        return score(fact, attribute, spot)
    return best_similarity(attribute, (*fact.names, *fact.perhaps), spot.context) if fact.value in FORMATS else 0.0


def score(fact: ConfigFact, attribute: str, spot: ConfigLocation) -> float:
    """How certainly a field means a fact, from 0 to 1."""
    return max(
        best_similarity(attribute, fact.names, spot.context),
        _PERHAPS * best_similarity(attribute, fact.perhaps, spot.context),
    )


def _named(known: tuple[Any, ...], attribute: str, spot: ConfigLocation, least: float) -> Any:
    """The section or collection with the field's name."""
    scored = [(best_similarity(attribute, item.names, spot.context), -index, item) for index, item in enumerate(known)]
    best = max(scored, key=lambda item: item[:2], default=None)
    return best[2] if best is not None and best[0] >= least else None


def _section_of(record: FactRecord, attribute: str, spot: ConfigLocation, least: float) -> FactRecord | None:
    """The section with the field's name, or the collection with that name, viewed as a section."""
    section: FactRecord | None = _named(record.sections, attribute, spot, least)
    if section is not None:
        return section
    collection = _named(record.collections, attribute, spot, least)
    return None if collection is None else _as_section(collection)


def _as_section(collection: FactCollection) -> FactRecord:
    """Views a collection as a section: each item becomes a section, and its main fact is named after its key."""
    facts = [
        ConfigFact(fact.value, (key,), key=fact.key)
        for key, record in collection.items.items()
        if (fact := record.fact(collection.stands_for[0])) is not None
    ]
    return FactRecord(
        collection.names,
        tuple(facts),
        tuple(replace(record, names=(key,)) for key, record in collection.items.items()),
    )


def _filled(fact: ConfigFact, value: Any) -> FilledValue:
    return FilledValue(value, frozenset({fact.key} - {""}), 1)


def _merged(parts: list[FilledValue], value: Any) -> FilledValue:
    return FilledValue(
        value,
        frozenset[str]().union(*(part.read for part in parts)),
        sum(part.facts for part in parts),
        tuple(m for part in parts for m in part.missing),
        tuple(path for part in parts for path in part.learnt),
    )
