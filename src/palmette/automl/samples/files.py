"""Cells that are files: of folders and archives, of columns of paths, and of columns of numbers that become files.

In a table of samples the cell of such a column is the path of a file, the same for files of the same content; the
content itself for files of text.
"""

import base64
import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import (
    TEXT_FILES,
    FileKind,
    file_kinds,
    file_suffixes,
    inspected,
    kind_of_file,
    require_installed,
)
from palmette.automl.opening import DATA, Opened, decode, files_below, refusal, require_unpacked
from palmette.automl.samples import ArrayUse, Repairs
from palmette.automl.samples.tables import TEST, TRAIN, VALIDATION, Raw
from palmette.documents import file_digest
from palmette.engine.storage import write_whole
from palmette.errors import UserError
from palmette.knowledge.web import cache_folder
from palmette.problems import error_of

SAMPLE, MOST_OTHERS = 60, 0.2  # cells that are looked at, and the share of them that may name no file of the kind
SHORTEST = 60  # characters of a file as base64
MOST_FILES = 200_000  # of a folder
HEAD = 2000  # bytes of a file of text that are looked at
SHOWN = 5
SCALES = (1.0, 16.0, 255.0, 65535.0)  # the largest numbers of common pixel scales
LABEL = "label"
UNLABELLED = frozenset({"unlabeled", "unlabelled", "unknown", "images", "audio", "files", "data"})
Pixels = list[np.ndarray | None]


def with_files(raw: Raw, repairs: Repairs, files: Sequence[Path] = ()) -> Raw:
    """The table with paths of readable files in the columns that hold or name files; none where there is no such file.

    Cells name files beside the table, in the folder above it, or among these `files`.
    """
    made = _with_named(with_contents_stored(raw), _by_ends(files), repairs)
    stems = {str(path.with_suffix("")): path for path in files}
    by_stems = {end: stems[str(path)] for end, path in _by_ends([*map(Path, stems)]).items()}
    return made if made.files or not by_stems else _with_named(made, by_stems, repairs, most=1)


def _with_named(raw: Raw, known: Mapping[str, Path], repairs: Repairs, most: int | None = None) -> Raw:
    path, frame, kinds = raw.opened.path, raw.frame.copy(deep=False), list(raw.files)
    base = path if path.is_dir() else path.parent
    found = ((name, kind) for name in raw.names if (kind := _kind_of_cells(frame[name], name, base, known)))
    for name, kind in islice(found, most):
        frame[name] = _read_cells(frame[name], kind, base, known, repairs)
        kinds.append((name, kind.name))
    named = {name: raw.frame[name] for name, _ in kinds}
    return replace(raw, frame=frame, files=tuple(kinds), named=named)


def _by_ends(files: Sequence[Path]) -> dict[str, Path]:
    """Files by the ends of their paths, with as many folders as tell one from the others."""
    ends = [("/".join(path.parts[-depth:]), path) for path in files for depth in (1, 2, 3)]
    counts = Counter(end for end, _ in ends)
    return {end: path for end, path in ends if counts[end] == 1}


def place_of(cell: str, base: Path, known: Mapping[str, Path]) -> Path:
    """The file that a cell names; a path below `base` where there is none."""
    name = cell.strip().replace("\\", "/")
    near = (place for place in (base / cell, base / name, base.parent / name) if place.is_file())
    return next(near, None) or known.get("/".join(PurePosixPath(name).parts[-3:]), base / cell)


def with_contents_stored(raw: Raw) -> Raw:
    """The table with paths of new files in the place of cells that hold the content of files."""
    made = dict[str, pd.Series]()
    for name in raw.names:
        column = raw.frame[name]
        head = _head(column)
        contents = [content for cell in head if (content := _content(cell))]
        found = [kind for content in contents for kind in file_kinds().values() if kind.knows(content)]
        if found and len(found) >= (1 - MOST_OTHERS) * len(head):
            kind = max(found, key=found.count)
            made[name] = pd.Series([_stored(_content(cell), kind) for cell in column], column.index, object)
    return replace(raw, frame=raw.frame.assign(**made)) if made else raw


def _head(column: pd.Series) -> list[Any]:
    """The first cells that are not missing."""
    first = [one for one in column.head(SAMPLE).tolist() if isinstance(one, str | bytes | dict)]
    return first or column.dropna().head(SAMPLE).tolist()


def _content(cell: object) -> bytes:
    """The file in a cell: bytes, base64, a `data:` URL, or an object with `bytes`; empty if there is none."""
    cell = cell.get("bytes") if isinstance(cell, dict) else cell
    if isinstance(cell, str) and len(cell) >= SHORTEST:
        try:
            return base64.b64decode(cell.partition(",")[2] if cell.startswith("data:") else cell, validate=True)
        except ValueError:
            return b""
    return cell if isinstance(cell, bytes) else b""


