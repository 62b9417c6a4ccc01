"""Programs are bounded, see no secrets, and leave nothing running."""

import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from palmette.sandbox import (
    LEVELS,
    Access,
    ExecutionResult,
    Limits,
    Sandbox,
    isolation_of,
    python_command,
    relative_to_root,
)
from palmette.sandbox.process import Process
from palmette.sandbox.supervisor import memory
from palmette.sandbox.supervisor.disk import Disk
from palmette.sandbox.supervisor.tree import threads

MARK = "palmette-test-marker"


def run_python(code: str, tmp_path: Path, *arguments: str, **options: Any) -> ExecutionResult:
    return Sandbox().run(python_command("-c", code, *arguments), cwd=tmp_path, **options)


def running(mark: str) -> list[int]:
    """Processes whose command line holds the mark, zombies aside."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def becomes_true(condition: Callable[[], bool], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_a_program_gives_exit_code_and_streams(tmp_path: Path) -> None:
    result = run_python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr) == (7, "out\n", "err\n")
    assert result.ended == "exited" and not result.ok


def test_success_is_ok(tmp_path: Path) -> None:
    assert run_python("pass", tmp_path).ok


def test_a_program_that_does_not_exist_is_a_value(tmp_path: Path) -> None:
    result = Sandbox().run(["no-such-program"], cwd=tmp_path)
    assert not result.ok and "no-such-program" in result.stderr


def test_standard_input_is_what_was_given_or_empty(tmp_path: Path) -> None:
    code = "import sys; print(repr(sys.stdin.read()))"
    assert run_python(code, tmp_path, stdin=b"three rows").stdout == "'three rows'\n"
    assert run_python(code, tmp_path).stdout == "''\n"


def test_time_is_bounded(tmp_path: Path) -> None:
    started = time.monotonic()
    result = run_python("while True: pass", tmp_path, limits=Limits(seconds=0.5))
    assert result.ended == "timeout" and "0.5 s" in result.note and not result.ok
    assert time.monotonic() - started < 5


@pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")
@pytest.mark.parametrize("limit", [None, 1.0], ids=["ends by itself", "runs out of time"])
def test_grandchildren_in_sessions_of_their_own_are_ended(tmp_path: Path, limit: float | None) -> None:
    mark = f"{MARK}-{os.getpid()}-{limit}"
    wait = "" if limit is None else "; time.sleep(300)"
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True,"
        f" stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); time.sleep(0.3){wait}"
    )
    double = f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(300) # {mark}"
    result = run_python(code, tmp_path, double, limits=Limits(seconds=limit or 30))
    assert result.ended == ("exited" if limit is None else "timeout")
    assert becomes_true(lambda: not running(mark))


def test_a_flood_of_output_keeps_first_and_last(tmp_path: Path) -> None:
    code = "print('first'); [print('x' * 1000) for _ in range(20_000)]; print('last')"
    result = run_python(code, tmp_path, limits=Limits(output_chars=2000))
    assert result.ok and len(result.stdout) < 2200
    assert result.stdout.startswith("first\n") and result.stdout.endswith("last\n")
    assert "left out" in result.stdout


def test_secrets_do_not_reach_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PYTHONPATH"):
        monkeypatch.setenv(name, "planted-4711")
    result = run_python("import os; print(dict(os.environ))", tmp_path, env={"VIEW": "spend"})
    assert "planted" not in result.stdout and "'VIEW': 'spend'" in result.stdout


def test_home_and_temp_are_private_and_removed(tmp_path: Path) -> None:
    code = "import os, tempfile; print(os.environ['HOME']); open(tempfile.mkstemp()[1], 'w').write('x')"
    folder = Path(run_python(code, tmp_path).stdout.strip())
    assert folder != Path.home() and not folder.exists()


def test_a_file_may_not_grow_without_bound(tmp_path: Path) -> None:
    result = run_python("open('big', 'wb').write(b'0' * 3_000_000)", tmp_path, limits=Limits(file_mb=1))
    assert not result.ok and (tmp_path / "big").stat().st_size <= 1 << 20


def test_memory_may_be_bounded(tmp_path: Path) -> None:
    result = run_python("x = bytearray(800_000_000)", tmp_path, limits=Limits(memory_mb=400))
    assert not result.ok and "MemoryError" in result.stderr


def test_open_files_are_bounded(tmp_path: Path) -> None:
    result = run_python("x = [open('/dev/null') for _ in range(100)]", tmp_path, limits=Limits(open_files=32))
    assert not result.ok and "Too many open files" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_a_fork_bomb_is_ended(tmp_path: Path) -> None:
    code = "import os, time\nfor _ in range(200):\n    os.fork() or time.sleep(300)\ntime.sleep(300)"
    result = run_python(code, tmp_path, limits=Limits(processes=20, seconds=30))
    assert result.ended == "killed" and "more than 20 processes" in result.note


def test_new_privileges_cannot_be_had(tmp_path: Path) -> None:
    result = run_python("print(open('/proc/self/status').read())", tmp_path)
    assert "NoNewPrivs:\t1" in result.stdout


def test_death_by_signal_is_told(tmp_path: Path) -> None:
    result = run_python("import os; os.abort()", tmp_path)
    assert result.exit_code == -signal.SIGABRT and result.ended == "killed" and "SIGABRT" in result.note


def test_files_are_counted_only_when_they_may_be_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, counted = [0], []
    disk = Disk([str(tmp_path)], 1, 1)
    monkeypatch.setattr(disk, "_lost", lambda: lost[0])
    stats = (one.stat() for one in iter(lambda: tmp_path / "file", None))
    monkeypatch.setattr(disk, "_changed", lambda _: counted.append(lost[0]) or [next(stats)])
    monkeypatch.setattr("palmette.sandbox.supervisor.disk._PATIENCE", 0)
    for kilobytes, written in ((900, 100), (2000, 900), (2100, 1000), (2200, 1030)):  # others write, too
        lost[0] = kilobytes << 10
        (tmp_path / "file").write_bytes(bytes(written << 10))
        assert disk.is_exceeded([]) == (written == 1030)
    assert counted == [2000 << 10, 2200 << 10]


def test_a_program_leaves_a_quarter_of_the_room_on_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.sandbox.supervisor.disk._free", lambda _: (8 << 20, 1000))
    assert [Disk([str(tmp_path)], bound, 1).bound_mb for bound in (5, 262144)] == [5, 6]


def test_room_that_others_make_is_not_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1 << 40, 1 << 30]
    monkeypatch.setattr("palmette.sandbox.supervisor.disk._free", lambda _: tuple(free))
    disk = Disk([str(tmp_path)], 1, 1)
    free[0] += 4 << 20
    assert not disk.is_exceeded([])
    (tmp_path / "file").write_bytes(bytes(2 << 20))
    free[0] -= 2 << 20
    assert disk.is_exceeded([])


def test_files_are_bounded_in_number_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.sandbox.supervisor.disk._PATIENCE", 0)
    monkeypatch.setattr("palmette.sandbox.supervisor.disk.FILES", 20)
    free = [1 << 40, 1 << 30]
    monkeypatch.setattr("palmette.sandbox.supervisor.disk._free", lambda _: tuple(free))
    disk = Disk([str(tmp_path)], 1024, 1)
    for number in range(21):
        assert not disk.is_exceeded([])
        (tmp_path / str(number)).touch()
        free[1] -= 1
    assert disk.is_exceeded([])


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_who_asks_for_memory_is_ended_before_others(tmp_path: Path) -> None:
    assert run_python("print(open('/proc/self/oom_score_adj').read())", tmp_path).stdout.strip() == "1000"


@pytest.mark.parametrize(
    ("held", "lost", "sockets", "is_exceeded"),
    [
        ("VmRSS: 900 kB", 0, 0, False),
        ("VmRSS: 900 kB\nVmPTE: 200 kB", 0, 0, True),
        ("VmRSS: 900 kB\nVmSwap: 200 kB", 0, 0, True),
        ("VmRSS: 1200 kB", 0, 0, False),
        ("VmRSS: 1200 kB\nunshared", 0, 0, True),
        ("VmRSS: 900 kB", 1000, 3, False),
        ("VmRSS: 100 kB\nHugetlbPages: 1000 kB\nunshared:", 0, 0, True),
        ("VmRSS: 900 kB", 1100, 2, False),
        ("VmRSS: 900 kB", 1100, 3, True),
    ],
)
def test_memory_is_what_processes_and_the_kernel_hold_for_them(
    held: str, lost: int, sockets: int, is_exceeded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1 MB; pages that are shared count once, sockets (of 60 kB) only where the machine has lost as much."""
    files = {"meminfo": "MemAvailable: 9000 kB", "7/status": held, "7/smaps_rollup": "Pss: 800 kB"}
    files |= {"7/smaps_rollup": "Pss: 800 kB\nSwapPss: 300 kB"} if "VmSwap" in held else {}
    files |= {"7/smaps_rollup": "Pss: 900 kB"} if "VmPTE" in held else {}
    files |= {"7/smaps_rollup": ""} if "unshared" in held else {}
    files |= {f"sys/net/core/{name}": "30720\n" for name in ("wmem_max", "rmem_max")}
    monkeypatch.setattr(memory, "read", lambda place: files.get(place, "").encode())
    monkeypatch.setattr(memory, "_sockets", lambda _: sockets)
    found = memory.MemoryUse(1, [])
    files["meminfo"] = f"MemAvailable: {9000 - lost} kB"
    assert found.is_exceeded([7]) == is_exceeded


