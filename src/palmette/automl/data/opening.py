"""The bytes of a file, out of their compression, with what they are told by content, never by name alone.

Archives are read in memory and nothing of them is unpacked to disk.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palmette.automl.data.suffixes import of_data
from palmette.errors import InputError, Problem

MOST_BYTES = 4 * 2**30
"""Of a file, compressed or not, that is read into memory."""
MOST_CELLS = MOST_BYTES // 8
MOST_COLUMNS = 20_000
MOST_FILES = 200
"""In a folder or an archive, that make one data set."""
MOST_TIMES = 200
"""As large as its archive, a file may be; above `ALWAYS` bytes, which nobody minds."""
ALWAYS = 2**26

WORKBOOK = "xl/workbook.xml"
OLE = b"\xd0\xcf\x11\xe0"
LOCKED = "EncryptedPackage".encode("utf-16-le")
"""What holds a workbook with a password, in a container of that kind."""

FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"),
    (b"SQLite format 3\0", "sqlite"),
    (b"ARROW1", "arrow"),
)
REFUSED: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF document", "Export the table in it as CSV."),
    (b"\x89PNG", "an image", "Name a table."),
    (b"\xff\xd8\xff", "an image", "Name a table."),
    (b"GIF8", "an image", "Name a table."),
    (b"RIFF", "an audio or video file", "Name a table."),
    (b"\x7fELF", "a program", "Name a table."),
    (OLE, "an Excel file of before 2007 (.xls)", "Save it as .xlsx or CSV."),
    (b"\x89HDF", "an HDF5 file", "Save the table as Parquet or CSV."),
    (b"Obj\x01", "an Avro file", "Save the table as Parquet or CSV."),
    (b"ORC", "an ORC file", "Save the table as Parquet or CSV."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it, or use zip."),
    (b"Rar!", "a RAR archive", "Unpack it, or use zip."),
    (b"version https://git-lfs", "a pointer of Git LFS, not the data", "Run `git lfs pull` and try again."),
    (b"<!doctype html", "a web page", "The download went wrong: fetch the data file itself."),
    (b"<html", "a web page", "The download went wrong: fetch the data file itself."),
    (b"<?xml", "an XML file", "Save the table as CSV."),
    (b"PARE", "an encrypted Parquet file", "Save it without a key."),
    (b"PK\x03\x04", "an archive inside of an archive", "Unpack it."),
    (b"PK\x05\x06", "an archive without files", "Name a file with a table."),
    (b"\x1f\x8b", "an archive inside of an archive", "Unpack it."),
    (b"BZh91AY&SY", "an archive inside of an archive", "Unpack it."),
    (b"\xfd7zXZ\0", "an archive inside of an archive", "Unpack it."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "Unpack it, or use gzip."),
    (b"\x04\x22\x4d\x18", "an LZ4 archive", "Unpack it, or use gzip."),
    (b"\x1f\x9d", "an archive of compress", "Unpack it, or use gzip."),
    (b"@relation", "an ARFF file", "Save the table as CSV or Parquet."),
    (b"{\\rtf", "a text document", "Save the table as CSV."),
)
PICKLED = (".pkl", ".pickle", ".joblib", ".npy", ".npz")
COMMENTS = re.compile(rb"\A(?:%[^\n]*\n\s*)+(?=@)")
"""Above the first word of an ARFF file."""
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, SyntaxError, ArithmeticError, RuntimeError,
    MemoryError, zlib.error, struct.error, lzma.LZMAError, zipfile.BadZipFile,
)  # fmt: skip
"""What libraries raise on bytes that are not what they seem."""
CONTROL = bytes(set(range(32)) - {0, 9, 10, 12, 13, 26, 27})


@dataclass(frozen=True)
class Opened:
    """Bytes of a data file, with what they are."""

    path: Path
    member: str
    data: bytes
    format: str
    """As in `DataFile`; `text` for what may be CSV or JSON."""
    compression: str
    sha256: str
    size: int
    """Of the file itself, in bytes."""

    @property
    def name(self) -> str:
        return self.member or self.path.name

    def require_size(self, rows: int, columns: int) -> None:
        """Raises InputError for a table that memory cannot hold: few bytes can say many cells."""
        if columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
            message = f"The table has {rows} rows and {columns} columns."
            most = f"{MOST_COLUMNS} columns and {MOST_CELLS} cells at most"
            raise self.refusal("too-large", message, f"Give one with {most}.")

    def refusal(self, code: str, message: str, remedy: str, **more: str) -> InputError:
        return refusal(f"{self.path}{f' ({self.member})' if self.member else ''}", code, message, remedy, **more)


def refusal(file: str | Path, code: str, message: str, remedy: str, **more: str) -> InputError:
    """One mistake in a data file, as an error."""
    return InputError([Problem(code, message, remedy, str(file), **more)])  # type: ignore[arg-type]  # field, value


def digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_file(path: Path) -> Iterator[Opened]:
    """The data files in a file: itself, or the members of an archive.

    Raises:
        InputError: it cannot be read, is empty, or holds no table.
    """
    data = _read(path)
    sha256, size = hashlib.sha256(data).hexdigest(), len(data)
    for member, content, compression in _unpacked(path, data):
        name = f"{path} ({member})" if member else str(path)
        if not content.strip(b"\0 \t\r\n"):
            raise refusal(name, "empty-file", "The file is empty.", "Name a file with a header and rows.")
        yield Opened(path, member, content, _format(name, content), compression, sha256, size)


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise refusal(path, "is-a-directory", "This is a folder, not a file.", "Name the file inside it.")
        if not path.exists():
            raise refusal(path, "no-such-file", f"There is no file {str(path)!r}.", "Check the path.")
        if not path.is_file():
            raise refusal(path, "not-a-file", "This is neither a file nor a folder.", "Name a regular file.")
        if path.stat().st_size > MOST_BYTES:
            message = f"The file has {path.stat().st_size} bytes; {MOST_BYTES} at most."
            raise refusal(path, "too-large", message, "Give a sample of it.")
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as file:
            return file.read() or b""  # nothing, where one of the kernel's would have us wait
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "Check the path and its permissions."
        raise refusal(path, "unreadable", f"The file cannot be read: {reason}.", remedy) from error


def _unpacked(path: Path, data: bytes) -> Iterator[tuple[str, bytes, str]]:
    """(member, bytes, compression) of what is in a file."""
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                yield "", _bounded(path, file, len(data)), "gzip"
        elif data[:3] == b"BZh" and data[4:6] == b"1A":
            with bz2.BZ2File(io.BytesIO(data)) as file:
                yield "", _bounded(path, file, len(data)), "bzip2"
        elif data[:6] == b"\xfd7zXZ\0":
            with lzma.LZMAFile(io.BytesIO(data)) as file:
                yield "", _bounded(path, file, len(data)), "xz"
        elif data[:4] == b"PK\x03\x04":
            yield from _zipped(path, data)
        else:
            yield "", data, ""
    except DAMAGE as error:
        message = f"The archive is damaged or locked: {error}."
        raise refusal(path, "damaged-archive", message, "Fetch it again, or unpack it.") from error


def _bounded(path: Path, file: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile, packed: int) -> bytes:
    most = most_unpacked(packed)
    content = file.read(most + 1)
    _require(path, len(content), packed)
    return content


def most_unpacked(packed: int) -> int:
    """Bytes that so many may unpack to."""
    return min(MOST_BYTES, max(ALWAYS, MOST_TIMES * packed))


def _require(path: Path, unpacked: int, packed: int) -> None:
    if unpacked > most_unpacked(packed):
        message = f"It unpacks to more than {most_unpacked(packed)} bytes, from {packed}."
        raise refusal(path, "too-large", message, "Unpack it if you know who made it, or give a sample of it.")


def _zipped(path: Path, data: bytes) -> Iterator[tuple[str, bytes, str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        _require(path, sum(info.file_size for info in archive.infolist()), len(data))
        if WORKBOOK in names:
            yield "", data, ""
            return
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise refusal(path, "not-a-table", "This is an office document.", "Save the table in it as CSV or .xlsx.")
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            message = f"The archive names {twice[0]!r} twice."
            raise refusal(path, "damaged-archive", message, "Unpack it, and name the file that matters.")
        files = [info for info in archive.infolist() if not info.is_dir() and not _hidden(info.filename)]
        meant = {str(one) for one in of_data([Path(info.filename) for info in files])}
        files = [info for info in files if not meant or str(Path(info.filename)) in meant]
        if not files:
            raise refusal(path, "empty-file", "The archive has no files.", "Name a file with a header and rows.")
        if len(files) > MOST_FILES:
            message = f"This archive holds {len(files)} files; {MOST_FILES} at most make a data set."
            raise refusal(path, "too-many-files", message, "Unpack it, and name the files that matter.")
        for info in sorted(files, key=lambda info: info.filename):
            yield (info.filename if len(files) > 1 else ""), archive.read(info), "zip"


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def wide(data: bytes) -> str:
    """The encoding of a text whose characters take two bytes or four; empty for others."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    start = data[:4000]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if not even + odd:
        return ""
    if found := next((one for one in ("utf-32-le", "utf-32-be") if _decoded(start, one)), ""):
        return found
    if max(even, odd) > len(start) * 0.2 and min(even, odd) * 20 <= max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    # Of characters beyond Latin few have a byte that is zero; ends of lines have.
    lines = 0.7 * start.count(b"\n")
    return next((one for one in ("utf-16-le", "utf-16-be") if _decoded(start, one).count("\n") > lines > 0), "")


