"""Matches names of configuration fields with usual names of facts, and converts facts to a schema's types."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from palmette.documents import Model, parse_document, read_text
from palmette.features.actors.config_generator.neighbour_configs import NOTHING
from palmette.features.spec.words_names import singular

Names = Annotated[tuple[str, ...], BeforeValidator(str.split)]


class FactNames(Model):
    """The usual names of a fact."""

    names: Names = ()
    perhaps: Names = ()


class TeamVocabulary(Model):
    """What teams call things in their configurations."""

    facts: Mapping[str, Mapping[str, FactNames]]
    """By record and fact."""
    abbreviations: Mapping[str, str]
    types: Mapping[str, Names]
    """Other names of Spark types, closest first."""


VOCABULARY: TeamVocabulary = parse_document(
    read_text(Path(__file__).with_name("facts.yaml")), TeamVocabulary, "facts.yaml"
)

STRONG = 0.9
"""The minimum score at which a name identifies the content of a field."""
WEAK = 0.6
"""The minimum score at which a name may identify the content, if nothing contradicts it."""

_NOISE = frozenset({"column", "field", "value", "the", "of", "list", "config", "spec", "def", "definition", "settings"})


def tokens(name: str) -> tuple[str, ...]:
    """Words of a snake-, kebab- or camel-case name, in the singular and without abbreviations.

    >>> tokens("eventTimeCols")
    ('event', 'time', 'column')
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    words = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
    return tuple(singular(VOCABULARY.abbreviations.get(word, word)) for word in words)


def similarity(name: str, known: str, context: Iterable[str] = ()) -> float:
    """Similarity of a field's name to a known name, from 0 to 1; `context` has the names of the enclosing sections.

    >>> similarity("eventTimeColumn", "event_time")
    0.95
    """
    left, right = tokens(name), tokens(known)
    if left == right or "".join(left) == "".join(right):
        return 1.0
    ignored = _NOISE | {word for item in context for word in tokens(item)}
    left_bare, right_bare = (tuple(word for word in side if word not in ignored) for side in (left, right))
    if left_bare and left_bare == right_bare:
        return 0.95
    if left_bare and set(left_bare) == set(right_bare):
        return STRONG
    common, union = set(left_bare) & set(right_bare), set(left_bare) | set(right_bare)
    return 0.85 * len(common) / len(union) if union else 0.0


def best_similarity(name: str, known: Sequence[str], context: Iterable[str] = ()) -> float:
    """The highest similarity to any of the names; earlier names win ties by a small margin."""
    context = tuple(context)
    return max((similarity(name, item, context) - 0.001 * index for index, item in enumerate(known)), default=0.0)


Json = Mapping[str, Any]


def spellings(value: str) -> tuple[str, ...]:
    """Ways to write a value: itself and, for a Spark type, its names elsewhere.

    >>> spellings("bigint")[:3]
    ('bigint', 'long', 'int64')
    """
    base = _base(value)
    known = (base, *VOCABULARY.types[base]) if base in VOCABULARY.types else ()
    return tuple(dict.fromkeys((value, *known)))


def _base(value: str) -> str:
    """The type without its parameters."""
    return re.split(r"[(<]", value)[0]


def nearest_member(value: Any, members: Sequence[Any]) -> Any:
    """The enumeration member that means `value`; NOTHING if there is none.

    >>> nearest_member("bigint", ["INT64", "FLOAT64"])
    'INT64'
    """
    if value in members and not isinstance(value, bool):
        return value
    if isinstance(value, bool):
        return value if any(member is value for member in members) else NOTHING
    for spelling in spellings(str(value)):
        for member in members:
            if "".join(tokens(str(member))) == "".join(tokens(spelling)):
                return member
    return NOTHING


def convert(value: Any, schema: Json, name: str = "", seen: Sequence[Any] = ()) -> Any:
    """Converts `value` to the type of `schema` (without references); NOTHING if that is impossible.

    `name` gives the unit of a duration in whole units; `seen` are the values of neighbours at this location.
    """
    if "const" in schema:
        return schema["const"] if nearest_member(value, [schema["const"]]) is not NOTHING else NOTHING
    if isinstance(value, list) and schema.get("type") != "array":
        if len(value) != 1 or not schema.get("type"):
            return NOTHING if schema.get("type") else value
        value = value[0]
    if "enum" in schema:
        return nearest_member(value, schema["enum"])
    match schema.get("type"):
        case "string":
            return _text(value, schema, seen)
        case "integer" | "number":
            return _number(value, schema, name)
        case "boolean":
            return value if isinstance(value, bool) else NOTHING
        case "array":
            return _list(value, schema, name, seen)
        case None:
            return value
        case _:
            return NOTHING


def _text(value: Any, schema: Json, seen: Sequence[Any]) -> Any:
    if not isinstance(value, str):
        return NOTHING
    known = {item for item in seen if isinstance(item, str)}
    # If neighbours write Spark's own type names, take them literally: `double` does not then stand for a decimal.
    known_spellings = () if {_base(item) for item in known} <= {*VOCABULARY.types} else spellings(value)
    text = next((spelling for spelling in known_spellings if spelling in known), value)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _matches(pattern, text):
        return NOTHING
    if schema.get("format") in ("date", "date-time") and not _is_time(text):
        return NOTHING
    if len(text) < schema.get("minLength", 0) or len(text) > schema.get("maxLength", 10**6):
        return NOTHING
    return text


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _number(value: Any, schema: Json, name: str) -> Any:
    if isinstance(value, str):
        value = _duration(value, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING
    if schema["type"] == "integer":
        if value != int(value):
            return NOTHING
        value = int(value)
    return value


def _duration(text: str, name: str) -> Any:
    """A window as a number in the unit of the field's name; in days if the name has no unit.

    >>> _duration("48h", "window_days")
    2
    """
    match = re.fullmatch(r"(\d+)([dhm])", text)
    if match is None:
        return NOTHING
    minutes = int(match[1]) * {"d": 1440, "h": 60, "m": 1}[match[2]]
    words = tokens(name)
    unit = 60 if "hour" in words else 1 if "minute" in words else 1 / 60 if "second" in words else 1440
    amount = minutes / unit
    return int(amount) if amount == int(amount) else NOTHING


def _list(value: Any, schema: Json, name: str, seen: Sequence[Any]) -> Any:
    items = schema.get("items", {})
    known = [item for values in seen if isinstance(values, list) for item in values]
    converted = [convert(item, items, name, known) for item in (value if isinstance(value, list) else [value])]
    if NOTHING in converted or len(converted) < schema.get("minItems", 0):
        return NOTHING
    return converted