def _stored(content: bytes, kind: FileKind) -> str | None:
    """The path of a file with this content; None for an empty one."""
    path = cache_folder("arrays") / f"{hashlib.sha256(content).hexdigest()}{kind.suffixes[0]}"
    if content and not path.exists():
        write_whole(path, content)
    return str(path) if content else None


def with_texts(frame: pd.DataFrame, base: Path, names: Iterable[str]) -> pd.DataFrame:
    """The table with texts in the place of the names of their files, in the columns of these names."""
    named = [name for name in names if name in frame and _kind_of_cells(frame[name], name, base, {}) is TEXT_FILES]
    return frame.assign(**{name: _read_cells(frame[name], TEXT_FILES, base, {}, Repairs()) for name in named})


def _read_cells(
    column: pd.Series, kind: FileKind, base: Path, known: Mapping[str, Path], repairs: Repairs
) -> pd.Series:
    paths = {cell: place_of(cell, base, known) for cell in map(str, column.dropna().unique()) if cell.strip()}
    found = readable(paths, kind, str(column.name), repairs)
    return pd.Series([found.get(str(cell)) for cell in column], column.index, object)


def _kind_of_cells(column: pd.Series, name: str, base: Path, known: Mapping[str, Path]) -> FileKind | None:
    """The kind of the files that the cells name; None where they name none."""
    cells = [str(one).strip() for one in _head(column)]
    is_key = len({*cells}) == len(cells)
    named = [one for one in cells if one.lower().endswith(file_suffixes()) or (is_key and one in known)]
    if not cells or len(named) < (1 - MOST_OTHERS) * len(cells):
        return None
    found = [kind for one in named if (kind := kind_of_file(place_of(one, base, known)))]
    if not found and all(one.lower().endswith(TEXT_FILES.suffixes) for one in named):
        return None  # names of texts that are elsewhere tell something, too
    if not found:
        raise refusal("no-files", base, name=name, named=named[0], folder=str(base))
    return max(found, key=found.count)


def readable(paths: Mapping[str, Path], kind: FileKind, subject: str, repairs: Repairs) -> dict[str, str | None]:
    """The path of the first file with the same content, or its text, by cell; None where no file can be read."""
    require_installed(kind)
    there = {cell: path for cell, path in paths.items() if path.is_file()}
    with ThreadPoolExecutor() as pool:
        found = dict(zip(there, pool.map(lambda path: inspected(path, kind), there.values()), strict=True))
    first = dict[str, str]()
    good = {cell: one.sha256 for cell, one in found.items() if not one.fault}
    made = {cell: first.setdefault(good[cell], str(there[cell].absolute())) for cell in good}
    broken = [f"{cell}: {one.fault}" for cell, one in found.items() if one.fault]
    absent = [cell for cell in paths if cell not in there]
    unlike = [cell for cell in made if there[cell].suffix.lower() not in kind.suffixes]
    for code, names in (("missing-files", absent), ("unreadable-files", broken), ("other-suffix", unlike)):
        shown = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
        repairs.add(code, subject, len(names), shown=shown)
    repairs.add("repeated-files", subject, len(made) - len(first))
    if kind is TEXT_FILES:
        made = {cell: decode(Path(path).read_bytes())[0] for cell, path in made.items()}
    return {cell: made.get(cell) for cell in paths}


def with_arrays(raws: Sequence[Raw], requests: Sequence[str], repairs: Repairs) -> list[Raw]:
    """The tables with a column of files for each request of the form `image=pixel_*`; raises UserError where a request
    names no kind or no column, or the numbers make no file."""
    made = list(raws)
    for asked in requests:
        name, _, pattern = (one.strip() for one in asked.partition("="))
        kind = file_kinds().get(name)
        if kind is None or not pattern:
            raise error_of(UserError, "bad-array/form", name, file_kinds(), asked=asked)
        require_installed(kind)
        parts = [tuple(name for name in raw.names if fnmatchcase(name, pattern)) for raw in made]
        columns = next(filter(None, parts), ())
        if not columns:
            raise error_of(UserError, "no-such-column", pattern=pattern, asked=asked, names=made[0].names[:12])
        rows = [_numbers(raw, part, asked) for raw, part in zip(made, parts, strict=True)]
        use = ArrayUse(asked=asked, columns=columns, top=_scale(rows, asked))
        made = [_made_files(raw, its, use, kind, repairs) if its else raw for raw, its in zip(made, rows, strict=True)]
    return made


