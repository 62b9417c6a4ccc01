"""Folders and archives of images or sounds as tables: a folder for each class, and one for each part of the split."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from palmette.automl.kinds import FileKind, file_kinds
from palmette.automl.samples.artefacts import Repairs
from palmette.automl.samples.files import kind_of_file, readable, require_installed
from palmette.automl.samples.opening import DATA, Opened, digest, files_below, refusal, require_unpacked
from palmette.automl.samples.roles import TEST, TRAIN, VALIDATION
from palmette.automl.samples.tables import Raw
from palmette.knowledge.web import cache_folder

LABEL = "label"
MOST_FILES = 200_000
UNLABELLED = frozenset({"unlabeled", "unlabelled", "unknown", "images", "audio", "files", "data"})


@dataclass(frozen=True)
class FileSet:
    """A folder in which most files are of one kind."""

    folder: Path
    kind: FileKind
    files: tuple[Path, ...]
    others: int
    """Files that are neither of the kind nor tables."""


def file_set(place: Path) -> FileSet | None:
    """The set of files in a folder or archive; None where there are more tables than such files."""
    try:
        folder = place if place.is_dir() else _unpacked(place) if place.is_file() else None
    except OSError:  # a name that is too long
        return None
    if folder is None:
        return None
    every = [path for path in files_below(folder) if not path.is_symlink()]  # a link may lead anywhere
    if len(every) > MOST_FILES:
        message = f"This folder holds {len(every)} files; a data set has {MOST_FILES} at most."
        raise refusal(place, "too-many-files", message, "Name the folder that matters.")
    kinds = {path: kind_of_file(path) for path in every if path.suffix.lower() not in DATA}
    counts = Counter(kind.name for kind in kinds.values() if kind).most_common(1)
    if not counts or counts[0][1] <= len(every) - len(kinds):
        return None
    kind = file_kinds()[counts[0][0]]
    require_installed(kind)
    found = tuple(path for path, one in kinds.items() if one is kind)
    return FileSet(folder, kind, found, len(kinds) - len(found))


def tables_of(files: FileSet, repairs: Repairs) -> list[Raw]:
    """A table for each part: training, validation and test files with the names of their folders as labels.

    Raises:
        InputError: no file can be read.
    """
    root = _root(files)
    parts: dict[str, list[tuple[Path, str]]] = {}
    for path in files.files:
        above = path.relative_to(root).parts[:-1]
        part = above[0].casefold() if above and above[0].casefold() in TRAIN | TEST | VALIDATION else ""
        parts.setdefault(part, []).append((path, next(iter(above[bool(part) :]), "")))
    if {*parts} & TEST and {*parts} & TRAIN:  # validation files are learnt from where others are for testing
        train = next(part for part in parts if part in TRAIN)
        for part in [part for part in parts if part in VALIDATION]:
            parts[train] += parts.pop(part)
    known = readable({str(path): path for path in files.files}, files.kind, files.kind.name, repairs)
    repairs.add("other-files", files.folder.name, files.others, kind=files.kind.name)
    made = [
        _table(files.kind, root / part, [(cell, label) for file, label in rows if (cell := known[str(file)])])
        for part, rows in parts.items()
    ]
    if not any(len(raw.frame) for raw in made):
        why = next((one.text for one in repairs if one.code == "unreadable-files"), "")
        message = " ".join(["None of the files can be read.", why]).strip()
        raise refusal(files.folder, "no-data", message, f"Name a folder with files of kind {files.kind.name}.")
    if any(LABEL in raw.names for raw in made):
        made = [raw for raw in made if LABEL in raw.names or raw.opened.path.name.casefold() in TEST]
    unlabelled = sum(path is not None for path in known.values()) - sum(len(raw.frame) for raw in made)
    repairs.add("unlabelled-files", files.folder.name, unlabelled)
    return made


def _table(kind: FileKind, folder: Path, rows: Sequence[tuple[str, str]]) -> Raw:
    """The files of a part, with labels where most of them lie in folders of their own."""
    labels = [label for _, label in rows]
    labelled = sum(map(bool, labels)) > len(labels) / 2 and {*map(str.casefold, labels)} - UNLABELLED
    names = (kind.name, LABEL) if labelled else (kind.name,)
    kept = [row for row in rows if row[1] or not labelled]
    frame = pd.DataFrame([row[: len(names)] for row in kept], columns=range(len(names)), dtype=object)
    total = hashlib.sha256("\n".join(map("\t".join, kept)).encode()).hexdigest()
    opened = Opened(folder, "", b"", "files", "", total, 0)
    return Raw(opened, "", "files", names, names, frame, Repairs(), files=((kind.name, kind.name),))


def _root(files: FileSet) -> Path:
    """The folder below which labels begin: one that holds nothing but a folder, as in many archives, is passed."""
    root = files.folder
    while True:
        first = {path.relative_to(root).parts[0] for path in files.files}
        inside = root / next(iter(first))
        folders = inside.is_dir() and any(path.parent != inside for path in files.files)
        if len(first) != 1 or not folders:
            return root
        root = inside


def _unpacked(place: Path) -> Path | None:
    """The folder with the files of a zip archive or an .npz file of images; None for any other file."""
    try:
        with zipfile.ZipFile(place) as archive:
            infos = [one for one in archive.infolist() if not one.is_dir()]
            suffixes = Counter(PurePosixPath(one.filename).suffix.lower() for one in infos)
            known = sum(suffixes[suffix] for kind in file_kinds().values() for suffix in kind.suffixes)
            arrays = suffixes[".npy"] == len(infos) and any("image" in i.filename or "x" in i.filename for i in infos)
            if not arrays and known <= len(infos) / 2:
                return None
            require_unpacked(place, sum(one.file_size for one in infos), place.stat().st_size)
            folder = cache_folder("unpacked") / digest(place)[:24]
            if not folder.exists():
                part = folder.with_suffix(f".{os.getpid()}")
                shutil.rmtree(part, ignore_errors=True)
                _write_arrays(place, part) if arrays else _extract(archive, infos, part)
                part.rename(folder)
            return folder
    except (zipfile.BadZipFile, OSError, EOFError, KeyError):
        return None


def _extract(archive: zipfile.ZipFile, infos: Sequence[zipfile.ZipInfo], folder: Path) -> None:
    """Writes members below the folder; one whose name leads elsewhere is left out."""
    for info in infos:
        parts = PurePosixPath(info.filename.replace("\\", "/")).parts
        if parts and not any(part in ("..", "/") or part.startswith(".") for part in parts):
            path = folder.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(info))


def _write_arrays(place: Path, folder: Path) -> None:
    """Arrays (n, height, width) or (n, height, width, 3) of bytes as PNG files, in folders of parts and labels."""
    from PIL import Image

    arrays = dict(np.load(io.BytesIO(place.read_bytes()), allow_pickle=False))
    pictures = {name: one for name, one in arrays.items() if one.ndim in (3, 4) and one.dtype == np.uint8}
    if not pictures:
        raise refusal(place, "not-a-table", "It has no array of images of bytes.", "Store (n, height, width, 3) uint8.")
    for name, values in pictures.items():
        part = next((word for word in ("train", "test", "val") if word in name.lower()), "")
        labels = [one for other, one in arrays.items() if other not in pictures and part in other.lower()]
        named = next((one.ravel() for one in labels if len(one) == len(values)), None)
        for number, pixels in enumerate(values):
            label = "" if named is None else Path(str(named[number])).name
            path = folder / part / label / f"{name}{number:06}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels).save(path)
