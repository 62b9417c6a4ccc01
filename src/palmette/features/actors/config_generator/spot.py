"""The places of a configuration: where a value stands in the document, and how scripts read it from the object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palmette.features.actors.config_generator.observed import ANY, Pattern
from palmette.features.actors.config_generator.schema import Json, quoted

MADE_OF_TEXT = frozenset({"path", "file-path", "directory-path", "uri"})
"""Formats of texts in a schema of which objects hold something else: Pydantic's paths and URLs."""


@dataclass(frozen=True)
class Spot:
    """Where a value goes: in the document, in the parsed object, and in the neighbours' documents."""

    keys: tuple[str | int, ...] = ()
    access: str = "config"
    pattern: Pattern = ()
    is_text: bool = True
    """Whether what the object holds there is a text (or no text at all), and not a path or a URL made of one."""

    @property
    def code(self) -> str:
        """The expression that scripts read it by; Spark takes no paths but as texts."""
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

    def item(self, key: str | int) -> Spot:
        index = quoted(key) if isinstance(key, str) else str(key)
        return Spot((*self.keys, key), f"{self.access}[{index}]", (*self.pattern, ANY))


def typed(spot: Spot, of: Json) -> Spot:
    """The place, as a value of this type has it."""
    return replace(spot, is_text=of.get("format") not in MADE_OF_TEXT)
