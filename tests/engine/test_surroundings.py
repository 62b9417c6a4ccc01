"""What a machine does to a run: full and read-only disks, locks, clocks that jump, moved folders, files cut short."""

import ctypes
import errno
import os
import shutil
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_kill import artefacts, in_child, successes
from toys import Part, Toy, chain

from palmette.engine import (
    Attempt,
    Context,
    Journal,
    Setup,
    read_journal,
    resume_run,
    run_state,
    run_topology,
)
from palmette.engine import artefacts as storing
from palmette.engine import journal as journals
from palmette.engine.journal import NAME, SCHEMA
from palmette.engine.storage import is_running
from palmette.errors import MachineError, PalmetteError, RunError


def diamond() -> Setup:
    return chain(Toy("a"), Toy("b", ["a"]), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    run_topology(diamond(), folder)
    return folder


def goes_on(folder: Path, undisturbed: Path) -> None:
    """A resume ends as if nothing had been, and repeats nothing."""
    assert resume_run(folder, setup=diamond()).status == "finished"
    assert artefacts(folder) == artefacts(undisturbed) and successes(folder) == successes(undisturbed)


def cut_off(folder: Path, after: int) -> Path:
    """A run that was killed after so many events."""

    def work() -> None:
        original = Journal.append

        def append(self: Journal, *events: Any) -> Any:
            entries = original(self, *events)
            if entries[-1].seq >= after:
                os.kill(os.getpid(), 9)
            return entries

        Journal.append = append  # type: ignore[method-assign]  # in a process of its own
        run_topology(diamond(), folder)

    assert in_child(work) == -9
    return folder


@pytest.mark.parametrize("number", range(1, 60, 4))
def test_a_disk_that_is_full_at_any_write_ends_in_one_message_and_loses_nothing(
    number: int, tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects, working copies and the journal share the disk: from the n-th write on, nothing more fits."""
    writes = 0

    def fits() -> bool:
        nonlocal writes
        writes += 1
        return writes < number

    write, append = storing.write_whole, Journal._write

    def full_write(path: Path, content: bytes, *, synced: bool = False) -> None:
        if not fits():
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, content, synced=synced)

    def full_append(self: Journal, events: Any, at: float) -> Any:
        size = self._connection.execute("PRAGMA page_count").fetchone()[0] if not fits() else 0
        self._connection.execute(f"PRAGMA max_page_count={size or 2**30}")
        return append(self, events * 400 if size else events, at)

    with monkeypatch.context() as patch:
        patch.setattr(storing, "write_whole", full_write)
        patch.setattr(Journal, "_write", full_append)
        try:
            run_topology(diamond(), tmp_path / "run")
        except MachineError as error:
            assert (error.code, error.exit_code) == ("unwritable-runs", 3) and "\n" not in str(error)
        else:
            assert writes < number
    if run_state(tmp_path / "run").opened is None:
        run_topology(diamond(), tmp_path / "run")
    goes_on(tmp_path / "run", undisturbed)


@pytest.mark.parametrize("method", ["run", "check"])
def test_a_full_disk_under_an_actor_is_no_mistake_of_its_own(method: str, tmp_path: Path, undisturbed: Path) -> None:
    class Writing(Toy):
        def full(self, *_: Any) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device", "big.csv")

    broken = Writing("b", ["a"])
    setattr(broken, method, broken.full)
    toys = [Toy("a"), broken, Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)]
    with pytest.raises(MachineError, match=r"No space left on device at 'big.csv'.*\[full\]"):
        run_topology(chain(*toys), tmp_path)
    assert run_state(tmp_path).ended is not None and not run_state(tmp_path).actor("b").attempts
    goes_on(tmp_path, undisturbed)


def without_privileges() -> None:
    """From now on permissions hold in this process, for root as well."""
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(version, none) == 0


@pytest.mark.parametrize("folder", [".", "objects", "artefacts"])
def test_a_run_folder_that_is_read_only_says_so(folder: str, tmp_path: Path, undisturbed: Path) -> None:
    cut_off(tmp_path / "run", after=8)

    def work() -> None:
        without_privileges()
        protected = [tmp_path / "run" / folder, *(tmp_path / "run" / folder).rglob("*")]
        for path in protected:
            path.chmod(0o555)
        with pytest.raises(MachineError, match="unwritable-runs"):
            resume_run(tmp_path / "run", setup=diamond())
        for path in protected:
            path.chmod(0o755)
        goes_on(tmp_path / "run", undisturbed)

    assert in_child(work) == 0


def test_a_run_of_somebody_else_that_may_not_be_looked_at_says_so(tmp_path: Path) -> None:
    cut_off(tmp_path / "run", after=8)

    def work() -> None:
        without_privileges()
        (tmp_path / "run").chmod(0)
        for look in (read_journal, resume_run):
            with pytest.raises(RunError, match=r"Permission denied.*another user's"):
                look(tmp_path / "run")
        (tmp_path / "run").chmod(0o755)

    assert in_child(work) == 0


def test_a_journal_that_another_program_locks_is_said_so_and_goes_on(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "PATIENCE", 0.05)
    cut_off(tmp_path, after=8)
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(read_journal(tmp_path)) == 8, "readers wait for nobody"
        with pytest.raises(MachineError, match=r"is locked by another program.*\[locked-journal\]"):
            resume_run(tmp_path, setup=diamond())
    goes_on(tmp_path, undisturbed)


def test_a_journal_that_is_locked_in_the_middle_of_a_run(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "PATIENCE", 0.05)
    others: list[sqlite3.Connection] = []

    class Locking(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Part]:
            others.append(sqlite3.connect(tmp_path / NAME, isolation_level=None))
            others[0].execute("BEGIN IMMEDIATE")
            return super().run(input, context)

    with pytest.raises(MachineError, match="locked-journal"):
        run_topology(chain(Toy("a"), Locking("b", ["a"]), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)), tmp_path)
    others[0].close()
    goes_on(tmp_path, undisturbed)


@pytest.mark.parametrize("jumps", [(1e8,), (-1e8,), (1e8, -2e8, 3e8)])
def test_a_clock_that_jumps_changes_neither_order_nor_times(
    jumps: tuple[float, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Jumping(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Part]:
            nonlocal_jump = offsets.pop(0) if offsets else 0.0
            now = time.time()
            monkeypatch.setattr(journals.time, "time", lambda: now + nonlocal_jump)
            return super().run(input, context)

    offsets = list(jumps)
    toys = [Jumping("a"), Jumping("b", ["a"]), Jumping("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path)
    assert resume_run(tmp_path, setup=chain(*toys)).status == result.status == "finished", "no time budget is used up"
    entries = read_journal(tmp_path)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    last = next(index for index, entry in enumerate(entries) if entry.event.kind == "run_resumed")
    assert all(before.at <= after.at for before, after in pairwise(entries[:last]))
    assert 0 <= result.state.spent.seconds < 60
    assert all(getattr(entry.event, "seconds", 0.0) >= 0 for entry in entries)


@pytest.mark.parametrize("way", [shutil.move, shutil.copytree], ids=["moved", "copied"])
@pytest.mark.parametrize("after", [3, 9, 14])
def test_a_run_that_was_moved_or_copied_goes_on_in_its_new_place(
    way: Any, after: int, tmp_path: Path, undisturbed: Path
) -> None:
    cut_off(tmp_path / "here", after)
    way(tmp_path / "here", tmp_path / "there" / "run")
    goes_on(tmp_path / "there" / "run", undisturbed)
    assert not [path for path in (tmp_path / "there").rglob("*") if path.is_symlink()]
    if way is shutil.copytree:
        goes_on(tmp_path / "here", undisturbed)


@pytest.mark.parametrize(("version", "says"), [(1, "an older palmette"), (SCHEMA + 1, "a newer palmette")])
def test_a_journal_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path, version: int, says: str) -> None:
    run_topology(diamond(), tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    before = (tmp_path / NAME).read_bytes()
    for use in (lambda: run_state(tmp_path), lambda: resume_run(tmp_path, setup=diamond()), lambda: Journal(tmp_path)):
        with pytest.raises(RunError, match=rf"{says} \(journal format {version}, not {SCHEMA}\).*\[other-journal\]"):
            use()
    assert (tmp_path / NAME).read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_journal_that_is_cut_short_is_one_message_and_nothing_is_written(share: float, tmp_path: Path) -> None:
    run_topology(diamond(), tmp_path)
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(content[: int(len(content) * share)])
    before = artefacts(tmp_path)
    with pytest.raises(PalmetteError) as caught:
        resume_run(tmp_path, setup=diamond())
    assert caught.value.code == ("broken-journal" if share else "empty-run") and "\n" not in str(caught.value)
    assert artefacts(tmp_path) == before and (tmp_path / NAME).stat().st_size == int(len(content) * share)


def test_what_a_killed_writer_left_half_done_goes_with_the_resume(tmp_path: Path, undisturbed: Path) -> None:
    cut_off(tmp_path, after=8)
    (tmp_path / "objects" / ".0123.99999-1.draft").write_bytes(b"half")
    (tmp_path / "work" / "001-b" / "left.txt").parent.mkdir(parents=True, exist_ok=True)
    goes_on(tmp_path, undisturbed)
    assert not list(tmp_path.rglob("*.draft")) and not list((tmp_path / "work").iterdir())


class Delivering(Toy):
    """Puts its part where people can take it away."""

    place: Path

    def run(self, input: Any, context: Context) -> Attempt[Part]:
        self.place.write_text(self.name)
        return super().run(input, context)

    def stands(self, input: Any, output: Part) -> bool:
        return self.place.exists()


def test_what_was_delivered_and_taken_away_is_delivered_again(tmp_path: Path) -> None:
    def toys() -> list[Toy]:
        last = Delivering("b", ["a"], strict=True)
        last.place = tmp_path / "delivered"
        return [Toy("a"), last]

    run_topology(chain(*toys()), tmp_path / "run")
    there = toys()
    resume_run(tmp_path / "run", setup=chain(*there))
    assert [len(toy.runs) for toy in there] == [0, 0]
    (tmp_path / "delivered").unlink()
    gone = toys()
    assert resume_run(tmp_path / "run", setup=chain(*gone)).status == "finished"
    assert [len(toy.runs) for toy in gone] == [0, 1] and (tmp_path / "delivered").exists()
    kinds = [entry.event.kind for entry in read_journal(tmp_path / "run")]
    assert kinds.count("actor_undone") == 1


@pytest.mark.parametrize("change", ["renamed", "removed", "journal", "lock"])
def test_a_run_folder_that_is_changed_under_a_run_stops_it(change: str, tmp_path: Path, undisturbed: Path) -> None:
    """At once, so that nothing is written where nobody looks for it, and no other process works beside."""
    folder, now = tmp_path / "run", tmp_path / "run"

    class Changing(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Part]:
            nonlocal now
            if change == "renamed":
                now = folder.rename(tmp_path / "elsewhere")
            elif change == "removed":
                shutil.rmtree(folder)
            elif change == "journal":
                shutil.copy(folder / NAME, folder / "copy")
                (folder / "copy").replace(folder / NAME)
            else:
                (folder / "run.lock").unlink()
            return super().run(input, context)

    toys = [Toy("a"), Changing("b", ["a"]), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)]
    with pytest.raises(MachineError, match=r"moved-run|unwritable-runs"):
        run_topology(chain(*toys), folder)
    assert folder.exists() == (change not in ("renamed", "removed"))
    if change in ("renamed", "lock"):
        goes_on(now, undisturbed)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_nothing_can_be_locked_no_run_begins(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    run_topology(diamond(), tmp_path / "made")
    monkeypatch.setattr("palmette.engine.storage.fcntl.flock", flock)
    with pytest.raises(MachineError, match=r"cannot be locked.*\[no-locks\]"):
        run_topology(diamond(), tmp_path / "run")
    assert not is_running(tmp_path / "made")


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.EMFILE, "Too many open files"), BlockingIOError(errno.EAGAIN, "No more processes")],
    ids=lambda error: type(error).__name__,
)
def test_what_the_machine_has_no_more_of_is_no_mistake_of_an_actor(
    error: Exception, tmp_path: Path, undisturbed: Path
) -> None:
    class Short(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Part]:
            raise error

    toys = [Toy("a"), Short("b", ["a"]), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)]
    with pytest.raises(MachineError, match=r"\[scarce\]"):
        run_topology(chain(*toys), tmp_path)
    assert not run_state(tmp_path).actor("b").attempts
    goes_on(tmp_path, undisturbed)


def test_a_disk_that_cannot_sync_folders_keeps_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert run_topology(diamond(), tmp_path / "run").status == "finished"


def test_what_an_object_is_called_is_on_the_disk_before_an_event_speaks_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order: its content, its name, the event."""
    synced: list[str] = []
    sync, append = os.fsync, Journal.append

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def appended(self: Journal, *events: Any) -> Any:
        synced.extend(event.kind for event in events)
        return append(self, *events)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Journal, "append", appended)
    run_topology(chain(Toy("a", strict=True)), tmp_path / "run")
    assert synced[0] == tmp_path.name, "the run folder's own name"
    event = synced.index("attempt_succeeded")
    last = max(index for index, name in enumerate(synced[:event]) if name.endswith(".draft"))
    assert synced[last + 1] == "objects" and last + 1 < event
