"""The kinds of columns, how they are recognised, and cells that are files: what of them can be read, their contents.

Registered encoders turn each kind into features. In a table of samples, a cell that is a file is its path. Generated
code is given the bytes, a request a `data:` URL.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator

from palmette.documents import file_digest
from palmette.engine.registry import create, names
from palmette.errors import MachineError, did_you_mean
from palmette.problems import error_of

if TYPE_CHECKING:
    import pandas as pd

BUILT_IN = ("number", "category", "boolean", "datetime", "text", "node", "edges", "identifier", "constant")
"""Kinds whose values are in the table. A constant column has one value, or none. A node is the key of a row in a graph;
edges are the keys of its neighbours."""


def known_kind(name: str) -> str:
    """Returns the name of a kind; raises ValueError where neither it is built in nor files of it are registered."""
    known = (*BUILT_IN, *names("kind"))
    if name not in known:
        raise ValueError(f"{name!r} is not one of {', '.join(known)}.{did_you_mean(name, known)}")
    return name


Kind = Annotated[str, AfterValidator(known_kind)]
"""The kind of a column's values: a built-in one, or the name of a registered `FileKind`."""

STRUCTURE: frozenset[Kind] = frozenset({"node", "edges"})
"""Kinds that connect rows; problems read them, encoders do not."""

UNUSABLE: Mapping[Kind, str] = {
    "identifier": "nearly every row has a different value",
    "constant": "every row has the same value",
}
"""Kinds that no model learns from, with the reason."""

Track = Literal["traditional", "neural", "pretrained"]
"""A family of learners with its own share of the training time."""


class FileKind:
    """A kind of column whose values are files, such as images.

    A plug-in (entry points `palmette.kinds`). A cell holds the path of a file; generated code and the endpoint get the
    bytes of the file.
    """

    name: ClassVar[Kind]
    media: ClassVar[str]
    """Prefix of the media types of its files, e.g. `image/`."""
    suffixes: ClassVar[tuple[str, ...]]
    """Usual file suffixes; the content decides."""
    reader: ClassVar[str]
    """The function that reads a cell, in a module that is copied into the delivered package."""
    requires: ClassVar[tuple[str, ...]]
    """Modules that must be installed to read a file."""
    width: ClassVar[int]
    """Number of numeric columns that one such column counts as in cost estimates."""
    most_bytes: ClassVar[int] = 20_000_000
    """Largest file that the endpoint accepts."""

    def knows(self, head: bytes) -> bool:
        """Returns whether a file whose first 16 bytes are `head` is of this kind."""
        raise NotImplementedError

    def fingerprint(self, content: bytes) -> int:
        """Returns 64 bits that differ little between similar files; 0 if the kind does not compare files.

        Raises ValueError where the file cannot be read; the message is the reason.
        """
        raise NotImplementedError

    def of_numbers(self, values: Sequence[object]) -> bytes:
        """Makes a file from numbers from 0 to 255, flat or nested; raises ValueError where they do not make a file."""
        raise ValueError(f"numbers make no file of kind {self.name}")

    def examples(self) -> tuple[bytes, ...]:
        """Returns small files for tests and documentation that reveal nothing about the data."""
        raise NotImplementedError

    def covered(self, content: bytes) -> tuple[bytes, ...]:
        """Returns the file with one part blanked at a time; nothing if the kind has no parts."""
        return ()

    def shown(self, content: bytes) -> str:
        """Returns a file as HTML without scripts, for the report."""
        raise NotImplementedError

    def marked(self, content: bytes, changes: Sequence[float]) -> str:
        """Returns the HTML of `shown` with the parts of `covered` marked by their effect on the prediction."""
        return self.shown(content)


class TextFiles(FileKind):
    """Files of text. They are read at once: the cells of a column of kind `text` hold their contents."""

    name = "text"
    suffixes = (".txt", ".text", ".md")
    requires = ()

    def knows(self, head: bytes) -> bool:
        return False

    def fingerprint(self, content: bytes) -> int:
        if not content.strip(BLANK):
            raise ValueError("it has no text")
        return 0


TEXT_FILES = TextFiles()


@cache
def file_kinds() -> Mapping[str, FileKind]:
    """Returns all registered kinds of files, by name."""
    return {name: create("kind", name) for name in names("kind")}


@cache
def file_suffixes() -> tuple[str, ...]:
    """Returns the usual suffixes of files that cells of a table may name."""
    return tuple(suffix for kind in (*file_kinds().values(), TEXT_FILES) for suffix in kind.suffixes)


YES_AND_NO = (
    ("1", "0"), ("true", "false"), ("t", "f"), ("yes", "no"), ("y", "n"), ("on", "off"), ("ja", "nein"),
    ("oui", "non"), ("si", "no"), ("sí", "no"), ("wahr", "falsch"), ("vrai", "faux"),
)  # fmt: skip
"""Pairs of words for yes and no."""
TRUE = frozenset(yes for yes, _ in YES_AND_NO)
FALSE = frozenset(no for _, no in YES_AND_NO)
ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|key|nr|no|number|index|idx|row|rownames?|rowid|pk|instant)$|(?<=[a-z])(Id|ID|Key|Nr|No)$|"
    r"^(id|uuid|guid|index|key|instant)[_\W]|^[a-z]+id$|^(unnamed.*|column_1|)$",
    re.IGNORECASE,
)
BLANK = b"\0 \t\r\n\xef\xbb\xbf\xfe"  # bytes of an empty text, with marks of byte order
HEAD = 16  # bytes at the start of a file by which its kind is recognised
MOST_BYTES = 200_000_000  # of one file
FEWEST, SAMPLE = 10, 2000  # fewest rows for an identifier; rows that are inspected
TITLES = 20  # fewest distinct short titles that make a column text


