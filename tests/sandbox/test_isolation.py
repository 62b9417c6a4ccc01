"""Hostile programs get nothing, at each level of isolation that works here; more of them: `make bench-hostile`."""

import errno
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from palmette.errors import MachineError, UserError
from palmette.sandbox import Access, Bubblewrap, Isolation, Landlock, Limits, Sandbox, isolation_of, python_command
from palmette.sandbox.access import interpreter
from palmette.sandbox.isolation import VARIABLE, best_isolation
from palmette.sandbox.process import _trial
from palmette.sandbox.reading import swept
from palmette.sandbox.supervisor.folders import remove
from palmette.sandbox.supervisor.memory import _used_kb
from palmette.sandbox.syscalls import ARCHITECTURES, filter_of, rules
from palmette_bench.hostile.attempts import attempt, programs

QUICK = """ssh-key symlink environment-of-parents memory-of-another handle-of-a-file tcp udp unix-socket
    unix-pair-datagram unix-abstract io-uring append rename-out truncate mode kernel-settings mount memory-that-stays
    kill-another kill-the-parent trace-another double-fork keep-the-streams fork memory-of-children memory-of-nobody
    files-deleted rights-of-the-owner-at-birth deep-file watch-a-folder message-of-another slow-all-of-the-user
    files-mapped answer-swapped all-watches-of-a-user hold-up-who-opens"""
LOOPBACK = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close(); server.accept()[0].close()
print(server.getsockname()[1], flush=True)
one = server.accept()[0]; one.sendall(one.recv(100).upper())
"""


@pytest.mark.parametrize("name", QUICK.split())
def test_a_hostile_program_gets_nothing(isolated: Sandbox, name: str) -> None:
    for program in programs(frozenset({name})):
        outcome = attempt(program, isolated)
        assert not outcome.found, outcome.result
        assert outcome.result.isolation == isolated.isolation.name


FORGED = """every-report-passes start-up-file plugin-of-the-same-name
    one-test-is-not-called one-test-becomes-another one-test-is-left-out report-of-another-test
    encoder-of-the-encoder-is-replaced two-processes-speak one-test-is-collected-as-another settings-choose-by-name
    tracer-that-jumps"""


@pytest.mark.parametrize("name", FORGED.split())
def test_no_outcome_of_a_test_is_forged_by_simple_means(sandbox: Sandbox, name: str) -> None:
    (program,) = programs(frozenset({name}))
    outcome = attempt(program, sandbox)
    assert not outcome.found and outcome.kind == "refused", outcome.result


def test_the_quick_ones_are_among_the_hostile_programs() -> None:
    every = [program.name for program in programs()]
    assert len(every) == len(set(every)) >= 40 and set(every) >= {*QUICK.split()}


OPEN = "ssh-key append tcp unix-abstract kill-another mode memory-that-stays message-of-another"


def test_what_nothing_keeps_from_succeeding_is_noticed() -> None:
    """The scene sees what is got and done: otherwise it would say the same of programs that are kept from it."""
    sandbox = Sandbox(isolation_of("none"))
    names = frozenset(OPEN.split())
    assert {one.name for one in programs(names) if attempt(one, sandbox).kind == "succeeded"} == names


def test_a_program_uses_what_it_was_given_and_nothing_else(isolated: Sandbox, tmp_path: Path) -> None:
    for name in ("given", "kept", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    code = (
        "from pathlib import Path\n"
        "def tried(do, *rest):\n    try: return do(*rest)\n    except OSError: return None\n"
        "print([(n, tried(Path(f'../{n}/file').read_text), tried(Path(f'../{n}/file').write_text, 'x'))"
        " for n in ('given', 'kept', 'other')])"
    )
    access = Access(read=(tmp_path / "given",), write=(tmp_path / "kept",))
    result = isolated.run(python_command("-c", code), cwd=tmp_path / "kept", access=access)
    assert result.stdout == "[('given', 'given', None), ('kept', 'kept', 1), ('other', None, None)]\n", result.stderr
    assert [(tmp_path / name / "file").read_text() for name in ("given", "kept", "other")] == ["given", "x", "other"]


EXCHANGING = """
import os, sys
top, target = sys.argv[1:]; known = set(os.listdir(top)); print("ready", flush=True)
while True:
    for name in set(os.listdir(top)) - known:
        try:
            os.rename(f"{top}/{name}", f"{top}/{name}-old"); os.symlink(target, f"{top}/{name}")
        except OSError:
            pass
        known |= {name, f"{name}-old"}
