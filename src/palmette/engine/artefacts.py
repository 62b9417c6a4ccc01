"""Artefacts as plain files: immutable versions under their digests, and a working copy that a person can edit.

run folder
├── objects/<sha256>              immutable: values as JSON, and every text file of a value
└── artefacts/<name>/value.json   the current version, opened and edited by people
    artefacts/<name>/<path>       every `{path, text}` of the value, as a file

In an object a text file is `{"path": ..., "text_sha256": ...}`, so the digest of a value covers its texts.
"""

import contextlib
import errno
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, JsonValue
from pydantic_core import to_jsonable_python

from palmette.engine.storage import DRAFT, disk_errors, write_whole
from palmette.errors import DeveloperError, InputError, Mistake, RunError, machine_error

VALUE = "value.json"
_MARK = ".digest"
"""Written last: the digest that a working copy was made from. A copy without it is incomplete."""


class ArtefactStore:
    """The artefacts of one run folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = folder / "objects"
        self.copies = folder / "artefacts"

    def put(self, value: BaseModel | JsonValue) -> str:
        """Stores a value and returns its digest."""

        def stored(path: str, text: str) -> JsonValue:
            _guard(path)
            return {"path": path, "text_sha256": self._store(text.encode())}

        return self._store(canonical(replace_texts(plain(value), stored)).encode())

    def get(self, digest: str) -> JsonValue:
        """The value with this digest, with every byte verified."""
        return _join(json.loads(self._load(digest)), lambda _, ref: self._load(ref["text_sha256"]).decode())

    def publish(self, name: str, digest: str) -> None:
        """Updates the working copy of an artefact to this version."""
        copy = self.copies / name
        with contextlib.suppress(FileNotFoundError):
            (copy / _MARK).unlink()
        shutil.rmtree(copy, ignore_errors=True)
        text = self._load(digest).decode()
        with disk_errors(self.folder):
            for _, path, content in _places(json.loads(text)):
                write_whole(copy / path, self._load(content))
            write_whole(copy / VALUE, text.encode())
            write_whole(copy / _MARK, digest.encode())

    def is_published(self, name: str, digest: str) -> bool:
        """Whether the working copy is a complete copy of this version."""
        mark = self.copies / name / _MARK
        return mark.is_file() and mark.read_text("ascii") == digest

    def read_copy(self, name: str) -> JsonValue:
        """The current working copy, with edits; `InputError` if an edit made it unreadable."""
        copy = self.copies / name
        try:
            value = json.loads((copy / VALUE).read_text("utf-8-sig"))
        except (OSError, ValueError) as error:
            raise _unreadable(copy, copy / VALUE, error) from error
        places = {location: path for location, path, _ in _places(value)}

        def text(location: str, _: Mapping[str, str]) -> str:
            path = copy / places[location]
            try:
                return path.read_bytes().decode()
            except (OSError, ValueError) as error:
                raise _unreadable(copy, path, error) from error

        return _join(value, text)

    def tidy(self) -> None:
        """Removes incomplete files of killed writers. Only the process that holds the run may call it."""
        for draft in self.objects.glob(f".*{DRAFT}"):
            draft.unlink(missing_ok=True)

    def _store(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        path = self.objects / digest
        with disk_errors(self.folder):
            if not path.is_file() or path.stat().st_size != len(content):  # a power failure can leave an empty one
                self.objects.mkdir(exist_ok=True)  # not the run folder, which may have been moved
                write_whole(path, content, synced=True)
        return digest

    def _load(self, digest: str) -> bytes:
        path = self.objects / digest
        try:
            if path.exists() and not path.is_file():
                raise OSError(errno.EINVAL, "it is a pipe, a device or a folder")
            content = path.read_bytes()
        except OSError as error:
            if fault := machine_error(error):
                raise fault from error
            message = f"The run's object {str(path)!r} cannot be read: {error.strerror}."
            remedy = "Restore the run folder, or start a new run."
            raise RunError(message, remedy, code="broken-object") from error
        if hashlib.sha256(content).hexdigest() != digest:
            remedy = "Edit the copy under `artefacts/` instead; restore this one or start a new run."
            raise RunError(f"The run's object {str(path)!r} was changed.", remedy, code="broken-object")
        return content


def canonical(value: JsonValue) -> str:
    """The canonical JSON text of a value, in the order of its fields."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def plain(value: BaseModel | JsonValue) -> JsonValue:
    """A value as JSON data."""
    found: JsonValue = to_jsonable_python(value, by_alias=False)
    return found


def replace_texts(value: JsonValue, replacement: Callable[[str, str], JsonValue]) -> JsonValue:
    """The value with each text file in it, `{path, text}`, replaced."""
    if isinstance(value, list):
        return [replace_texts(item, replacement) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"path", "text"} and isinstance(value["path"], str) and isinstance(value["text"], str):
        return replacement(value["path"], value["text"])
    return {key: replace_texts(item, replacement) for key, item in value.items()}


def _join(value: JsonValue, text: Callable[[str, Mapping[str, str]], str], location: str = "") -> JsonValue:
    """Puts the text files back into a value."""
    if isinstance(value, list):
        return [_join(item, text, _inside(location, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"path", "text_sha256"} and all(isinstance(one, str) for one in value.values()):
        return {"path": value["path"], "text": text(location, {key: str(one) for key, one in value.items()})}
    return {key: _join(item, text, _inside(location, key)) for key, item in value.items()}


def _places(value: JsonValue) -> list[tuple[str, str, str]]:
    """Location, file in the working copy, and digest; files that claim the same path are kept apart."""
    found: list[tuple[str, str, str]] = []

    def note(location: str, reference: Mapping[str, str]) -> str:
        _guard(reference["path"])
        found.append((location, reference["path"], reference["text_sha256"]))
        return ""

    _join(value, note)
    parents = {str(parent) for _, path, _ in found for parent in PurePosixPath(path).parents}
    names = Counter(str(PurePosixPath(path)) for _, path, _ in found)
    taken = {name for name in names if names[name] > 1 or name in parents or name in {VALUE, _MARK}}

    def clashes(path: PurePosixPath) -> bool:
        return any(str(part) in taken for part in (path, *path.parents))

    return [
        (location, f"{location or 'value'}/{path}" if clashes(PurePosixPath(path)) else path, digest)
        for location, path, digest in found
    ]


def _inside(location: str, key: str | int) -> str:
    step = str(key).replace("/", "_")
    return f"{location}.{step}" if location else step


def _guard(path: str) -> None:
    """Rejects a path that would leave its artefact's folder."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) == ".":
        remedy = "Give a path relative to the repository, with forward slashes and without '..'."
        raise DeveloperError(f"A text file of an artefact has the path {path!r}.", remedy, code="unsafe-path")


def _unreadable(copy: Path, path: Path, error: Exception) -> InputError:
    message = f"The edited file cannot be read: {error}."
    remedy = f"Mend it, or delete {str(copy)!r} to get the last version back; then resume."
    return InputError([Mistake("unreadable-artefact", message, remedy, str(path), getattr(error, "lineno", None))])
