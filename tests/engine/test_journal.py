"""The journal: order, atomicity, readers, versions, damage."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from palmette.engine import Journal, list_runs, read_journal
from palmette.engine.events import ActorReused, RunEnded
from palmette.engine.journal import NAME, is_running
from palmette.errors import RunError


def test_events_come_back_in_order_and_with_their_types(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(ActorReused(actor="a"), ActorReused(actor="b"))
        journal.append(RunEnded(status="finished"))
    entries = read_journal(tmp_path)
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert entries[1].event == ActorReused(actor="b") and entries[2].event == RunEnded(status="finished")


def test_many_threads_may_write_and_a_reader_may_look(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        threads = [
            threading.Thread(target=lambda name=name: [journal.append(ActorReused(actor=name)) for _ in range(20)])
            for name in "abc"
        ]
        for thread in threads:
            thread.start()
        assert len(read_journal(tmp_path)) <= 60
        for thread in threads:
            thread.join()
        assert is_running(tmp_path)
    assert len(read_journal(tmp_path)) == 60 and not is_running(tmp_path)


def test_a_journal_of_a_newer_palmette_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path):
        pass
    with sqlite3.connect(tmp_path / NAME) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(RunError, match="newer palmette"):
        read_journal(tmp_path)


@pytest.mark.parametrize("content", [b"not a database, but long enough to be taken for one" * 50, b"short"])
def test_a_damaged_journal_is_named_and_does_not_hide_the_other_runs(tmp_path: Path, content: bytes) -> None:
    with Journal(tmp_path / "good") as journal:
        journal.append(RunEnded(status="finished"))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / NAME).write_bytes(content)
    with pytest.raises(RunError, match="broken-journal"):
        read_journal(tmp_path / "bad")
    assert [run.id for run in list_runs(tmp_path)] == ["good"]


def test_what_is_no_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        read_journal(tmp_path)
