"""The kinds of columns. A kind is served by the encoders that are registered for it; nothing else knows it by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Literal

from palmette.engine.registry import create, names

Kind = Literal[
    "number", "category", "boolean", "datetime", "text", "image", "audio", "vector", "node", "edges", "identifier",
    "constant",
]  # fmt: skip
"""What the values of a column are. A constant column has one value, or none. A node is the key of a row in a graph,
edges are the keys of its neighbours."""

STRUCTURE: frozenset[Kind] = frozenset({"node", "edges"})
"""Kinds that connect rows: problems read them, and no encoder does."""

UNUSABLE: Mapping[Kind, str] = {
    "identifier": "every row has a different value",
    "constant": "every row has the same value",
}
"""Kinds that no model learns from, with the reason."""

Track = Literal["traditional", "neural", "pretrained", "autogluon"]
"""A family of learners with its own share of the training time."""


class FileKind:
    """A kind whose values are files, such as images: what it brings beside its encoders.

    A plug-in (entry points `palmette.kinds`). A cell of its columns is the path of a file; the bytes of the file are
    what generated code and the endpoint are given.
    """

    name: ClassVar[Kind]
    media: ClassVar[str]
    """How the media types of its files begin, e.g. `image/`."""
    suffixes: ClassVar[tuple[str, ...]]
    """That its files usually have; the content decides."""
    reader: ClassVar[str]
    """The function that reads a cell, in a module that is copied into the delivered package."""
    requires: ClassVar[tuple[str, ...]]
    """Modules that must be installed to read a file."""
    width: ClassVar[int]
    """Columns of numbers that one such column is worth, when costs are estimated."""
    most_bytes: ClassVar[int] = 20_000_000
    """Of a file that the endpoint takes."""

    def knows(self, head: bytes) -> bool:
        """Whether a file that begins so, by 16 bytes, is of this kind."""
        raise NotImplementedError

    def fingerprint(self, content: bytes) -> int:
        """64 bits in which files that are nearly alike differ little; 0 where the kind compares no files.

        Raises:
            ValueError: the file cannot be read; the message is the reason.
        """
        raise NotImplementedError

    def of_numbers(self, values: Sequence[object]) -> bytes:
        """A file made of numbers from 0 to 255, flat or nested.

        Raises:
            ValueError: they make none.
        """
        raise ValueError(f"numbers make no file of kind {self.name}")

    def examples(self) -> tuple[bytes, ...]:
        """Small files for tests and documentation, which show nothing of the data."""
        raise NotImplementedError

    def covered(self, content: bytes) -> tuple[bytes, ...]:
        """The file with one part after the other blank; nothing where the kind knows no parts."""
        return ()

    def shown(self, content: bytes) -> str:
        """A file as HTML without scripts, for the report."""
        raise NotImplementedError

    def marked(self, content: bytes, changes: Sequence[float]) -> str:
        """The same with marks on the parts of `covered`, by what each adds to an answer."""
        return self.shown(content)

    @property
    def lacking(self) -> str:
        """The first of the required modules that is not installed; empty where all are."""
        return next((one for one in self.requires if importlib.util.find_spec(one) is None), "")


@cache
def file_kinds() -> Mapping[str, FileKind]:
    """All registered kinds of files, by name."""
    return {name: create("kind", name) for name in names("kind")}


def file_kind(kind: str) -> FileKind | None:
    """The kind of files of this name; None for a kind whose values are no files."""
    return file_kinds().get(kind)