def _decoded(start: bytes, encoding: str) -> str:
    """The text that a file begins with, if it is one in this encoding; else nothing."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return ""


def _format(name: str, data: bytes) -> str:
    """What the bytes are; InputError for what is no table."""
    if data[:4] == b"PK\x03\x04" and WORKBOOK.encode() in data:
        return "excel"
    if data.startswith(OLE) and LOCKED in data:
        raise refusal(name, "not-a-table", "This is a workbook with a password.", "Save it without one.")
    if data[8:12] == b"DUCK":
        return "duckdb"
    binary = len(data[:4000].translate(None, CONTROL + b"\0")) < len(data[:4000])
    for magic, found in FORMATS:
        if data.startswith(magic) and binary:
            return found
    start = COMMENTS.sub(b"", data[:4000].lstrip(b"\xef\xbb\xbf \t\r\n")).lower()
    for magic, what, remedy in REFUSED:
        if start.startswith(magic) or (data.startswith(magic) and (binary or not magic.isalnum())):
            raise refusal(name, "not-a-table", f"This is {what}.", remedy)
    if data[:1] == b"\x80" or name.lower().endswith(PICKLED):
        message = "This is a Python object file, and opening one can run code."
        raise refusal(name, "not-a-table", message, "Save the table as Parquet or CSV.")
    if data[257:262] == b"ustar":
        raise refusal(name, "not-a-table", "This is a tar archive.", "Unpack it, or use zip.")
    sample = data[:100_000].rstrip(b"\0")
    control = len(sample) - len(sample.translate(None, CONTROL))
    if not wide(data) and (control > len(sample) // 50 or sample.count(0) > len(sample) // 5):
        raise refusal(name, "not-a-table", "The file is binary, of no kind that is read.", "Save the table as CSV.")
    return "text"