"""


def test_no_program_can_lead_another_into_a_folder_that_it_was_not_given(isolated: Sandbox, tmp_path: Path) -> None:
    """As the server of Spark might, which sees the private folders of its clients."""
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    work.mkdir()
    command = python_command("-c", EXCHANGING, str(isolated.folder), str(outside))
    server = isolated.start(command, access=Access(write=(isolated.folder,)))
    try:
        while "ready" not in server.output() and server.alive:
            time.sleep(0.02)
        for _ in range(3):
            code = "import os; open(os.environ['HOME'] + '/file', 'w').write(os.path.realpath(os.environ['HOME']))"
            isolated.run(python_command("-c", code), cwd=work)
        assert server.alive and not list(outside.iterdir())
    finally:
        server.stop()


def test_programs_of_a_sandbox_share_a_loopback_and_can_be_called(isolated: Sandbox, tmp_path: Path) -> None:
    server = isolated.start(python_command("-c", LOOPBACK), cwd=tmp_path)
    while not (port := server.output().strip()) and server.alive:
        time.sleep(0.02)
    try:
        assert port, server.output()
        if isolated.network is None:
            pytest.skip("no network of its own on this machine")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port)))
        with isolated.connect("127.0.0.1", int(port), 10) as one:
            one.sendall(b"hello")
            assert one.recv(100) == b"HELLO"
    finally:
        server.stop()


def test_a_network_whose_keeper_was_ended_is_the_machines_fault(isolated: Sandbox, tmp_path: Path) -> None:
    """And of no actor that wanted a socket in it; programs go on."""
    sandbox = Sandbox(isolated.isolation)
    if sandbox.network is None or not sandbox.network.namespaces:
        pytest.skip("no network of its own on this machine")
    (gate,) = [
        int(pid)
        for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
        if b"gate.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ][-1:]
    os.kill(gate, signal.SIGKILL)
    with pytest.raises(MachineError, match=r"\[no-network\]"):
        sandbox.free_port()
    assert sandbox.run(python_command("-c", ""), cwd=tmp_path).ok


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_server_answers_behind_a_port_of_this_machine(isolated: Sandbox, tmp_path: Path) -> None:
    port = free_port()
    code = f"import socket; s = socket.create_server(('127.0.0.1', {port})); print('up', flush=True)\n"
    answer = "one = s.accept()[0]; one.sendall(one.recv(9)[::-1])"
    server = isolated.start(python_command("-c", code + answer), cwd=tmp_path)
    while "up" not in server.output():
        assert server.alive, server.output()
        time.sleep(0.02)
    relay = isolated.publish("127.0.0.1", port)
    with socket.create_connection(("127.0.0.1", port), 10) as one:
        one.sendall(b"abc")
        assert one.recv(9) == b"cba"
    if relay:
        relay.close()
    server.stop()


def test_the_machines_network_is_named_where_a_program_has_it(isolated: Sandbox, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        code = f"import socket; socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}), 5)"
        given = Access(network="machine")
        result = isolated.run(python_command("-c", code), cwd=tmp_path, access=given)
    assert result.ok and result.isolation == f"{isolated.isolation.name} with the machine's network", result.stderr


def test_without_a_network_of_its_own_a_program_calls_the_ports_it_was_given(tmp_path: Path) -> None:
    isolation = Landlock(own_network=False)
    if _trial(isolation):
        pytest.skip("no Landlock")
    assert isolation.name.startswith("landlock without its own network")
    with socket.create_server(("127.0.0.1", 0)) as given, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [one.getsockname()[1] for one in (given, other)]
        code = (
            "import errno, socket, sys\n"
            "def tried(do, *rest):\n    try: do(*rest)\n"
            "    except OSError as error: return errno.errorcode[error.errno]\n"
            f"print([tried(socket.create_connection, ('127.0.0.1', port), 5) for port in {ports}],"
            " tried(socket.socket, socket.AF_INET, socket.SOCK_DGRAM), tried(socket.socket, socket.AF_INET, 1, 262),"
            f" tried(socket.socket().sendto, b'x', 0x20000000, ('127.0.0.1', {ports[1]})))"
        )
        access = Access(ports=(ports[0],))
        result = Sandbox(isolation).run(python_command("-c", code), cwd=tmp_path, access=access)
    assert result.stdout == "[None, 'EACCES'] EACCES EACCES EPERM\n", result.stderr


def refuse(reason: str) -> Callable[[Isolation], str]:
    return lambda isolation: reason if isolation.name != "not isolated" else ""


def test_without_isolation_nothing_runs_unless_it_is_allowed_in_so_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MachineError) as caught:
        best_isolation(refuse("forbidden here"))
    assert caught.value.code == "not-isolated" and "forbidden here" in str(caught.value)
    assert f"{VARIABLE}=none" in str(caught.value)
    assert best_isolation(refuse("forbidden here"), "none").name == "not isolated"
    monkeypatch.setattr(Bubblewrap, "missing", lambda _: "")
    assert best_isolation(refuse("")).name == "bubblewrap"
    with pytest.raises(UserError, match="Did you mean 'landlock'"):
        best_isolation(refuse(""), "landlok")


def test_links_out_and_pipes_are_not_left_for_whoever_reads(tmp_path: Path) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret"
    inside.mkdir()
    secret.write_text("x")
    (inside / "file").write_text("y")
    for name, target in {"out": secret, "up": "../secret", "within": "file", "circle": "circle"}.items():
        (inside / name).symlink_to(target)
    os.mkfifo(inside / "pipe")
    said = swept([inside, tmp_path / "nowhere"], since=0)
    assert sorted(path.name for path in inside.iterdir()) == ["circle", "file", "within"]
    assert all(f"'{name}'" in said for name in ("out", "up", "pipe")) and not swept([inside], since=0)


def test_files_do_not_keep_the_rights_of_their_owner(tmp_path: Path) -> None:
    for name, mode in {"user": 0o4755, "group": 0o2755, "usual": 0o755}.items():
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    said = swept([tmp_path], since=0)
    assert "'user'" in said and "'group'" in said and "'usual'" not in said and not swept([tmp_path], since=0)
    assert {path.stat().st_mode & 0o7777 for path in tmp_path.iterdir()} == {0o755}


def test_whoever_goes_on_filling_a_folder_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    is_over = threading.Event()

    def fill() -> None:
        for number in count():
            if is_over.is_set():
                return
            with suppress(OSError):  # it was taken away
                (tmp_path / "full" / str(number)).mkdir()

    with ThreadPoolExecutor(2) as pool:
        filling = [pool.submit(fill) for _ in range(2)]
        started = time.monotonic()
        for _ in range(3):
            remove(str(tmp_path / "full"), seconds=0.1)
            (tmp_path / "full").mkdir(exist_ok=True)
        with pytest.raises(TimeoutError, match="more in its folders"):
            swept([tmp_path, *[tmp_path / "full"] * 1000], since=0, seconds=0.1)
        taken = time.monotonic() - started
        is_over.set()
    assert taken < 5 and all(one.exception() is None for one in filling)
    remove(str(tmp_path))
    assert not tmp_path.exists()


def test_folders_without_a_floor_and_without_rights_are_taken_away(tmp_path: Path) -> None:
    """Deeper than paths, Python's recursion and the descriptors of a process reach."""
    outside, keeps = tmp_path / "outside", tmp_path / "work" / "keeps"
    outside.mkdir()
    keeps.mkdir(parents=True)
    at = os.open(tmp_path / "work", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("down", dir_fd=at)
        below = os.open("down", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.symlink(outside, "out", dir_fd=at)
    os.close(at)
    assert "'down'" in swept([tmp_path / "work"], since=0) and keeps.is_dir()
    levels = [folder for folder, _, _ in os.walk(tmp_path / "work")]
    assert 90 < len(levels) < 110
    keeps.chmod(0)
    remove(str(tmp_path / "work"))
    (tmp_path / "link").symlink_to(outside)
    remove(str(tmp_path / "link"))
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "link"}


@pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
@pytest.mark.parametrize("own", [False, True])
def test_filters_are_programs_that_end(machine: str, own: bool) -> None:
    """Every jump leads forward to an instruction, and the last one returns."""
    program = filter_of(rules(own_files=own, own_network=own, guards_truncation=own), machine)
    lines = [struct.unpack("=HBBI", program[place : place + 8]) for place in range(0, len(program), 8)]
    assert len(program) % 8 == 0 and len(lines) < 4096 and lines[-1] == (0x06, 0, 0, 0x7FFF0000)
    for place, (code, true, false, value) in enumerate(lines):
        jumps = {0x15: (true, false), 0x35: (true, false), 0x05: (value,)}.get(code, ())
        assert all(place + 1 + jump < len(lines) for jump in jumps)


def judged(program: bytes, number: int, *arguments: int) -> int:
    """What a filter says of a call, as the kernel reads it: an error, 0 where the call is allowed."""
    data = struct.pack("=II8x6Q", number, ARCHITECTURES["x86_64"][1], *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    place = held = 0
    while True:
        code, true, false, value = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            held &= value
        elif code == 0x05:
            place += value
        elif code == 0x06:
            return 0 if value == 0x7FFF0000 else value & 0xFFFF
        else:
            place += true if (held == value if code == 0x15 else held >= value) else false


@pytest.mark.parametrize(
    ("number", "arguments", "own_files", "error"),
    [
        (141, (0, 0, 5), False, 0),  # setpriority: of itself, of another, of its user
        (141, (0, 77, 5), False, errno.EPERM),
        (141, (2, 0, 5), True, errno.EPERM),
        (251, (1, 0), False, 0),  # ioprio_set: the same
        (251, (3, 0), True, errno.EPERM),
        (294, (0,), True, errno.ENOSYS),  # inotify_init1
        (206, (60000,), True, errno.ENOSYS),  # io_setup
        (72, (3, 1024, 0), True, errno.EPERM),  # fcntl: a lease
        (72, (3, 4, 0), False, 0),
        (70, (), True, errno.ENOSYS),  # msgrcv
        (31, (), False, errno.ENOSYS),  # shmctl
        (278, (), True, errno.ENOSYS),  # vmsplice
        (157, (4, 0), True, errno.EPERM),  # prctl: that nobody may look, that it may never become more
        (157, (38, 1), True, 0),
        (90, (0, 0o4755), True, errno.EPERM),  # chmod
        (90, (0, 0o755), True, 0),
        (56, (17,), True, 0),  # clone: a process, a user namespace
        (56, (0x10000011,), True, errno.EPERM),
        (88, (), True, errno.EPERM),  # symlink
        (259, (0, 0, 0o10644), False, errno.EPERM),  # mknodat: a pipe
        (316, (0, 0, 0, 0, 4), True, errno.EINVAL),  # renameat2: a device stays in its place, two are exchanged
        (316, (0, 0, 0, 0, 2), True, 0),
        (0x40000000, (), True, errno.ENOSYS),
    ],
)
def test_calls_are_judged_by_what_they_ask_for(
    number: int, arguments: tuple[int, ...], own_files: bool, error: int
) -> None:
    assert judged(filter_of(rules(own_files=own_files, own_network=True), "x86_64"), number, *arguments) == error


def test_bounds_hold_for_all_processes_together(isolated: Sandbox, tmp_path: Path) -> None:
    child = "held = bytearray(b'x') * (100 << 20); time.sleep(30)"
    code = f"import os, time\nfor _ in range(3):\n    if os.fork() == 0: {child}\ntime.sleep(30)"
    result = isolated.run(python_command("-c", code), cwd=tmp_path, limits=Limits(memory_mb=250, seconds=25))
    assert result.ended == "killed" and "250 MB of memory" in result.note


def test_private_folders_are_memory(isolated: Sandbox, tmp_path: Path) -> None:
    """With the names of their files, which no bound on their size holds."""
    if not isolated.isolation.name.startswith("bubblewrap"):
        pytest.skip("it has none, or the kernel counts them")
    room = SimpleNamespace(f_blocks=7, f_bfree=4, f_frsize=4096, f_files=90, f_ffree=80)
    assert _used_kb(room) == 3 * 4 + 10 * 2  # type: ignore[arg-type]  # as os.statvfs has them
    code = "import time\nfile = open('/tmp/big', 'wb')\nfor _ in range(90): file.write(bytes(1 << 20))\ntime.sleep(30)"
    result = isolated.run(python_command("-c", code), cwd=tmp_path, limits=Limits(memory_mb=60, seconds=25))
    assert result.ended == "killed" and "60 MB of memory" in result.note, result


def test_packages_that_a_path_file_adds_are_the_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages, work = tmp_path / "site-packages", tmp_path / "work"
    monkeypatch.setattr("sys.path", [str(work), str(packages)])
    assert packages in interpreter() and work not in interpreter()
