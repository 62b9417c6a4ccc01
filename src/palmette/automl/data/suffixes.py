"""Which files of a folder or an archive hold data, by their names; what they are is told by content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DATA = (
    ".csv", ".tsv", ".tab", ".psv", ".dat", ".data", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm",
    ".sqlite", ".sqlite3", ".db", ".duckdb", ".feather", ".arrow",
)  # fmt: skip
MAYBE = (".txt", ".gz", ".bz2", ".xz", ".zip", "")
PACKED = (".gz", ".bz2", ".xz", ".zip")
NOTES = ("readme", "licence", "license", "changelog", "requirements")


def of_data(paths: Sequence[Path]) -> list[Path]:
    """Those that are called as data; where none is, those that may be."""
    return _with(paths, DATA) or _with(paths, MAYBE)


def _with(paths: Sequence[Path], suffixes: Sequence[str]) -> list[Path]:
    return [path for path in paths if _suffix(path) in suffixes and not path.stem.lower().startswith(NOTES)]


def _suffix(path: Path) -> str:
    """The suffix that tells the format, below that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = len(suffixes) == 2 and suffixes[-1] in PACKED and suffixes[0] in DATA
    return suffixes[0] if packed else suffixes[-1] if suffixes else ""
