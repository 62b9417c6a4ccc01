"""Reads YAML documents into frozen models, with every mistake located by file, line and field.

`Model` is the base of all data that crosses a boundary. `read_document` turns a file into a model or
raises one `InputError` that lists all mistakes. Comments and formatting are not preserved.
"""

import codecs
import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from palmette._validation import explain, explain_fields
from palmette._yaml import MAX_DIGITS, Parsed, load_plain, parse_yaml
from palmette.errors import InputError, Mistake, UserError
from palmette.problems import fault

__all__ = [
    "MAX_DIGITS", "Located", "Model", "PathText", "ProblemCollector", "file_digest", "load_plain", "mistakes",
    "parse_document", "parse_located", "read_document", "read_located", "read_plain", "read_text",
    "write_text",
]  # fmt: skip

MAX_BYTES, MOST_WRITTEN = 5_000_000, 1 << 30  # of a file that a person wrote, and of one that palmette wrote
LONGEST_PATH, LONGEST_NAME = 4096, 255  # bytes of a path, and of one of its parts
MAX_PROBLEMS = 200  # maximum number of problems reported per document


class Model(BaseModel):
    """Frozen, without unknown keys; the docstring under a field is its description."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _holds_a_path(text: str) -> str:
    if len(text.encode()) < LONGEST_PATH and all(len(part.encode()) <= LONGEST_NAME for part in text.split("/")):
        return text
    raise ValueError(f"{text[:40]!r}... is longer than a path can be")


PathText = Annotated[str, StringConstraints(min_length=1), AfterValidator(_holds_a_path)]
"""A path of a length that file systems support."""

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Located(Generic[M]):
    """A document with the line of every field."""

    value: M
    file: str
    lines: Mapping[str, int]  # 1-based lines by field path

    def line(self, field: str) -> int | None:
        """Line of a field such as `features[2].aggregate.of`, or of its nearest enclosing field."""
        while field and field not in self.lines:
            field = re.sub(r"(\.[^.\[\]]*|\[[^\[\]]*\]|^[^.\[\]]+)$", "", field)
        return self.lines.get(field)


class ProblemCollector:
    """Collects the problems of one document; nothing is raised until the whole document has been checked."""

    def __init__(self, document: Located[Any]) -> None:
        self._document = document
        self._found: dict[Mistake, None] = {}

    def report(
        self, problem: str, field: str, value: object = None, known: Iterable[object] = (), /, **facts: object
    ) -> None:
        """Adds a problem of a field; the other arguments are those of `fault`."""
        self.add([fault(problem, value, known, **facts)], field)

    def add(self, faults: Iterable[Mistake], field: str) -> None:
        """Adds problems of a field, with its line number."""
        document = self._document
        for found in faults:
            self._found[replace(found, file=document.file, line=document.line(field), field=field)] = None

    def __len__(self) -> int:
        return len(self._found)

    @property
    def problems(self) -> list[Mistake]:
        """The problems, sorted by line."""
        return sorted(self._found, key=lambda found: found.line or 0)

    def raise_if_any(self) -> None:
        """Raises one InputError with all problems, if there are any."""
        if self._found:
            raise InputError(self.problems)


def read_document(path: Path, model: type[M]) -> M:
    """The document in a file. Raises InputError with all mistakes, from a missing file to an unknown key."""
    return read_located(path, model).value


def parse_document(text: str, model: type[M], file: str) -> M:
    """Parses a document; `file` is its name in messages."""
    return parse_located(text, model, file).value


def read_located(path: Path, model: type[M]) -> Located[M]:
    """Like `read_document`, with the line of every field."""
    return parse_located(read_text(path), model, str(path))


def parse_located(text: str, model: type[M], file: str) -> Located[M]:
    """Like `parse_document`, with the line of every field."""
    parsed = parse_yaml(text.removeprefix("\ufeff"))
    problems = list(parsed.problems)
    value: M | None = None
    if isinstance(parsed.value, dict):
        try:
            value = model.model_validate(parsed.value)
        except ValidationError as error:
            problems += explain(error, model, parsed)
    elif not problems:
        keys = list(model.model_fields)[:4]
        found = fault("not-a-mapping", kind=_kind(parsed.value), model=model.__name__, keys=keys)
        problems.append(replace(found, line=1))
    if problems or value is None:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        if len(ordered) > MAX_PROBLEMS:
            ordered[MAX_PROBLEMS:] = [fault("more-mistakes", number=len(ordered) - MAX_PROBLEMS)]
        raise InputError([replace(problem, file=file) for problem in ordered])
    return Located(value, file, parsed.lines)


def mistakes(error: ValidationError, model: object, value: object, text: str, file: str) -> list[Mistake]:
    """The mistakes in a value of type `model`, with lines of the JSON or YAML `text` that it came from."""
    found = explain_fields(error, model, Parsed(value, parse_yaml(text).lines))
    return [replace(problem, file=file) for problem in found]


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file of at most `most` bytes, without a byte order mark; InputError otherwise."""
    try:
        if path.is_dir():
            raise _refusal(path, "is-a-directory")
        if not path.exists():
            raise _missing(path)
        if not path.is_file():
            raise _refusal(path, "unreadable/device")
        if path.stat().st_size > most:
            raise _refusal(path, "too-large/file", size=path.stat().st_size, most=most)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise _refusal(path, "unreadable", error=error) from error
    return _decode(data, path)


@cache
def read_plain(path: Path) -> Any:
    """Returns the value of a YAML file of palmette's own, which is read once."""
    return load_plain(path.read_text("utf-8"))


def write_text(path: Path, text: str) -> None:
    """Writes an output file that the user named; UserError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{str(path)!r} cannot be written: {error.strerror}."
        raise UserError(message, "Name a file in a folder that exists.", code="unwritable") from error


def file_digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _decode(data: bytes, path: Path) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:1000]:
        raise _refusal(path, "wrong-encoding/binary")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refusal(path, "wrong-encoding", line=line, byte=data[error.start], at=error.start) from None


def _missing(path: Path) -> InputError:
    if path.is_symlink():
        return _refusal(path, "no-such-file/link")
    parent, names = path.parent, list[str]()
    with suppress(OSError):
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    where = "" if parent.is_dir() else f" Its folder {str(parent)!r} does not exist either."
    found = fault("no-such-file/document", path.name, names, path=str(path), where=where)
    return InputError([replace(found, file=str(path), value=str(path))])


def _refusal(path: Path, problem: str, line: int | None = None, **facts: object) -> InputError:
    return InputError([replace(fault(problem, **facts), file=str(path), line=line)])


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else f"the single value {str(value)[:60]!r}"
