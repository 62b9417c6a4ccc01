"""Patterns shared by neighbouring configurations: constants, order of keys, spellings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Self

import yaml

from palmette.engine.actor import TextFile
from palmette.features.team_document import parse_text

Pattern = tuple[str, ...]
"""Keys from the root of a document; `*` matches every item of a list or mapping."""

ANY: Final = "*"
NOTHING: Final = object()
"""Marks a missing value where None would be a value."""


@dataclass(frozen=True)
class NeighbourConfigs:
    """The parsed neighbouring documents."""

    documents: tuple[Any, ...] = ()
    names: tuple[frozenset[str], ...] = ()
    """For each document, the names of its file and folder. A value that repeats one refers to the view itself."""

    @classmethod
    def read(cls, files: Sequence[TextFile]) -> Self:
        found, names = [], []
        for file in files:
            try:
                document = parse_text(file.path, file.text)
            except yaml.YAMLError:
                continue
            if isinstance(document, dict):
                place = PurePosixPath(file.path)
                found.append(document)
                names.append(frozenset({place.stem, place.parent.name} - {""}))
        return cls(tuple(found), tuple(names))

    def values(self, pattern: Pattern) -> list[Any]:
        """All values at `pattern` in all documents."""
        return [value for document in self.documents for value in _at(document, pattern) if value is not NOTHING]

    def names_itself(self, pattern: Pattern) -> bool:
        """Whether every document has the name of its own file or folder at `pattern`."""
        pairs = zip(self.documents, self.names, strict=True)
        found = [(value, names) for document, names in pairs for value in _at(document, pattern)]
        named = all(isinstance(value, str) and value in names for value, names in found)
        return named and bool(found) and ANY not in pattern

    def always(self, pattern: Pattern) -> bool:
        """Whether the key is present in every document that has its parent."""
        found = [value for document in self.documents for value in _at(document, pattern)]
        return bool(found) and all(value is not NOTHING for value in found)

    def constant(self, pattern: Pattern, least: int = 2) -> Any:
        """The value that all documents share, if at least `least` have it; else NOTHING."""
        seen = [list(_at(document, pattern)) for document in self.documents]
        flat = [value for values in seen for value in values]
        if len([values for values in seen if values]) < least or not flat or any(v is NOTHING for v in flat):
            return NOTHING
        if len(self.documents) == 1 and any(name in str(flat[0]) for name in self.names[0]):
            return NOTHING
        return flat[0] if all(value == flat[0] for value in flat) else NOTHING

    def order(self, pattern: Pattern) -> list[str]:
        """Keys of the mappings at `pattern`, in the order that neighbours write them."""
        keys: list[str] = []
        for value in sorted(self.values(pattern), key=lambda v: -len(v) if isinstance(v, dict) else 0):
            for key in value if isinstance(value, dict) else ():
                if key not in keys:
                    keys.append(str(key))
        return keys


def _at(value: Any, pattern: Pattern) -> Iterator[Any]:
    """Values at `pattern`, with NOTHING where the last key is absent."""
    if not pattern:
        yield value
        return
    head, rest = pattern[0], pattern[1:]
    if head == ANY:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for item in items:
            yield from _at(item, rest)
    elif isinstance(value, dict):
        if head in value:
            yield from _at(value[head], rest)
        elif not rest:
            yield NOTHING
