"""The journal: order, atomicity, readers, versions, damage."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from palmette.engine import Journal, fold, list_runs, read_journal, run_state
from palmette.engine.events import ActorReused, Decided, RunEnded
from palmette.engine.journal import NAME, read_end
from palmette.engine.storage import is_running
from palmette.errors import MachineError, RunError


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
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
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
    runs = {run.id: run for run in list_runs(tmp_path)}
    assert runs["good"].status == "finished" and runs["bad"].status == "unreadable"
    assert "journal.sqlite' cannot be read" in runs["bad"].reason


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("""UPDATE events SET body = '{"kind": "sung"}' WHERE seq = 2""", "event 2 does not fit at its kind"),
        ("""UPDATE events SET body = '{"kind": "actor_reused"}' WHERE seq = 2""", "event 2 does not fit at"),
        ("DROP TABLE events; CREATE TABLE events (seq INTEGER)", "no such column"),
    ],
)
def test_damage_inside_a_journal_is_one_line(tmp_path: Path, statement: str, says: str) -> None:
    with Journal(tmp_path) as journal:
        journal.append(ActorReused(actor="a"), ActorReused(actor="b"))
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.executescript(statement)
    for read in (lambda: read_journal(tmp_path), lambda: Journal(tmp_path)):
        with pytest.raises(RunError, match="broken-journal") as caught:
            read()
        assert says in caught.value.message and "\n" not in str(caught.value)


def test_a_journal_that_was_only_just_made_is_empty(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / NAME).touch()
    assert read_journal(tmp_path / "new") == [] and list_runs(tmp_path)[0].status == "killed"


@pytest.mark.parametrize("was_killed", [True, False])
def test_a_run_that_may_not_be_written_can_be_read(
    was_killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was killed, with its last events in the WAL file alone; nothing is written anywhere."""
    journal, archive = Journal(tmp_path / "run"), tmp_path / "a b?#%41😀"
    journal.append(ActorReused(actor="a"))
    if not was_killed:
        journal.close()
    shutil.copytree(tmp_path / "run", archive, ignore=shutil.ignore_patterns("*-shm"))
    journal.close()
    before = {path: path.read_bytes() for path in archive.iterdir()}
    assert (archive / f"{NAME}-wal" in before) == was_killed
    monkeypatch.setattr("palmette.engine.journal.os.access", lambda *_: False)  # whoever runs the tests may be root
    assert len(read_journal(archive)) == 1 and read_end(archive, None).state.actor("a").reuses == 1
    assert {path: path.read_bytes() for path in archive.iterdir()} == before


def test_a_full_disk_is_the_machine_s(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal._connection.execute("PRAGMA max_page_count=1")
        with pytest.raises(MachineError, match="full"):
            journal.append(*(ActorReused(actor="a" * 2000) for _ in range(20)))
        journal._connection.execute("PRAGMA max_page_count=1000")
        journal.append(ActorReused(actor="b"))
    assert [entry.event.actor for entry in read_journal(tmp_path)] == ["b"]


def test_the_end_of_a_journal_has_the_whole_state_and_the_last_events(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(*(Decided(next="a", target="a") for _ in range(20)))
        journal.append(*(ActorReused(actor="a") for _ in range(30)))
        state = journal.state
    end = read_end(tmp_path, 5)
    assert (end.state, len(end.entries), end.earlier) == (state, 5, 45)
    assert end.state == run_state(tmp_path) == fold(read_journal(tmp_path))
    with Journal(tmp_path) as journal:
        assert journal.state == state and journal.seq == 50


def test_events_that_are_missing_are_damage(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(*(ActorReused(actor="a") for _ in range(9)))
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.executescript("DELETE FROM events WHERE seq = 4")
    with pytest.raises(RunError, match=r"events are missing.*\[broken-journal\]"):
        run_state(tmp_path)


@pytest.mark.parametrize(
    "script",
    [
        "ALTER TABLE events RENAME TO kept; CREATE VIEW events AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL "
        "SELECT x + 1 FROM c) SELECT kept.* FROM kept, c",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
        "ALTER TABLE events ADD COLUMN more AS (hex(zeroblob(90000000)))",
    ],
    ids=["view", "trigger", "computed"],
)
def test_a_journal_that_computes_or_acts_by_itself_is_refused(script: str, tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(ActorReused(actor="a"))
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.executescript(script)
    for use in (run_state, Journal):
        with pytest.raises(RunError, match="broken-journal"):
            use(tmp_path)


def test_what_is_no_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        read_journal(tmp_path)


def test_whoever_cannot_open_a_journal_holds_nothing(tmp_path: Path) -> None:
    """Neither the run nor a descriptor, in a process that lives on."""
    with Journal(tmp_path) as journal:
        journal.append(ActorReused(actor="a"))
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(b"x" * len(content))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(RunError, match="broken-journal"):
            Journal(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    (tmp_path / NAME).write_bytes(content)
    with Journal(tmp_path) as journal:
        journal.append(ActorReused(actor="a"))