def kind_of(column: pd.Series[Any], name: str, distinct: int | None = None) -> Kind:
    """Infers the kind of a column of typed values; its name matters only if the values leave it open."""
    from pandas.api import types

    present = column.dropna()
    distinct = present.nunique() if distinct is None else distinct
    if distinct == 0 or (distinct == 1 and len(present) == len(column)):
        return "constant"
    if types.is_bool_dtype(present.dtype):
        return "boolean"
    if types.is_datetime64_any_dtype(present.dtype):
        return "datetime"
    if types.is_numeric_dtype(present.dtype):
        different = distinct == len(present) >= FEWEST and bool((present % 1 == 0).all())
        return "identifier" if different and is_id_name(name) else "number"
    return _kind_of_words(present, distinct, name)


def is_id_name(name: str) -> bool:
    """Returns whether the name suggests a column of keys."""
    return bool(ID_NAME.search(name))


def _kind_of_words(present: pd.Series[Any], distinct: int, name: str) -> Kind:
    texts = [str(one) for one in present.iloc[:: max(1, len(present) // SAMPLE)]]
    if {text.casefold() for text in texts} <= TRUE | FALSE and distinct <= 2:
        return "boolean"
    words, length = (sum(map(measure, texts)) / len(texts) for measure in (lambda text: text.count(" ") + 1, len))
    share = distinct / len(present)
    if share > 0.95 and len(present) >= FEWEST and words < 1.5 and (is_id_name(name) or share > 0.99):
        digits = sum(any(sign.isdigit() for sign in text) for text in texts) / len(texts)
        if is_id_name(name) or digits > 0.9:
            return "identifier"
    # Sentences and titles differ from row to row; category names may be long, but repeat.
    sentences = (words >= 3 and length >= 15 and share > 0.5) or (words >= 6 and length > 40 and share > 0.2)
    lists = sum(text.lstrip()[:1] + text.rstrip()[-1:] == "[]" for text in texts) > 0.9 * len(texts)
    many = share > 0.5 or (words >= 3 and share > 0.2 and distinct >= 10 * TITLES)
    titles = (share > 0.9 and distinct >= FEWEST) or (many and distinct >= TITLES)
    return "text" if lists or sentences or (words >= 2 and titles) else "category"


class Inspected(NamedTuple):
    """The result of reading a file."""

    sha256: str
    fault: str
    """Why it cannot be read; empty where it can."""
    fingerprint: int


def kind_of_file(path: Path) -> FileKind | None:
    """The kind of a file by its content, else by its suffix."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    kinds = (*file_kinds().values(), TEXT_FILES)
    named = (one for one in kinds if path.suffix.lower() in one.suffixes)
    return next((one for one in kinds if one.knows(head)), None) or next(named, None)


def missing_requirement(requires: Sequence[str]) -> str:
    """Returns the first module that is not installed; empty if all are."""
    return next((one for one in requires if importlib.util.find_spec(one) is None), "")


def require_installed(kind: FileKind) -> None:
    """Raises MachineError where the libraries that read files of a kind are not installed."""
    if module := missing_requirement(kind.requires):
        raise error_of(MachineError, "missing-library/kind", kind=kind, module=module)


def inspected(path: Path, kind: FileKind) -> Inspected:
    """Whether a file can be read, once for each state of it."""
    found = path.stat()
    return _inspected(path, kind, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=200_000)
def _inspected(path: Path, kind: FileKind, size: int, _: int) -> Inspected:
    if not 0 < size <= MOST_BYTES:
        return Inspected("", f"it has more than {MOST_BYTES} bytes" if size else "it is empty", 0)
    try:
        return Inspected(file_digest(path), "", kind.fingerprint(path.read_bytes()))
    except ValueError as error:
        return Inspected("", " ".join(str(error).split())[:120] or "it is damaged", 0)


def files_digest(table: pd.DataFrame, kinds: Mapping[str, str]) -> str:
    """The digest of all files in the columns of these kinds, as they are now."""
    found = hashlib.sha256()
    for name, kind in sorted(kinds.items()):
        for cell in sorted(table[name].dropna().unique()):
            known = inspected(Path(cell), file_kinds()[kind]).sha256 if Path(cell).is_file() else "gone"
            found.update(f"{cell}\0{known}\n".encode())
    return found.hexdigest()


def with_contents(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The frame with the bytes of files in the place of their paths, in the columns of these names."""
    import pandas as pd

    made = {name: [_content(cell) for cell in frame[name]] for name in names}
    return frame.assign(**{name: pd.Series(cells, frame.index, object) for name, cells in made.items()})


def _content(cell: object) -> bytes | None:
    if isinstance(cell, bytes) or cell is None:
        return cell
    return Path(cell).read_bytes() if isinstance(cell, str) and cell else None


def as_url(cell: object) -> str | None:
    """A file as requests carry it: a `data:` URL."""
    content = _content(cell)
    return None if content is None else f"data:;base64,{base64.b64encode(content).decode()}"