@pytest.mark.parametrize(
    ("grown", "seen", "maps", "is_exceeded"),
    [
        (900, 0, "7f00-7f01 rw-s 0 00:01 5 /dev/zero (deleted)", True),
        (900, 900, "7f00-7f01 rw-s 0 00:01 5 /dev/zero (deleted)", False),
        (100, 0, "7f00-7f01 rw-s 0 00:01 5 /dev/zero (deleted)", False),
        (900, 0, "7f00-7f01 rw-p 0 00:00 0 [heap]", False),
    ],
)
def test_memory_that_processes_share_and_have_let_go_of_counts(
    grown: int, seen: int, maps: str, is_exceeded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"meminfo": "MemAvailable: 9000 kB\nShmem: 50 kB", "7/status": "VmRSS: 500 kB", "7/maps": maps}
    files |= {"7/smaps_rollup": f"Pss: 400 kB\nPss_Shmem: {seen} kB"}
    monkeypatch.setattr(memory, "read", lambda place: files.get(place, "").encode())
    found = memory.MemoryUse(1, [])
    files["meminfo"] = f"MemAvailable: 7900 kB\nShmem: {50 + grown} kB"
    assert found.is_exceeded([7]) == is_exceeded


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_on_its_way_and_what_is_only_mapped_is_told(tmp_path: Path) -> None:
    disk, mine = Disk([str(tmp_path)], 1, 1), [os.getpid()]
    before, woken = threads(mine), threading.Event()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(woken.wait) for _ in range(3)]
        assert threads(mine) >= before + len(waiting)
        woken.set()
    assert disk._hidden(mine) == 0
    ours, theirs = socket.socketpair()
    with ours, theirs, (tmp_path / "file").open("w+b") as file:
        file.write(b"x")
        file.flush()
        (tmp_path / "file").unlink()
        with mmap.mmap(file.fileno(), 1):
            assert disk._hidden(mine) == 1 << 20
        socket.send_fds(ours, [b"x"], [file.fileno()])
        assert disk._hidden(mine) > 1 << 40 and memory._sockets(mine) >= 2
    assert disk._hidden(mine) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("level", sorted(LEVELS))
