"""A snapshot of the state within a long journal, so that opening it folds only the later events.

Snapshots are only a shortcut: one from another version of the fold, or an unreadable one, is ignored.
"""

from __future__ import annotations

import hashlib
import sqlite3
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from palmette.engine import state as fold
from palmette.engine.state import RunState

EVERY = 1000
"""Events between snapshots."""
TABLE = (
    "CREATE TABLE IF NOT EXISTS snapshot (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER, fold TEXT, body TEXT)"
)


class Snapshot(NamedTuple):
    """A state and the last event in it."""

    state: RunState = RunState()
    seq: int = 0
    """Of the last event in it."""


def keep(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Replaces the previous snapshot."""
    body = _states().dump_json(snapshot.state).decode()
    connection.execute("REPLACE INTO snapshot VALUES (1, ?, ?, ?)", (snapshot.seq, _fold(), body))


def kept(connection: sqlite3.Connection) -> Snapshot:
    """The snapshot of a journal; an empty state if there is no valid one."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'snapshot'").fetchone():
        return Snapshot()
    found = connection.execute("SELECT body, seq FROM snapshot WHERE fold = ?", (_fold(),)).fetchone()
    try:
        return Snapshot(_states().validate_json(found[0]), found[1]) if found else Snapshot()
    except ValidationError:
        return Snapshot()


@cache
def _states() -> TypeAdapter[RunState]:
    return TypeAdapter(RunState)


@cache
def _fold() -> str:
    """Identifies the fold: the digest of its source."""
    return hashlib.sha256(Path(fold.__file__).read_bytes()).hexdigest()