def _numbers(raw: Raw, columns: Sequence[str], asked: str) -> Pixels:
    """The numbers of each row; None where there are none."""
    if len(columns) == 1:
        return [_listed(cell) for cell in raw.frame[columns[0]]]
    try:
        numbers = raw.frame[[*columns]].astype(object).apply(pd.to_numeric)
        return list(numbers.to_numpy("float64", na_value=0.0)) if columns else []
    except (ValueError, TypeError) as error:
        raise error_of(UserError, "bad-array/numbers", asked=asked, error=error) from error


def _listed(cell: object) -> np.ndarray | None:
    """A list, or an array, of numbers; None for any other value."""
    try:
        given = json.loads(cell if isinstance(cell, str) else json.dumps(cell, default=np.ndarray.tolist))
        return np.asarray(given, dtype="float64") if isinstance(given, list) and given else None
    except (ValueError, TypeError):
        return None


def _scale(tables: Sequence[Pixels], asked: str) -> float:
    """The largest number of the pixel scale."""
    known = [one for rows in tables for one in rows if one is not None]
    least, most = min((one.min() for one in known), default=0.0), max((one.max() for one in known), default=0.0)
    if least < 0 or most > SCALES[-1]:
        raise error_of(UserError, "bad-array", asked=asked, least=least, most=most)
    return next(top for top in SCALES if most <= top)


def _made_files(raw: Raw, rows: Pixels, use: ArrayUse, kind: FileKind, repairs: Repairs) -> Raw:
    """The table with paths of files in the place of the columns."""
    name, paths = use.columns[0] if len(use.columns) == 1 else kind.name, list[str | None]()
    for values in rows:
        try:
            content = kind.of_numbers((values * (255 / use.top)).tolist()) if values is not None else b""
        except ValueError:
            content = b""
        paths.append(_stored(content, kind))
    broken = paths.count(None)
    if broken == len(paths):
        raise error_of(UserError, "bad-array/shape", count=len(use.columns), use=use, kind=kind, raw=raw)
    repairs.add("arrays-made", raw.name, len(paths) - broken, kind=kind.name, name=name, columns=len(use.columns))
    repairs.add("broken-arrays", raw.name, broken, name=name)
    made = raw.without_columns({*use.columns}).with_columns(pd.DataFrame({name: paths}, raw.frame.index, dtype=object))
    return replace(made, files=(*raw.files, (name, kind.name)), arrays=(*raw.arrays, (name, use)))


@dataclass(frozen=True)
class FileSet:
    """A folder in which most files are of one kind."""

    folder: Path
    kind: FileKind
    files: tuple[Path, ...]
    others: int  # files that are neither of the kind nor tables


def is_data(path: Path) -> bool:
    """Whether a file has the suffix of data, and is of no kind."""
    return path.suffix.lower() in DATA and kind_of_file(path) is None


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
        raise refusal("too-many-files/folder", place, count=len(every), most=MOST_FILES)
    kinds = {path: kind_of_file(path) for path in every if not is_data(path)}
    counts = Counter(kind for kind in kinds.values() if kind)
    if not _are_documents([path for path, kind in kinds.items() if kind is TEXT_FILES]):
        del counts[TEXT_FILES]
    kind = max(counts, key=lambda one: (counts[one], one is not TEXT_FILES), default=None)
    if kind is None or counts[kind] <= len(every) - len(kinds):
        return None
    require_installed(kind)
    found = tuple(path for path, one in kinds.items() if one is kind)
    return FileSet(folder, kind, found, len(kinds) - len(found))


