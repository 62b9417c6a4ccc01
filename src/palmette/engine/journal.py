"""The append-only record of a run: one SQLite file in WAL mode, one writer.

An event that `append` has returned from survives `kill -9` of the process. Against a loss of power, what
cost something (paid calls, finished attempts, people's answers) is synced to the disk at once, and everything before it
with it; the events after it, which only say how to go on, may then be lost and are made again on resume.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
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
        "Make room, or set PALMETTE_RUNS to a folder that you may write to; a run that exists can be copied there.",
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
        with _damage_named(folder):
            self._connection.execute("PRAGMA journal_mode=WAL")
            _check_version(self._connection, folder)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS events "
                "(seq INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)"
            )
            self._connection.execute(f"PRAGMA user_version={SCHEMA}")

    def append(self, *events: Event) -> list[Entry]:
        """Writes events durably, all or none; safe to call from several threads."""
        synced = any(event.kind in SYNCED for event in events)
        with self._guard:
            try:
                self._connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
                return self._write(events, time.time())
            except sqlite3.OperationalError as error:
                raise unwritable(self.folder, str(error)) from error

    def _write(self, events: tuple[Event, ...], at: float) -> list[Entry]:
        entries = []
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
        with self._guard, _damage_named(self.folder):
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
    with _damage_named(folder), _reader(folder) as connection:
        _check_version(connection, folder)
        return _entries(connection)


@contextmanager
def _reader(folder: Path) -> Iterator[sqlite3.Connection]:
    """Reads the journal; where the folder cannot be written, a copy of it, because SQLite writes beside a WAL file."""
    with tempfile.TemporaryDirectory(prefix="palmette-journal-") as copy:
        if not os.access(folder, os.W_OK):
            for path in folder.glob(f"{NAME}*"):
                shutil.copyfile(path, Path(copy) / path.name)
            folder = Path(copy)
        with closing(sqlite3.connect(folder / NAME, timeout=10)) as connection:
            yield connection


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Names the journal that cannot be read."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError, ValueError) as error:
        raise RunError(
            f"The journal {str(folder / NAME)!r} cannot be read: {error}.",
            "Restore the file, or start the run anew; what was made is in `artefacts` beside it.",
            code="broken-journal",
        ) from error


def is_running(folder: Path) -> bool:
    """Whether a live process holds the run."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
        return []  # its maker was killed before the first event
    rows = connection.execute("SELECT seq, at, body FROM events ORDER BY seq").fetchall()
    return [Entry(seq=seq, at=at, event=_event(seq, body)) for seq, at, body in rows]


def _event(seq: int, body: str) -> Event:
    try:
        return EVENT.validate_json(body)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"]) or "its kind"
        raise ValueError(f"event {seq} does not fit at {place}") from error


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
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise unwritable(folder, error.strerror) from error
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
