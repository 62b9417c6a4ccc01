"""Errors of the disk where runs are stored, each with one message."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palmette.errors import MachineError, PalmetteError, RunError, named

ROOM = 1 << 20
"""Maximum size in bytes of an answer with its event."""
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


def unwritable(folder: Path, reason: str | None) -> MachineError:
    """The run cannot be stored."""
    return MachineError(
        f"No run can be kept in {named(folder)}: {reason or 'it cannot be written'}.",
        "Make room, or set PALMETTE_RUNS to a folder that you may write to; a run that exists can be copied there.",
        code="unwritable-runs",
    )


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, as `fsync` does for file contents, where the file system supports it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # some network file systems reject it for every folder
            raise
    finally:
        os.close(descriptor)


def require_room(folder: Path) -> None:
    """Raises `MachineError` if the disk may be too full for an answer about to be paid for."""
    disk = os.statvfs(folder)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < ROOM:
        raise unwritable(folder, "the disk is full")


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Explains why a run folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error.strerror) from error


@contextmanager
def journal_errors(journal: Path, *, writes: bool) -> Iterator[None]:
    """Explains what is wrong with a journal."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        raise _named(journal, error, writes) from error


def _named(journal: Path, error: Exception, writes: bool) -> PalmetteError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits distinguish subtypes
    if code in _LOCKED:
        return MachineError(
            f"The journal {str(journal)!r} is locked by another program.",
            "Close what has it open, then resume the run.",
            code="locked-journal",
        )
    if writes and (code in _UNWRITABLE or isinstance(error, OSError)):
        return unwritable(journal.parent, str(error))
    remedy = "Restore the file, or start the run anew; what was made is in `artefacts` beside it."
    if isinstance(error, PermissionError):
        remedy = "It is another user's: have it made readable for you, or copied."
    return RunError(f"The journal {str(journal)!r} cannot be read: {error}.", remedy, code="broken-journal")
