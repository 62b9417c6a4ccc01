"""The team's configuration class as data: its JSON Schema by attribute, and the keys used in documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palmette.features.artefacts import Construction

Json = Mapping[str, Any]


class Resolved(NamedTuple):
    """A schema without references, and the name of the model that it describes (empty for anything else)."""

    schema: Json
    model: str


@dataclass(frozen=True)
class TeamSchema:
    """What a document of the team's configuration must look like."""

    class_name: str
    """`module:Class`; empty when the team has no class and documents are read as they are."""
    schema: Json
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By model: attribute to key, where they differ."""
    roots: frozenset[str] = frozenset()
    """Models that wrap one value, which is their attribute `root`."""
    mappings: frozenset[str] = frozenset()
    """Models whose values are read by key instead of by attribute."""
    construction: Construction | None = None
    """How a document becomes an object of a class that is no Pydantic one."""

    @property
    def top(self) -> Resolved:
        resolved = self.resolve(self.schema)
        return resolved if resolved.model else Resolved(resolved.schema, self.class_name.rpartition(":")[2])

    def resolve(self, schema: Json) -> Resolved:
        """Follows `$ref` and a single `allOf`; what stands beside a reference (a default) stays."""
        model = ""
        while True:
            reference = schema.get("$ref")
            if reference is None and len(schema.get("allOf", ())) == 1:
                reference = schema["allOf"][0].get("$ref")
            if not isinstance(reference, str):
                return Resolved(schema, model)
            model = reference.rpartition("/")[2]
            beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            schema = {**self.schema.get("$defs", {}).get(model, {}), **beside}

    def options(self, schema: Json) -> tuple[list[Resolved], bool]:
        """The alternatives of a field, and whether null is one of them."""
        resolved = self.resolve(schema)
        branches = resolved.schema.get("anyOf") or resolved.schema.get("oneOf")
        if not branches:
            return [resolved], resolved.schema.get("type") == "null"
        found: list[Resolved] = []
        nullable = False
        for branch in branches:
            inner, inner_nullable = self.options(branch)
            nullable |= inner_nullable
            found += [option for option in inner if option.schema.get("type") != "null"]
        return found, nullable

    def key(self, model: str, attribute: str) -> str:
        return self.aliases.get(model, {}).get(attribute, attribute)

    def access(self, model: str, owner: str, attribute: str) -> str:
        """The expression that reads a field of `owner`, itself an expression."""
        by_key = model in self.mappings or not self.class_name
        return f"{owner}[{quoted(attribute)}]" if by_key else f"{owner}.{attribute}"


def quoted(text: str) -> str:
    """A string literal with double quotes, as formatters leave it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def type_text(schema: TeamSchema, of: Json) -> str:
    """A field's type in words, for messages: `one of 'gold', 'silver'`, `list of string`."""
    options, nullable = schema.options(of)
    words = [_option_text(schema, option) for option in options] + (["null"] if nullable else [])
    return " or ".join(dict.fromkeys(words)) or "anything"


def _option_text(schema: TeamSchema, option: Resolved) -> str:
    if "const" in option.schema:
        return repr(option.schema["const"])
    if "enum" in option.schema:
        return "one of " + ", ".join(repr(member) for member in option.schema["enum"])
    if option.schema.get("type") == "array":
        return f"list of {type_text(schema, option.schema.get('items', {}))}"
    if option.schema.get("type") == "object":
        return option.model or "mapping"
    pattern = option.schema.get("pattern")
    return str(option.schema.get("type", "anything")) + (f" matching {pattern!r}" if pattern else "")
