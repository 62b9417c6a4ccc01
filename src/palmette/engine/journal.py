"""The append-only record of a run: one SQLite file in WAL mode, one writer.

An event that `append` has returned from survives `kill -9` of the process. Against a loss of power, what
cost something (paid calls, finished attempts, people's answers) is synced to the disk at once, and everything before it
with it; the events after it, which only say how to go on, may then be lost and are made again on resume.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from palmette.engine.events import EVENT, Entry, Event
from palmette.errors import MachineError, RunError

SCHEMA = 2
"""Version of the journal's format, kept in the file as `user_version`."""

SYNCED = frozenset(
    {
        "run_opened",
        "run_started",
        "call_answered",
        "attempt_succeeded",
        "attempt_failed",
        "human_answered",
        "approved",
        "artefact_edited",
        "run_ended",
    }
)
"""Kinds of events that are on the disk, not only with the operating system, when `append` returns."""

NAME = "journal.sqlite"
LOCK = "run.lock"


def unwritable(folder: Path, reason: str | None) -> MachineError:
    """A run has nowhere to be kept."""
    return MachineError(
        f"No run can be kept in {str(folder)!r}: {reason or 'it cannot be written'}.",
        "Set PALMETTE_RUNS to a folder that you may write to.",
        code="unwritable-runs",
    )


class Journal:
    """The journal of a run folder, open for writing by exactly one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error.strerror) from error
        self._lock_file = _lock(folder)
        self._guard = threading.Lock()
        self._connection = sqlite3.connect(folder / NAME, isolation_level=None, timeout=10, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        _check_version(self._connection, folder)
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS events "
            "(seq INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)"
        )
        self._connection.execute(f"PRAGMA user_version={SCHEMA}")

    def append(self, *events: Event) -> list[Entry]:
        """Writes events durably, all or none; safe to call from several threads."""
        with self._guard:
            at = time.time()
            entries = []
            synced = any(event.kind in SYNCED for event in events)
            self._connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            for event in events:
                cursor = self._connection.execute(
                    "INSERT INTO events (at, kind, body) VALUES (?, ?, ?)",
                    (at, event.kind, event.model_dump_json()),
                )
                entries.append(Entry(seq=int(cursor.lastrowid or 0), at=at, event=event))
            self._connection.execute("COMMIT")
            return entries

    def entries(self) -> list[Entry]:
        with self._guard:
            return _entries(self._connection)

    def close(self) -> None:
        self._connection.close()
        os.close(self._lock_file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(folder: Path) -> list[Entry]:
    """All events of a run, also while another process writes to it."""
    path = folder / NAME
    if not path.is_file():
        raise RunError(
            f"{str(folder)!r} is not a run folder: it has no {NAME}.",
            "`palmette runs` lists the runs.",
            code="unknown-run",
        )
    connection = sqlite3.connect(path, timeout=10)
    try:
        _check_version(connection, folder)
        return _entries(connection)
    except (sqlite3.DatabaseError, ValidationError) as error:
        raise RunError(
            f"The journal {str(path)!r} cannot be read: {error}.",
            "Start the run anew.",
            code="broken-journal",
        ) from error
    finally:
        connection.close()


def is_running(folder: Path) -> bool:
    """Whether a live process holds the run."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    rows = connection.execute("SELECT seq, at, body FROM events ORDER BY seq").fetchall()
    return [Entry(seq=seq, at=at, event=EVENT.validate_json(body)) for seq, at, body in rows]


def _check_version(connection: sqlite3.Connection, folder: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, SCHEMA):  # 0: a journal that is just being made
        age, remedy = ("a newer", "Update palmette to read it.") if version > SCHEMA else ("an older", "Start it anew.")
        raise RunError(
            f"The run in {str(folder)!r} was written by {age} palmette (journal format {version}, not {SCHEMA}).",
            remedy,
            code="other-journal",
        )


def _lock(folder: Path) -> int:
    """Takes the run for this process; the kernel gives it back when the process dies, however it dies."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    for patience in (0.05, 0.2, None):  # somebody may just be asking whether the run is in use
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            if patience is None:
                owner = os.read(descriptor, 20).decode(errors="replace").strip()
                os.close(descriptor)
                raise RunError(
                    f"The run in {str(folder)!r} is in use by process {owner or '?'}.",
                    "Wait for it, or stop it and resume the run.",
                    code="run-in-use",
                ) from error
            time.sleep(patience)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor
