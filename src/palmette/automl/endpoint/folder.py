"""Writes a delivered package to its folder, completely or not at all.

A manifest lists the files and their digests. A new delivery replaces a folder only if its manifest shows no change.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from palmette.documents import Model, file_digest
from palmette.engine.storage import DRAFT, sync_folder, write_whole
from palmette.errors import MachineError, UserError, named
from palmette.problems import error_of

MANIFEST = "delivered.json"
CACHES = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache"})  # cache folders that a package creates when it runs


class Manifest(Model):
    """The files of a delivery."""

    files: dict[str, str]
    """SHA-256 of each file by path, without the manifest."""
    coming: dict[str, str] = Field(default_factory=dict)
    """Files that are being added, which may exist or not."""

    @property
    def content(self) -> bytes:
        return self.model_dump_json(indent=1, exclude_defaults=True).encode() + b"\n"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a delivered folder; None for other folders."""
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None


def differing(folder: Path, manifest: Manifest) -> list[str]:
    """Paths of files that were added, changed or removed since the delivery."""
    found, listed, coming = dict(_digests(folder)), manifest.files, manifest.coming
    strayed = (path for path in found.keys() | listed.keys() if found.get(path) != listed.get(path))
    return sorted(path for path in strayed if path not in coming or found.get(path) != coming[path])


def require_replaceable(folder: Path) -> None:
    """Raises UserError if a delivery would destroy something in the folder."""
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
    except OSError as error:
        raise error_of(UserError, "folder-unusable", folder=named(folder), error=error) from error
    manifest = read_manifest(folder)
    if manifest is None:
        raise error_of(UserError, "folder-taken", folder=str(folder))
    if changed := differing(folder, manifest):
        raise error_of(UserError, "folder-changed", folder=str(folder), changed=changed[:3])


def place(package: Path, folder: Path) -> Manifest:
    """Copies a package to the folder and replaces an earlier delivery, atomically.

    Raises:
        UserError: Something in the folder would be destroyed.
        MachineError: The folder cannot be written.
    """
    new, old = (folder.with_name(f".{folder.name}.palmette-{kind}") for kind in ("new", "old"))
    _recover(folder, new, old)
    require_replaceable(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(package, new, ignore=shutil.ignore_patterns(*CACHES))
        manifest = Manifest(files=dict(sorted(_digests(new))))
        (new / MANIFEST).write_bytes(manifest.content)
        _sync(new)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise error_of(MachineError, "delivery-unwritable", folder=str(folder), error=error) from error
    finally:
        _recover(folder, new, old)
    return manifest


def _sync(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            with (Path(root) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(root))


def _recover(folder: Path, new: Path, old: Path) -> None:
    """Undoes a delivery that was killed or failed: restores the earlier folder and removes what is half written."""
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)


def add(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Writes files into a delivered folder and its manifest; does nothing in other folders.

    Raises:
        MachineError: The folder cannot be written.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    added = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    coming = Manifest(files=manifest.files, coming=added)
    listed = Manifest(files=dict(sorted({**manifest.files, **added}.items())))
    try:
        for path, content in ((MANIFEST, coming.content), *contents.items(), (MANIFEST, listed.content)):
            write_whole(folder / path, content, synced=True)
    except OSError as error:
        raise error_of(MachineError, "delivery-unwritable/addition", folder=str(folder), error=error) from error


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in CACHES]
        for name in names:
            path = Path(root) / name
            relative, is_draft = path.relative_to(folder).as_posix(), name.startswith(".") and name.endswith(DRAFT)
            if relative != MANIFEST and not is_draft:
                yield relative, file_digest(path)
