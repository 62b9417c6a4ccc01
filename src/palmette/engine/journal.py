"""The append-only record of a run: one SQLite file in WAL mode with one writer, and the state folded from its events.

An event survives `kill -9` once `append` returns. Costly events (paid calls, finished attempts, people's answers) are
also synced to disk at once, together with everything before them. A power failure can lose later events, which only
record how to proceed; a resume makes them again.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from palmette.engine.events import EVENT, CallAnswered, Entry, Event
from palmette.engine.state import RunState, fold
from palmette.engine.storage import LOCK, disk_errors, journal_errors, sync_folder, take_lock
from palmette.errors import MachineError, RunError

SCHEMA = 4  # version of the journal's format, kept in the file as `user_version`
SYNCED = frozenset({
    "run_opened", "run_started", "call_answered", "attempt_succeeded", "attempt_failed", "human_answered", "approved",
    "artefact_edited", "run_ended",
})  # fmt: skip
"""Kinds of events that `append` syncs to disk before it returns."""
NAME = "journal.sqlite"
PATIENCE = 10.0  # seconds to wait for another program's lock
_EVENTS = (
    "CREATE TABLE IF NOT EXISTS events "
    "(seq INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL)"
)
_FOREIGN = (
    "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') "
    "UNION ALL SELECT name FROM pragma_table_xinfo('events') WHERE hidden"
)
"""Database objects that could hang or change a read or a write."""


class Journal(AbstractContextManager["Journal"]):
    """The journal of a run folder, open for writing by exactly one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / NAME
        with disk_errors(folder):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                sync_folder(folder.parent)
        self.state, self.seq = RunState(), 0
        self.answers: dict[str, str] = {}  # digests of the answers to paid calls, by the request's
        self._guard = threading.Lock()
        self._epoch = time.time() - time.monotonic()  # clock jumps do not reorder this process's events
        with ExitStack() as held:
            lock = take_lock(folder)
            held.callback(os.close, lock)
            with journal_errors(self._path, writes=True):
                self._connection = sqlite3.connect(
                    self._path, isolation_level=None, timeout=PATIENCE, check_same_thread=False
                )
                held.callback(self._connection.close)
                self._connection.execute("PRAGMA journal_mode=WAL")
                _check_version(self._connection, folder)
                self._connection.execute(_EVENTS)
                self._connection.execute(f"PRAGMA user_version={SCHEMA}")
                self._files = {folder / LOCK: os.fstat(lock), self._path: self._path.stat()}
                self._take(_entries(self._connection))
            self._held = held.pop_all()

    def append(self, *events: Event) -> list[Entry]:
        """Writes events durably, all or none. Thread-safe."""
        synced = any(event.kind in SYNCED for event in events)
        with self._guard:
            self._require_place()
            with journal_errors(self._path, writes=True):
                self._connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
                entries = self._write(events, self._epoch + time.monotonic())
            self._take(entries)
            return entries

    def _take(self, entries: list[Entry]) -> None:
        self.state, self.seq = fold(entries, self.state), self.seq + len(entries)
        events = (entry.event for entry in entries)
        self.answers |= {event.request: event.answer for event in events if isinstance(event, CallAnswered)}

    def _require_place(self) -> None:
        """Raises `MachineError` if the file was moved or another process could write to it."""
        for path, opened in self._files.items():
            try:
                if os.path.samestat(path.stat(), opened):
                    continue
                what = "is another file now"
            except OSError as error:
                what = f"is gone ({error.strerror})"
            raise MachineError(
                f"The run in {str(self.folder)!r} was moved or changed while it was worked on: {path.name} {what}.",
                "Resume it where it is now.",
                code="moved-run",
            )

    def _write(self, events: tuple[Event, ...], at: float) -> list[Entry]:
        entries = []
        with self._connection:  # commits, or rolls back
            self._connection.execute("BEGIN IMMEDIATE")
            for event in events:
                row = (at, event.kind, event.model_dump_json())
                cursor = self._connection.execute("INSERT INTO events (at, kind, body) VALUES (?, ?, ?)", row)
                entries.append(Entry(seq=int(cursor.lastrowid or 0), at=at, event=event))
        return entries

    def close(self) -> None:
        with self._guard:  # SQLite crashes if a connection is closed while another thread uses it
            self._held.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def read_journal(folder: Path, *kinds: str) -> list[Entry]:
    """The events of a run, optionally of some kinds only; works while another process writes."""
    with _reader(folder) as connection:
        return _entries(connection, kinds)


def run_state(folder: Path) -> RunState:
    """The state of a run, folded from its events."""
    return read_end(folder, 0).state


class End(NamedTuple):
    """The end of a journal."""

    state: RunState
    entries: list[Entry]  # the last entries
    earlier: int  # number of entries before them


def read_end(folder: Path, last: int | None) -> End:
    """The state of a run and its last events (None for all)."""
    entries = read_journal(folder)
    earlier = 0 if last is None else max(0, len(entries) - last)
    return End(fold(entries), entries[earlier:], earlier)


@contextmanager
def _reader(folder: Path) -> Iterator[sqlite3.Connection]:
    path = folder / NAME
    with journal_errors(path, writes=False):
        if not path.is_file():
            message = f"{str(folder)!r} is not a run folder: it has no {NAME}."
            raise RunError(message, "`palmette runs` lists the runs.", code="unknown-run")
        with closing(_opened(path)) as connection:
            _check_version(connection, folder)
            yield connection


def _opened(path: Path) -> sqlite3.Connection:
    """A read-only connection. SQLite needs a file beside a WAL journal to coordinate with writers. Where it may not
    create one, it reads without coordination, and another process's current write may be missing or rejected.
    """
    if os.access(path.parent, os.W_OK):
        return sqlite3.connect(path, timeout=PATIENCE)
    has_wal = path.with_name(f"{NAME}-wal").exists()
    how = "mode=ro&vfs=unix-none" if has_wal else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _entries(connection: sqlite3.Connection, kinds: Collection[str] = ()) -> list[Entry]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
        return []  # its creator was killed before the first event
    chosen = f"WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    rows = connection.execute(f"SELECT seq, at, body FROM events {chosen} ORDER BY seq", tuple(kinds)).fetchall()
    if not kinds and [seq for seq, _, _ in rows] != list(range(1, len(rows) + 1)):
        raise ValueError("events are missing")
    return [Entry(seq=seq, at=at, event=_event(seq, body)) for seq, at, body in rows]


def _event(seq: int, body: str) -> Event:
    try:
        return EVENT.validate_json(body)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"]) or "its kind"
        raise ValueError(f"event {seq} does not fit at {place}") from error


def _check_version(connection: sqlite3.Connection, folder: Path) -> None:
    """RunError for an unsupported version; ValueError for contents that palmette does not write."""
    if foreign := connection.execute(_FOREIGN).fetchone():
        raise ValueError(f"it has {foreign[0]!r}, which is computed or acts by itself")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, SCHEMA):  # 0: a journal that is being created
        age, remedy = (
            ("a newer", "Update palmette to read it.") if version > SCHEMA else ("an older", "Start a new one.")
        )
        message = f"The run in {str(folder)!r} was written by {age} palmette (journal format {version}, not {SCHEMA})."
        raise RunError(message, remedy, code="other-journal")