def test_everything_ends_when_palmette_is_killed(level: str, tmp_path: Path) -> None:
    if reason := isolation_of(level).missing():
        pytest.skip(reason)
    mark = f"{MARK}-orphan-{level}-{os.getpid()}"
    code = (
        "import sys; from pathlib import Path; from palmette.sandbox import Sandbox, python_command\n"
        "from palmette.sandbox.temporary import new_folder; (new_folder() / 'folder').mkdir()\n"
        "server = Sandbox().start(python_command('-c', sys.argv[1]), cwd=Path(sys.argv[2]))\n"
        "print('started', server.scratch, flush=True); import time; time.sleep(300)"
    )
    argument = f"import os, time\nif not os.fork(): os.setsid(); os.fork()\ntime.sleep(300) # {mark}"
    parent = subprocess.Popen(
        [sys.executable, "-c", code, argument, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PALMETTE_ISOLATION": level},
    )
    assert parent.stdout
    scratch = Path(parent.stdout.readline().split()[1])
    assert becomes_true(lambda: len(running(mark)) >= 4) and scratch.exists(), "with palmette itself"
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert becomes_true(lambda: not running(mark) and not scratch.parents[1].exists()), "all temporary folders"


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("shared", [True, False])
def test_a_folder_that_others_use_keeps_its_rights(level: str, shared: bool, tmp_path: Path) -> None:
    """Else a server could shut its clients, and whoever starts them, out of the folder that theirs lie in."""
    if reason := isolation_of(level).missing():
        pytest.skip(reason)
    access = Access(write=(tmp_path,), shared=shared)
    code = f"import os; os.chmod({str(tmp_path)!r}, 0o500)"
    done = Sandbox(isolation_of(level)).run(python_command("-c", code), cwd=tmp_path, access=access)
    assert done.ok and (tmp_path.stat().st_mode & 0o200 > 0) == (shared or level == "landlock")


def test_a_server_is_started_read_and_stopped(tmp_path: Path) -> None:
    code = "import time; print('ready', flush=True); time.sleep(300)"
    server = Sandbox().start(python_command("-c", code), cwd=tmp_path)
    assert becomes_true(lambda: "ready" in server.output())
    assert server.alive and server.output() == "ready\n"
    server.stop()
    server.stop()
    assert not server.alive and not server.scratch.exists()


def test_many_programs_run_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: run_python(f"print({n})", tmp_path), range(24)))
    assert [result.stdout for result in results] == [f"{n}\n" for n in range(24)]


