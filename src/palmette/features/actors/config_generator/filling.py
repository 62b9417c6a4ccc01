"""Fills a schema with facts, matched by name and type, the team's constants, and a person's answers.

Fields that no rule fits stay missing. Nothing is invented.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from palmette.features.actors.config_generator.convert import STRONG, WEAK, best_similarity, convert
from palmette.features.actors.config_generator.facts import FORMATS, NAME, VIEW, ConfigFact, FactCollection, FactRecord
from palmette.features.actors.config_generator.neighbour_configs import ANY, NOTHING, NeighbourConfigs
from palmette.features.actors.config_generator.schema import ConfigLocation, Json, ResolvedSchema, TeamSchema, type_text

_PERHAPS = 0.8
"""Weight of a name that may mean a fact, relative to one that certainly does."""


_Named = TypeVar("_Named", FactRecord, FactCollection)


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
    return _Filler(schema, observed, answers, refused).object(schema.top, ConfigLocation(), (facts,))


class _Hole(NamedTuple):
    """A place in the document, and the facts that may fill it."""

    spot: ConfigLocation
    attribute: str
    scope: tuple[FactRecord, ...]
    """The innermost record comes first."""

    def similarity(self, names: tuple[str, ...]) -> float:
        return best_similarity(self.attribute, names, self.spot.context)

    def named(self, known: tuple[_Named, ...], least: float) -> _Named | None:
        """The section or collection with the field's name."""
        best = max(known, key=lambda item: self.similarity(item.names), default=None)
        return best if best is not None and self.similarity(best.names) >= least else None

    def section(self, least: float) -> FactRecord | None:
        """The section with the field's name, or the collection with that name, viewed as a section."""
        record = self.scope[0]
        collection = self.named(record.collections, least)
        return self.named(record.sections, least) or (None if collection is None else _as_section(collection))

    @property
    def is_known_absent(self) -> bool:
        """Whether an item is known to lack this value; values of other items are then not used."""
        facts = self.scope[0].facts if len(self.scope) > 1 else ()
        return any(fact.value is None and self.similarity(fact.names) >= STRONG for fact in facts)


