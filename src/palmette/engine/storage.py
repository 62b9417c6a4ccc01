"""The folder of a run on disk: its errors, its lock, and the private folders of invocations."""

import errno
import fcntl
import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from palmette.errors import MachineError, PalmetteError, RunError, named

DRAFT = ".draft"  # the end of the name of a file that is being written
LOCK = "run.lock"
ROOM = 1 << 20  # maximum size in bytes of an answer with its event
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN),
}


def unwritable(folder: Path, reason: str | None) -> MachineError:
    """The run cannot be stored."""
    message = f"No run can be kept in {named(folder)}: {reason or 'it cannot be written'}."
    remedy = "Make room, or set PALMETTE_RUNS to a folder that you may write to; a run that exists can be copied there."
    return MachineError(message, remedy, code="unwritable-runs")


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


def write_whole(path: Path, content: bytes, *, synced: bool = False) -> None:
    """Writes a file atomically, in a folder that is made if necessary; durably if it is synced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{DRAFT}")
    try:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            if synced:
                os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    if synced:
        sync_folder(path.parent)


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
        raise _explained(journal, error, writes) from error


def _explained(journal: Path, error: Exception, writes: bool) -> PalmetteError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits distinguish subtypes
    if code in _LOCKED:
        message = f"The journal {str(journal)!r} is locked by another program."
        return MachineError(message, "Close what has it open, then resume the run.", code="locked-journal")
    if writes and (code in _UNWRITABLE or isinstance(error, OSError)):
        return unwritable(journal.parent, str(error))
    remedy = "Restore the file, or start a new run; the results so far are in `artefacts` beside it."
    if isinstance(error, PermissionError):
        remedy = "It is another user's: have it made readable for you, or copied."
    return RunError(f"The journal {str(journal)!r} cannot be read: {error}.", remedy, code="broken-journal")


def take_lock(folder: Path) -> int:
    """Locks a run for this process until the returned descriptor is closed or the process dies.

    Raises:
        RunError: another process holds it; the message has its id.
        MachineError: the folder is not writable, or its file system has no locks.
    """
    with disk_errors(folder):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    for patience in (0.05, 0.2, None):  # a status query holds the lock for an instant
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if patience is None:
                owner = os.read(descriptor, 20).decode(errors="replace").strip()
                os.close(descriptor)
                message = f"The run in {str(folder)!r} is in use by process {owner or '?'}."
                raise RunError(message, "Wait for it, or stop it and resume the run.", code="run-in-use") from error
            time.sleep(patience)
        except OSError as error:
            os.close(descriptor)
            message = f"Where {str(folder)!r} lies, files cannot be locked: {error.strerror}."
            remedy = "Set PALMETTE_RUNS to a folder on a disk of this machine."
            raise MachineError(message, remedy, code="no-locks") from error
    with suppress(OSError):  # disk full: the lock is held, only the owner's id is not recorded
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def is_running(folder: Path) -> bool:
    """Whether a live process holds the run."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # without locks nobody can work on the run
        return False
    finally:
        os.close(descriptor)
    return False


def workspace_name(invocation: int, actor: str) -> str:
    """Name of an invocation's folder, below `work`."""
    return f"{invocation:03d}-{actor}"


def make_workspace(run: Path, invocation: int, actor: str, item: int | None = None) -> Path:
    """The folder of an invocation, or of one element of a fan-out."""
    folder = run / "work" / f"{workspace_name(invocation, actor)}{'' if item is None else f'-{item}'}"
    with disk_errors(run):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def clear_workspaces(run: Path, invocation: int, actor: str) -> None:
    """Deletes an invocation's folders; they are kept only for failures."""
    mine = re.compile(rf"{re.escape(workspace_name(invocation, actor))}(-\d+)?")
    for folder in (run / "work").glob("*"):
        if mine.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