def _are_documents(paths: Sequence[Path]) -> bool:
    """Whether files of text, several in each of several folders, are documents: tables would have numbers, or share
    their first line."""
    folders = {path.parent for path in paths if "=" not in path.parent.name}
    if len(folders) < 2 or len(paths) < 2 * len(folders):
        return False
    some = paths[:: max(1, len(paths) // SAMPLE)]
    texts = [decode(path.read_bytes()[:HEAD])[0].strip() for path in some]
    letters = sum(map(str.isalpha, "".join(texts))) > len("".join("".join(texts).split())) / 2
    return letters and 2 * len({text.partition("\n")[0] for text in texts}) > len(texts)


def tables_of(files: FileSet, repairs: Repairs) -> list[Raw]:
    """A table for each part: training, validation and test files with the names of their folders as labels; raises
    InputError where no file can be read."""
    parts, folders, labels = dict[str, list[tuple[str, str]]](), {path.parent for path in files.files}, set[str]()
    root = Path(os.path.commonpath(folders))  # labels begin below it, or below the folder that alone is in it
    root = root.parent if folders == {root} != {files.folder} else root
    known = readable({str(path): path for path in files.files}, files.kind, files.kind.name, repairs)
    repairs.add("other-files", files.folder.name, files.others, kind=files.kind.name)
    names = [str(path.with_suffix("")) for path in files.files]
    repairs.add("same-names", files.folder.name, len(names) - len({*names}))
    if not any(known.values()):
        why = next((one.text for one in repairs if one.code == "unreadable-files"), "")
        raise refusal("no-data/files", files.folder, why=why, kind=files.kind.name)
    for path in files.files:
        above = path.relative_to(root).parts[:-1]
        part = above[0].casefold() if above and above[0].casefold() in TRAIN | TEST | VALIDATION else ""
        label, cell = next(iter(above[bool(part) :]), ""), known[str(path)]
        parts.setdefault(part, []).extend([(cell, label)] if cell else [])
        labels.add(label)
    lost = sorted(labels - {"", *(label for rows in parts.values() for _, label in rows)})
    repairs.add("lost-labels", files.folder.name, len(lost), shown=", ".join(map(repr, lost)))
    if {*parts} & TEST and {*parts} & TRAIN:  # validation files are learnt from where others are for testing
        train = next(part for part in parts if part in TRAIN)
        for part in [part for part in parts if part in VALIDATION]:
            parts[train] += parts.pop(part)
    made = [_table(files.kind, root / part, rows) for part, rows in parts.items()]
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
    frame = pd.DataFrame([row[: len(names)] for row in kept], columns=names, dtype=object)
    total = hashlib.sha256("\n".join(map("\t".join, kept)).encode()).hexdigest()
    opened = Opened(folder, "", b"", "files", total, 0)
    return Raw(opened, "", "files", names, frame, Repairs(), files=((kind.name, kind.name),))


def _unpacked(place: Path) -> Path | None:
    """The folder with the files of a zip archive or an .npz file of images; None for any other file."""
    try:
        with zipfile.ZipFile(place) as archive:
            infos = [one for one in archive.infolist() if not one.is_dir()]
            suffixes = Counter(PurePosixPath(one.filename).suffix.lower() for one in infos)
            known = sum(suffixes[suffix] for suffix in file_suffixes())
            arrays = suffixes[".npy"] == len(infos) > 0
            if not arrays and known <= len(infos) / 2:
                return None
            require_unpacked(place, sum(one.file_size for one in infos), place.stat().st_size)
            folder = cache_folder("unpacked") / file_digest(place)[:24]
            if not folder.exists():
                part = folder.with_suffix(f".{os.getpid()}")
                shutil.rmtree(part, ignore_errors=True)
                inside = [one for one in infos if not re.search(r"(^|[/\\])\.", one.filename)]  # hidden, or elsewhere
                _write_arrays(place, part) if arrays else archive.extractall(part, inside)
                part.rename(folder)
            return folder
    except (zipfile.BadZipFile, OSError, EOFError, KeyError):
        return None


def _pictures_of(values: np.ndarray) -> np.ndarray | None:
    """Returns pixels (n, height, width) or (n, height, width, 3), where colours may come first; None for others."""
    if values.ndim == 4 and values.shape[-1] not in (1, 3):
        values = np.moveaxis(values, 1, -1)
    values = values[..., 0] if values.ndim == 4 and values.shape[-1] == 1 else values
    is_known = values.ndim == 3 or (values.ndim == 4 and values.shape[-1] == 3)
    return values if is_known and values.dtype.kind in "uif" else None


def _write_arrays(place: Path, folder: Path) -> None:
    """Arrays (n, height, width) or (n, height, width, 3) of pixels as files, in folders of parts and labels."""
    arrays: dict[str, Any] = dict(np.load(io.BytesIO(place.read_bytes()), allow_pickle=False))
    pictures = {name: made for name, one in arrays.items() if (made := _pictures_of(one)) is not None}
    if not pictures:
        raise refusal("not-a-table/arrays", place)
    top = _scale([list(pictures.values())], place.name)
    for name, values in pictures.items():
        part = next((word for word in ("train", "test", "val") if word in name.lower()), "")
        labels = [one for other, one in arrays.items() if other not in pictures and part in other.lower()]
        named = next((one.ravel() for one in labels if len(one) == len(values)), None)
        for number, pixels in enumerate(values):
            path = folder / part / ("" if named is None else Path(str(named[number])).name) / f"{name}{number:06}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file_kinds()["image"].of_numbers((pixels * (255 / top)).tolist()))
