"""The state of a journal at one of its events, kept beside them: a long one opens by what came after it alone.

It is a shortcut and nothing more. One that another fold made, or that cannot be read, counts as none.
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
"""Events after which the next one is kept."""
TABLE = (
    "CREATE TABLE IF NOT EXISTS snapshot (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER, fold TEXT, body TEXT)"
)


class Snapshot(NamedTuple):
    """A state, and how far it goes."""

    state: RunState = RunState()
    seq: int = 0
    """Of the last event in it."""


def keep(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Puts a snapshot in the place of the one before."""
    body = _states().dump_json(snapshot.state).decode()
    connection.execute("REPLACE INTO snapshot VALUES (1, ?, ?, ?)", (snapshot.seq, _fold(), body))


def kept(connection: sqlite3.Connection) -> Snapshot:
    """The snapshot of a journal; that of its beginning, where there is none that counts."""
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
    """Which fold a snapshot is of: the digest of its source."""
    return hashlib.sha256(Path(fold.__file__).read_bytes()).hexdigest()