@dataclass(frozen=True)
class _Filler:
    schema: TeamSchema
    observed: NeighbourConfigs
    answers: Mapping[str, Any]
    refused: frozenset[str] = frozenset()

    def object(self, of: ResolvedSchema, spot: ConfigLocation, scope: tuple[FactRecord, ...]) -> FilledValue:
        """Builds a mapping with the model's fields."""
        required = set(of.schema.get("required", ()))
        parts: dict[str, FilledValue] = {}
        for attribute, inner in of.schema.get("properties", {}).items():
            key = self.schema.key(of.model, attribute)
            parts[key] = self.field(inner, _Hole(spot.field(key), attribute, scope), attribute in required)
        order = self.observed.order(spot.pattern)
        keys = sorted(parts, key=lambda key: order.index(key) if key in order else len(order))
        value = {key: parts[key].value for key in keys if parts[key].value is not NOTHING}
        return _merged([parts[key] for key in keys], value)

    def field(self, of: Json, hole: _Hole, required: bool) -> FilledValue:
        """Fills a field, in this order: an answer, certain facts, a team constant, likely facts, the default.

        Inside an item, likely facts precede a value that only one neighbour has, because it describes its own item.
        The same holds for facts that fill a collection of which only one neighbour has items.
        """
        spot = hole.spot
        if spot.dotted in self.answers:
            return FilledValue(self.answers[spot.dotted])
        options, nullable = self.schema.options(of)
        if not required and not self.observed.values(spot.pattern):
            # A model without its own section of facts is left out, which also ends the recursion of a recursive class.
            options = [one for one in options if not one.schema.get("properties") or hole.section(STRONG) is not None]
        lacking = FilledValue(
            missing=(MissingField(spot.dotted, type_text(self.schema, of), str(of.get("description", ""))),)
        )
        if spot.dotted in self.refused:
            return lacking if required else FilledValue()
        certain = self._best(options, hole, STRONG)
        if certain is not None and not certain.missing and self._wanted(certain, of, spot, required):
            return certain
        written = required or self.observed.always(spot.pattern)
        likely = self._best(options, hole, WEAK) if written else None
        suits = likely is not None and not likely.missing
        least = 1 if required and not (suits and ANY in spot.pattern) else 2
        constant = NOTHING if hole.is_known_absent else self.observed.constant(spot.pattern, least)
        if constant is not NOTHING and written:
            shared = not isinstance(constant, list | dict) or self.observed.constant(spot.pattern) is not NOTHING
            own = None if shared else self._required(options, hole)
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
        return self._required(options, hole) or lacking

    def _wanted(self, filled: FilledValue, of: Json, spot: ConfigLocation, required: bool) -> bool:
        """Whether to write a field: if required, if scripts or neighbours use it, or if it differs from the default."""
        return (
            required
            or bool(filled.read)
            or self.observed.always(spot.pattern)
            or (filled.value != of.get("default", NOTHING) and not (filled.value in ([], {}) and "default" not in of))
        )

    def _best(self, options: list[ResolvedSchema], hole: _Hole, least: float) -> FilledValue | None:
        found = [filled for option in options if (filled := self._option(option, hole, least)) is not None]
        return max(found, key=lambda filled: filled.rank, default=None)

    def _option(self, of: ResolvedSchema, hole: _Hole, least: float) -> FilledValue | None:
        kind = of.schema.get("type")
        if of.model in self.schema.roots:
            inner = ResolvedSchema({k: v for k, v in of.schema.items() if k != "title"}, "")
            return self._option(inner, hole, least)
        if kind == "object" and of.schema.get("properties"):
            section = hole.section(least)
            scope = (section, *hole.scope) if section is not None else hole.scope
            filled = self.object(of, hole.spot, scope)
            return filled if section is not None or filled.facts else None
        if kind == "object":
            return self._collection(of, hole, least)
        if kind == "array":
            return self._collection(of, hole, least) or self._scalar(of, hole, least)
        return self._scalar(of, hole, least)

    def _collection(self, of: ResolvedSchema, hole: _Hole, least: float) -> FilledValue | None:
        named = hole.named(hole.scope[0].collections, least)
        if named is None:
            return None
        every = [one for one in hole.scope[0].collections if hole.similarity(one.names) >= STRONG] or [named]
        found = [filled for one in every if (filled := self._items(of, one, hole)) is not None]
        return max(found, key=lambda filled: filled.rank, default=None)

    def _items(self, of: ResolvedSchema, collection: FactCollection, hole: _Hole) -> FilledValue | None:
        """Fills all items of a collection, as a list or as a mapping by key."""
        is_list = of.schema.get("type") == "array"
        inner = of.schema.get("items" if is_list else "additionalProperties", {})
        parts: list[FilledValue] = []
        for index, (key, record) in enumerate(collection.items.items()):
            spot = hole.spot.item(index if is_list else key)
            options, _ = self.schema.options(inner if isinstance(inner, dict) else {})
            filled = self._item(
                options, self._representatives(collection, key, record, spot), spot, (record, *hole.scope)
            )
            if filled is None:
                return None
            parts.append(replace(filled, read=filled.read - {f"{NAME}{key}"}))
        values = [part.value for part in parts]
        return _merged(parts, values if is_list else dict(zip(collection.items, values, strict=True)))

    def _item(
        self,
        options: list[ResolvedSchema],
        facts: list[ConfigFact],
        spot: ConfigLocation,
        scope: tuple[FactRecord, ...],
    ) -> FilledValue | None:
        models = [option for option in options if option.schema.get("properties")]
        if models:
            return max((self.object(option, spot, scope) for option in models), key=lambda filled: filled.rank)
        for option in options:
            for fact in facts:
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

    def _scalar(self, of: ResolvedSchema, hole: _Hole, least: float) -> FilledValue | None:
        if "const" in of.schema:
            return FilledValue(of.schema["const"])
        pattern = hole.spot.pattern
        seen = self.observed.values(pattern)
        formats = any(value in FORMATS for value in seen or [of.schema.get("default")])
        own = next((fact for fact in hole.scope[-1].facts if fact.key == VIEW), None)
        if own is not None and self.observed.names_itself(pattern):
            return _filled(own, own.value)
        for depth, record in enumerate(hole.scope):
            bar = least if depth == 0 else max(least, STRONG)
            scored = [(_score_beside(formats, fact, hole), fact) for fact in record.facts]
            ranked = sorted((item for item in scored if item[0] >= bar), key=lambda item: -item[0])
            for _, fact in ranked:
                value = NOTHING if fact.value is None else convert(fact.value, of.schema, hole.attribute, seen)
                if value is not NOTHING:
                    return _filled(fact, value)
            if ranked:
                return None
        return None

    def _required(self, options: list[ResolvedSchema], hole: _Hole) -> FilledValue | None:
        """Fills a required part with an unusual name from the only collection or section that leaves no gap."""
        found: list[FilledValue] = []
        for option in options:
            if option.schema.get("properties"):
                inner = self.object(option, hole.spot, hole.scope)
                if inner.missing:
                    return inner
                found.append(inner)
            elif option.schema.get("type") in ("array", "object"):
                kind = option.schema.get("items") or option.schema.get("additionalProperties") or {}
                if any(inner.schema.get("properties") for inner in self.schema.options(kind)[0]):
                    filled = (self._items(option, one, hole) for one in hole.scope[0].collections)
                    found += [one for one in filled if one is not None and one.facts]
        whole = sorted((filled for filled in found if not filled.missing), key=lambda filled: filled.rank)
        return whole[-1] if whole and (len(whole) == 1 or whole[-1].rank > whole[-2].rank) else None


def _score_beside(formats: bool, fact: ConfigFact, hole: _Hole) -> float:
    """The score of a fact for a field; if other documents hold file formats there, only formats score."""
    if not formats:
        return score(fact, hole.attribute, hole.spot)
    return hole.similarity((*fact.names, *fact.perhaps)) if fact.value in FORMATS else 0.0


def score(fact: ConfigFact, attribute: str, spot: ConfigLocation) -> float:
    """How certainly a field means a fact, from 0 to 1."""
    return max(
        best_similarity(attribute, fact.names, spot.context),
        _PERHAPS * best_similarity(attribute, fact.perhaps, spot.context),
    )


def _as_section(collection: FactCollection) -> FactRecord:
    """Views a collection as a section: each item becomes a section, and its main fact is named after its key."""
    facts = [
        ConfigFact(fact.value, (key,), key=fact.key)
        for key, record in collection.items.items()
        if (fact := record.fact(collection.stands_for[0])) is not None
    ]
    return FactRecord(
        collection.names, tuple(facts), tuple(replace(record, names=(key,)) for key, record in collection.items.items())
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
