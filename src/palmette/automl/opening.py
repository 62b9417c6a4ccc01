"""The bytes of a file, uncompressed, and their format by content. Nothing is unpacked to disk."""

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from palmette.engine import runs_folder
from palmette.engine.journal import NAME as JOURNAL
from palmette.errors import InputError
from palmette.problems import fault

MOST_BYTES = 4 * 2**30  # of a file, compressed or not, that is read into memory
MOST_CELLS = MOST_BYTES // 8
MOST_COLUMNS = 20_000
MOST_FILES = 200  # files of one data set, in a folder or an archive
TABLES_DEEPEST = 2  # levels of folders below a folder that are searched for tables
MOST_RATIO, ALWAYS = 200, 2**26  # of unpacked to packed bytes, above this number of bytes

DATA = (
    ".csv", ".tsv", ".tab", ".psv", ".dat", ".data", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm",
    ".sqlite", ".sqlite3", ".db", ".duckdb", ".feather", ".arrow", ".graphml", ".gexf", ".gml",
    ".content", ".cites",
)  # fmt: skip
MAYBE = (".txt", ".gz", ".bz2", ".xz", ".zip", "")
NOTES = ("readme", "licence", "license", "changelog", "requirements")
WORKBOOK = "xl/workbook.xml"
FORMATS = {b"PAR1": "parquet", b"SQLite format 3\0": "sqlite", b"ARROW1": "arrow"}
PACKED: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream), b"\xfd7zXZ\0": lzma.LZMAFile, b"BZh": bz2.BZ2File,
}  # fmt: skip
REFUSED: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("a text document", (b"%PDF", b"{\\rtf")),
    ("an image", (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")),
    ("an audio or video file", (b"RIFF",)),
    ("an Excel file that is older than 2007, or has a password", (b"\xd0\xcf\x11\xe0",)),
    ("a file of HDF5, Avro, ORC or encrypted Parquet", (b"\x89HDF", b"Obj\x01", b"ORC", b"PARE")),
    ("a pointer of Git LFS, which `git lfs pull` replaces by the data", (b"version https://git-lfs",)),
    ("a web page, not the file that should have been downloaded", (b"<!doctype html", b"<html")),
    ("an XML file", (b"<?xml",)),
    ("an archive without files", (b"PK\x05\x06",)),
    ("an archive inside of an archive", (b"PK\x03\x04", *PACKED)),
    ("an unknown archive", (b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x9d")),
    ("an ARFF file", (b"@relation",)),
    ("a NumPy array without labels; an .npz file can hold both", (b"\x93NUMPY",)),
)
PICKLED = (".pkl", ".pickle", ".joblib", ".npz")
GRAPHS = {
    "graphml": re.compile(rb"(?s)\A(?=<).*?<graphml[\s>]"),
    "gexf": re.compile(rb"(?s)\A(?=<).*?<gexf[\s>]"),
    "gml": re.compile(rb"\A(?:(?:#|creator|comment|version)[^\n]*\n\s*)*graph\s*\["),
}
ARFF_COMMENTS = re.compile(rb"\A(?:%[^\n]*\n\s*)+(?=@)")
DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, SyntaxError, ArithmeticError, RuntimeError,
    MemoryError, zlib.error, struct.error, lzma.LZMAError, zipfile.BadZipFile,
)  # fmt: skip
"""Exceptions of libraries on damaged bytes."""
CONTROL = bytes(set(range(32)) - {0, 9, 10, 12, 13, 26, 27})
BYTE_ORDER_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
                    codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: ""}  # fmt: skip
WIDE = ["utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"]
NARROW = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp932", "gb18030", "big5", "euc_kr", "euc_jp", "koi8_r"]
FEW_BROKEN = 0.001  # share of characters that a UTF-8 text may have broken and still be one
BEYOND_ASCII = re.compile(rb"[^\n]*[\x80-\xff][^\n]*")
MOST_LINES = 500  # lines beyond ASCII that an encoding is guessed from


@dataclass(frozen=True)
class Opened:
    """Bytes of a data file, and their format."""

    path: Path
    member: str
    data: bytes
    format: str  # the format of `DataFile`; `text` for CSV or JSON
    sha256: str
    size: int  # bytes of the file itself

    @property
    def name(self) -> str:
        return self.member or self.path.name

    def require_size(self, rows: int, columns: int) -> None:
        """Raises InputError for a table that memory cannot hold: few bytes can describe many cells."""
        if columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
            limits = {"most_columns": MOST_COLUMNS, "most_cells": MOST_CELLS}
            raise self.refusal("too-large/table", rows=rows, columns=columns, **limits)

    def require_bytes(self, size: int) -> None:
        """Raises InputError for more bytes than the file may unpack to."""
        require_unpacked(self.path, size, len(self.data) or self.size)

    def refusal(self, problem: str, /, **facts: object) -> InputError:
        return refusal(problem, f"{self.path}{f' ({self.member})' if self.member else ''}", **facts)

    def damaged(self, error: Exception, form: str = "") -> InputError:
        """The exception of a library as an error of the file."""
        reason = "".join(char if char.isprintable() else "?" for char in " ".join(str(error).split())[:200])
        return self.refusal("damaged-file", format=form or self.format, reason=reason)


def refusal(problem: str, file: str | Path, /, **facts: object) -> InputError:
    """One mistake in a data file as an error; its texts are in `problems.yaml`."""
    found = fault(problem, facts.pop("value", None), **facts)
    return InputError([replace(found, file=str(file), field=str(facts.get("field", "")))])


def most_unpacked(packed: int) -> int:
    """Bytes that so many may unpack to."""
    return min(MOST_BYTES, max(ALWAYS, MOST_RATIO * packed))


def require_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Raises InputError for more bytes than so many may unpack to."""
    if unpacked > most_unpacked(packed):
        raise refusal("too-large/unpacked", path, most=most_unpacked(packed), packed=packed)


def _require_few(place: Path, files: Sequence[object]) -> None:
    if len(files) > MOST_FILES:
        raise refusal("too-many-files", place, count=len(files), most=MOST_FILES)


def files_below(folder: Path, deepest: int = 6) -> Iterator[Path]:
    """Files that are not hidden, nor of runs, in order, so many levels deep; links to folders are not followed."""
    runs = runs_folder()
    for root, folders, names in os.walk(folder, followlinks=False):
        depth = len(Path(root).relative_to(folder).parts)
        shown = [one for one in folders if not one.startswith((".", "__MACOSX")) and Path(root, one).absolute() != runs]
        shown = [one for one in shown if not Path(root, one, JOURNAL).exists()]
        folders[:] = sorted(shown) if depth < deepest else []
        paths = (Path(root) / name for name in sorted(names) if not name.startswith((".", "~$")))
        yield from (path for path in paths if path.name.casefold() not in ("thumbs.db", "desktop.ini"))


def data_files(place: Path) -> list[Path]:
    """The file of this path, or the data files of this folder by name; InputError for none, too many, or odd names.

    Names only select files; content decides formats.
    """
    try:
        found = sorted(files_below(place, TABLES_DEEPEST)) if place.is_dir() else [place]
    except OSError as error:
        raise refusal("unreadable/path", place, error=error.strerror) from error
    chosen = found if found == [place] else select_data(found)
    if not chosen:
        raise refusal("no-data", place, listed=", ".join(repr(path.name) for path in found[:5]) or "nothing")
    _require_few(place, chosen)
    for name in map(str, chosen):
        if (shown := name.encode("utf-8", "replace").decode()) != name:
            raise refusal("no-text", shown)
    return chosen


def select_data(paths: Sequence[Path]) -> list[Path]:
    """The files with names of data, compressed or not; where there is none, those that may be data."""
    found: dict[tuple[str, ...], list[Path]] = {DATA: [], MAYBE: []}
    for path in (one for one in paths if not one.stem.lower().startswith(NOTES)):
        last, *before = [suffix.lower() for suffix in (*path.suffixes[:-3:-1], "")]
        suffix = before[0] if last in MAYBE[1:-1] and before and before[0] in DATA else last
        for names in found:
            found[names] += [path] if suffix in names else []
    return found[DATA] or found[MAYBE]


def open_file(path: Path) -> Iterator[Opened]:
    """The data files in a file: itself, or the members of an archive; InputError where there is none to read."""
    try:
        if not path.exists():
            raise refusal("no-such-file/data", path, path=str(path))
        if not path.is_file():
            raise refusal("not-a-file", path)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise refusal("too-large/data", path, size=size, most=MOST_BYTES)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise refusal("unreadable", path, error=getattr(error, "strerror", None) or error) from error
    sha256 = hashlib.sha256(data).hexdigest()
    for member, content in _unpacked(path, data):
        name = f"{path} ({member})" if member else str(path)
        if not content.strip(b"\0 \t\r\n"):
            raise refusal("empty-file/data", name)
        yield Opened(path, member, content, _format(name, content), sha256, len(data))


def _unpacked(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    """(member, bytes) of each file in a file."""
    try:
        magic = next((one for one in PACKED if data.startswith(one)), b"")
        if magic and (magic != b"BZh" or data[4:6] == b"1A"):
            with PACKED[magic](io.BytesIO(data)) as file:
                content = file.read(most_unpacked(len(data)) + 1)
            require_unpacked(path, len(content), len(data))
            yield "", content
        elif data[:4] == b"PK\x03\x04":
            yield from _zipped(path, data)
        else:
            yield "", data
    except DAMAGE as error:
        raise refusal("damaged-archive", path, error=error) from error


def _zipped(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        require_unpacked(path, sum(info.file_size for info in archive.infolist()), len(data))
        if WORKBOOK in names:
            yield "", data
            return
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise refusal("not-a-table", path, what="an office document")
        if twice := next((name for name, count in Counter(names).items() if count > 1), ""):
            raise refusal("damaged-archive/twice", path, name=twice)
        hidden = re.compile(r"(^|/)(\.|__MACOSX)")
        files = [info for info in archive.infolist() if not info.is_dir() and not hidden.search(info.filename)]
        chosen = {str(one) for one in select_data([Path(info.filename) for info in files])}
        files = [info for info in files if not chosen or str(Path(info.filename)) in chosen]
        if not files:
            raise refusal("empty-file/archive", path)
        _require_few(path, files)
        for info in sorted(files, key=lambda info: info.filename):
            yield (info.filename if len(files) > 1 else ""), archive.read(info)


def _format(name: str, data: bytes) -> str:
    """The format of the bytes; InputError for those of no table."""
    if data[:4] == b"PK\x03\x04" and WORKBOOK.encode() in data:
        return "excel"
    if data[8:12] == b"DUCK":
        return "duckdb"
    binary = len(data[:4000].translate(None, CONTROL + b"\0")) < len(data[:4000])
    if binary and (known := next((one for one in FORMATS if data.startswith(one)), b"")):
        return FORMATS[known]
    start = ARFF_COMMENTS.sub(b"", data[:4000].lstrip(b"\xef\xbb\xbf \t\r\n")).lower()
    if graph := next((name for name, mark in GRAPHS.items() if mark.search(start)), ""):
        return graph
    for what, magics in REFUSED:
        exact = magics if binary else tuple(one for one in magics if not one.isalnum())
        if start.startswith(magics) or data.startswith(exact):
            raise refusal("not-a-table", name, what=what)
    if data[:1] == b"\x80" or name.lower().endswith(PICKLED):
        raise refusal("not-a-table", name, what="a Python object file, and opening one can run code")
    sample = data[:100_000].rstrip(b"\0")
    control = len(sample) - len(sample.translate(None, CONTROL))
    binary = control > len(sample) // 50 or sample.count(0) > len(sample) // 5
    if data[257:262] == b"ustar" or (binary and not _wide_encoding(data)):
        raise refusal("not-a-table/binary", name)
    return "text"


def _wide_encoding(data: bytes) -> str:
    """The encoding of a text whose characters take two bytes or four; empty for others."""
    mark = next((one for one in BYTE_ORDER_MARKS if data.startswith(one)), b"")
    return BYTE_ORDER_MARKS[mark] if mark else _guessed(data[:4000], WIDE) if 0 in data[:4000] else ""


def decode(data: bytes) -> tuple[str, str]:
    """The text, and its encoding; U+FFFD in the place of bytes that are not characters."""
    encoding = _wide_encoding(data) or ("utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8")
    text = data.decode(encoding, errors="replace")
    broken = text.count("\ufffd") if encoding == "utf-8" else 0
    whole = sum(character > "\x7f" for character in text) - broken if broken else 0
    if not broken or (broken <= max(1, FEW_BROKEN * len(text)) and whole > 2 * broken):
        return text, encoding
    lines = b"\n".join(match[0] for match in islice(BEYOND_ASCII.finditer(data), MOST_LINES))
    found = _guessed(lines, NARROW)
    western = not found or lines.decode("cp1252", errors="replace") == lines.decode(found, errors="replace")
    encoding = "cp1252" if western else found
    return data.decode(encoding, errors="replace"), encoding


def _guessed(data: bytes, among: list[str]) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=among).best()
    return best.encoding.replace("utf_", "utf-").replace("_", "-") if best else ""
