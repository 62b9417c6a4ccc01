"""The team's configuration class as data: JSON Schema by attribute, keys of documents, and locations of values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

from palmette.features.actors.config_generator.neighbour_configs import ANY, Pattern
from palmette.features.pyspark.code import quoted

Json = Mapping[str, Any]


class ResolvedSchema(NamedTuple):
    """A schema without references, and the name of the model that it describes (empty for other types)."""

    schema: Json
    model: str


@dataclass(frozen=True)
class TeamSchema:
    """The structure that the team's configurations must have."""

    class_name: str
    """`module:Class`; empty if the team has no class and scripts read plain documents."""
    schema: Json
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By model: attributes and their keys, where they differ."""
    roots: Collection[str] = ()
    """Models that wrap a single value in the attribute `root`."""
    mappings: Collection[str] = ()
    """Models whose values are read by key rather than by attribute."""
    built_by: Literal["model_validate", "keywords", "type_adapter"] = "model_validate"
    """How to create an object of the class from a document."""

    @property
    def top(self) -> ResolvedSchema:
        resolved = self.resolve(self.schema)
        return resolved if resolved.model else ResolvedSchema(resolved.schema, self.class_name.rpartition(":")[2])

    def resolve(self, schema: Json) -> ResolvedSchema:
        """Follows `$ref` and a single `allOf`, keeping siblings of the reference such as a default."""
        model = ""
        while True:
            reference = schema.get("$ref")
            if reference is None and len(schema.get("allOf", ())) == 1:
                reference = schema["allOf"][0].get("$ref")
            if not isinstance(reference, str):
                return ResolvedSchema(schema, model)
            model = reference.rpartition("/")[2]
            beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            schema = {**self.schema.get("$defs", {}).get(model, {}), **beside}

    def options(self, schema: Json) -> tuple[list[ResolvedSchema], bool]:
        """The alternatives of a field, and whether it accepts null."""
        resolved = self.resolve(schema)
        branches = resolved.schema.get("anyOf") or resolved.schema.get("oneOf")
        if not branches:
            return [resolved], resolved.schema.get("type") == "null"
        found: list[ResolvedSchema] = []
        nullable = False
        for branch in branches:
            inner, inner_nullable = self.options(branch)
            nullable |= inner_nullable
            found += [option for option in inner if option.schema.get("type") != "null"]
        return found, nullable

    def key(self, model: str, attribute: str) -> str:
        return self.aliases.get(model, {}).get(attribute, attribute)

    def access(self, model: str, owner: str, attribute: str) -> str:
        """The expression that reads a field of `owner`, which is itself an expression."""
        by_key = model in self.mappings or not self.class_name
        return f"{owner}[{quoted(attribute)}]" if by_key else f"{owner}.{attribute}"


def type_text(schema: TeamSchema, of: Json, within: tuple[str, ...] = ()) -> str:
    """A readable description of a field's type, for messages: `one of 'gold', 'silver'`, `list of string`.

    A type `within` itself is described by its name.
    """
    options, nullable = schema.options(of)
    words = [_option_text(schema, option, within) for option in options] + (["null"] if nullable else [])
    return " or ".join(dict.fromkeys(words)) or "anything"


def _option_text(schema: TeamSchema, option: ResolvedSchema, within: tuple[str, ...]) -> str:
    if option.model and option.model in within:
        return option.model
    if "const" in option.schema:
        return repr(option.schema["const"])
    if "enum" in option.schema:
        return "one of " + ", ".join(repr(member) for member in option.schema["enum"])
    if option.schema.get("type") == "array":
        return f"list of {type_text(schema, option.schema.get('items', {}), (*within, option.model))}"
    if option.schema.get("type") == "object":
        return option.model or "mapping"
    pattern = option.schema.get("pattern")
    return str(option.schema.get("type", "anything")) + (f" matching {pattern!r}" if pattern else "")


MADE_OF_TEXT = frozenset({"path", "file-path", "directory-path", "uri"})
"""Schema formats of strings that objects hold as other types: Pydantic's paths and URLs."""


@dataclass(frozen=True)
class ConfigLocation:
    """The location of a value in the document, in neighbouring documents, and in the parsed object."""

    keys: tuple[str | int, ...] = ()
    pattern: Pattern = ()
    access: str = "config"
    is_text: bool = True
    """Whether the object holds the document's value unchanged, rather than a path or URL built from it."""

    @property
    def code(self) -> str:
        """The expression that scripts read it by. Paths become strings, because Spark does not accept path objects."""
        return self.access if self.is_text else f"str({self.access})"

    @property
    def name(self) -> str:
        return next((key for key in reversed(self.keys) if isinstance(key, str)), "")

    @property
    def dotted(self) -> str:
        return ".".join(str(key) for key in self.keys)

    @property
    def context(self) -> tuple[str, ...]:
        """Names of the enclosing sections."""
        return tuple(key for key in self.keys[:-1] if isinstance(key, str))

    def field(self, key: str, access: str = "") -> Self:
        return type(self)((*self.keys, key), (*self.pattern, key), access)

    def item(self, key: str | int) -> Self:
        index = quoted(key) if isinstance(key, str) else str(key)
        return type(self)((*self.keys, key), (*self.pattern, ANY), f"{self.access}[{index}]")