def test_a_large_environment_reaches_the_program(tmp_path: Path) -> None:
    text = "x" * 100_000
    result = run_python("import os; print(len(os.environ['TEXT']))", tmp_path, env={"TEXT": text})
    assert result.stdout == "100000\n", result


def test_a_supervisor_that_cannot_start_is_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.sandbox.process._HERE", str(tmp_path))
    result = run_python("pass", tmp_path, env={"TEXT": "x" * 100_000})
    assert result.ended == "killed" and not result.ok


def test_the_environment_is_not_among_the_arguments(tmp_path: Path) -> None:
    code = "import os, pathlib; print(pathlib.Path(f'/proc/{os.getppid()}/cmdline').read_text())"
    assert "hidden" not in run_python(code, tmp_path, env={"TOKEN": "hidden"}).stdout


def test_a_program_can_be_ended_from_another_thread(tmp_path: Path) -> None:
    sandbox, mark = Sandbox(), f"{MARK}-interrupted-{os.getpid()}"
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(sandbox.run, python_command("-c", "import time; time.sleep(60)", mark), cwd=tmp_path)
        assert becomes_true(lambda: bool(running(mark)))
        started = time.monotonic()
        sandbox.interrupt()
        assert not waiting.result().ok and time.monotonic() - started < 20
    assert becomes_true(lambda: not running(mark))


def test_a_program_that_is_ended_before_it_begins_never_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox, begin = Sandbox(), Process.begin

    def interrupted(supervised: Process) -> None:
        sandbox.interrupt()
        begin(supervised)

    monkeypatch.setattr(Process, "begin", interrupted)
    result = sandbox.run(python_command("-c", "open('begun', 'w')"), cwd=tmp_path)
    assert not result.ok and not (tmp_path / "begun").exists()


def test_what_a_program_says_is_told_alike_wherever_and_whenever_it_ran(tmp_path: Path) -> None:
    said = {
        relative_to_root(folder, f'File "{folder.resolve()}/a.py", <Session object at {address:#x}> is 0x1f at noon')
        for folder, address in ((tmp_path, 140289), (tmp_path / "other", 140291))
    }
    assert said == {'File "a.py", <Session object at ...> is 0x1f at noon'}


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("def f(): raise ValueError('a NaN\\nsee page 3')\nf()", "ValueError: a NaN"),
        ("try: 1 / 0\nexcept Exception: raise KeyError('price')", "KeyError: 'price'"),
        ("import sys; sys.exit('one\\ntwo')", "two"),
        ("print(1)", ""),
    ],
)
def test_the_error_line_says_what_went_wrong(code: str, line: str, tmp_path: Path) -> None:
    assert run_python(code, tmp_path).error_line == line
