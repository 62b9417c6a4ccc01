"""Reads YAML documents into frozen models, with every mistake located by file, line and field.

`Model` is the base of all data that crosses a boundary. `read_document` turns a file into a model or
raises one `InputError` that lists all mistakes. Comments and formatting are not preserved.
"""

import codecs
import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from palmette._validation import explain, explain_fields
from palmette._yaml import MAX_DIGITS, Parsed, load_plain, parse_yaml
from palmette.errors import InputError, Mistake, UserError, nearest

__all__ = [
    "MAX_DIGITS", "Located", "Model", "PathText", "load_plain", "mistakes", "parse_document", "parse_located",
    "read_document", "read_located", "read_text", "write_text",
]  # fmt: skip

MAX_BYTES = 5_000_000
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

    def problem(
        self, code: str, message: str, remedy: str = "", *, field: str, value: object = None, known: Iterable[str] = ()
    ) -> Mistake:
        """A mistake in this document; the nearest of the `known` names is suggested."""
        shown, near = None if value is None else str(value), nearest(str(value), known) if known else None
        return Mistake(code, message, remedy, self.file, self.line(field), field, shown, near)


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
        message = f"The document is {_kind(parsed.value)}, not a mapping of keys to values."
        remedy = f"Begin with the keys of {model.__name__}: {', '.join(list(model.model_fields)[:4])}, ..."
        problems.append(Mistake("not-a-mapping", message, remedy, line=1))
    if problems or value is None:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        if len(ordered) > MAX_PROBLEMS:
            message = f"There are {len(ordered) - MAX_PROBLEMS} mistakes more."
            ordered[MAX_PROBLEMS:] = [Mistake("more-mistakes", message, "Mend those above first.")]
        raise InputError([dataclasses.replace(problem, file=file) for problem in ordered])
    return Located(value, file, parsed.lines)


def mistakes(error: ValidationError, model: object, value: object, text: str, file: str) -> list[Mistake]:
    """The mistakes in a value of type `model`, with lines of the JSON or YAML `text` that it came from."""
    found = explain_fields(error, model, Parsed(value, parse_yaml(text).lines))
    return [dataclasses.replace(problem, file=file) for problem in found]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file of limited size, without a byte order mark; InputError otherwise."""
    try:
        if path.is_dir():
            raise _refusal(path, "is-a-directory", "This is a folder, not a file.", "Name the file inside it.")
        if not path.exists():
            raise _missing(path)
        if not path.is_file():
            raise _refusal(path, "unreadable", "This is a device or a pipe, not a file.", "Name a file.")
        if path.stat().st_size > MAX_BYTES:
            message = f"The file has {path.stat().st_size} bytes; at most {MAX_BYTES} are read."
            raise _refusal(path, "too-large", message, "Is this the right file?")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        message = f"The file cannot be read: {error}."
        raise _refusal(path, "unreadable", message, "Check the path and its permissions.") from error
    return _decode(data, path)


def write_text(path: Path, text: str) -> None:
    """Writes an output file that the user named; UserError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{str(path)!r} cannot be written: {error.strerror}."
        raise UserError(message, "Name a file in a folder that exists.", code="unwritable") from error


def _decode(data: bytes, path: Path) -> str:
    remedy = "Save it as UTF-8."
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:1000]:
        raise _refusal(path, "wrong-encoding", "The file is binary, or UTF-16 or UTF-32.", remedy)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"The file is not UTF-8: byte 0x{data[error.start]:02X} at position {error.start}."
        raise InputError([Mistake("wrong-encoding", message, remedy, str(path), line)]) from None


def _missing(path: Path) -> InputError:
    parent = path.parent
    try:
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    except OSError:
        names = []
    if path.is_symlink():
        return _refusal(path, "no-such-file", "This is a link that leads nowhere.", "Mend it, or name the file itself.")
    where = "" if parent.is_dir() else f" Its folder {str(parent)!r} does not exist either."
    message, near = f"There is no file {str(path)!r}.{where}", nearest(path.name, names)
    return InputError([Mistake("no-such-file", message, "Check the path.", str(path), value=str(path), nearest=near)])


def _refusal(path: Path, code: str, message: str, remedy: str) -> InputError:
    return InputError([Mistake(code, message, remedy, str(path))])


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else f"the single value {str(value)[:60]!r}"
