"""Containers give what every level gives; the engine here is a stand-in, see `engine_stand_in`."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_stand_in import IMAGE, Service

from palmette.errors import MachineError, UserError
from palmette.sandbox import Access, Limits, Sandbox, isolation_of, python_command
from palmette.sandbox.isolation import best_isolation
from palmette.sandbox.process import _trial

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="containers share the kernel of Linux")
LEVEL = f"docker:{IMAGE}"
FOREVER = "import os, time; print(os.getpid(), flush=True); time.sleep(300)"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    folder = tmp_path / "engine"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    service = Service(folder)
    yield service
    service.close()


@pytest.fixture
def contained(service: Service) -> Sandbox:
    return Sandbox(isolation_of(LEVEL))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work, and more").mkdir()
    return tmp_path / "work, and more"


def becomes_true(test: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not test() and time.monotonic() < until:
        time.sleep(0.02)
    return test()


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_program_gets_what_it_gets_at_every_level(contained: Sandbox, service: Service, work: Path) -> None:
    code = (
        "import os, sys; open('made', 'w').write(sys.stdin.read()); print(sorted(os.environ), os.getcwd());"
        "print('aside', file=sys.stderr); sys.exit(int(sys.argv[1]))"
    )
    given = {"TEXT": "two\nlines"}
    told = contained.run(python_command("-c", code, "7"), cwd=work, stdin=b"hello", env=given)
    plain = Sandbox(isolation_of("none")).run(python_command("-c", code, "7"), cwd=work, stdin=b"hello", env=given)
    assert (told.exit_code, told.stderr, told.ended) == (7, "aside\n", "exited")
    assert told == plain.model_copy(update={"isolation": told.isolation, "seconds": told.seconds})
    assert (work / "made").read_text() == "hello"
    assert told.isolation == f"docker {IMAGE}"
    aborted = contained.run(python_command("-c", "import os; os.abort()"), cwd=work)
    assert (aborted.exit_code, aborted.ended, aborted.note) == (-6, "killed", "SIGABRT ended it")
    assert not service.running.keys() - {contained.network.name if contained.network else ""}


def test_it_is_asked_for_with_no_more_than_it_may_have(
    contained: Sandbox, service: Service, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_KEY", "planted")
    limits = Limits(memory_mb=300, processes=10)
    access = Access(read=(work,), network="machine")
    contained.run(python_command("-c", ""), cwd=work, env={"TEXT": "hidden"}, access=access, limits=limits)
    (asked,) = service.asked
    assert all((asked.rm, asked.init, asked.read_only, asked.interactive, asked.no_healthcheck))
    assert (asked.network, asked.pull, asked.cap_drop, asked.log_driver) == ("host", "never", "ALL", "none")
    assert (asked.memory, asked.memory_swap, asked.pids_limit) == ("300m", "300m", "160")
    assert asked.user == f"{os.getuid()}:{os.getgid()}" and "no-new-privileges" in asked.security_opt
    assert all(one.endswith("=") for one in asked.env) and "HTTPS_PROXY=" in asked.env
    mounts = {one for one in asked.mount if not one.rstrip('"').endswith("readonly")}
    assert len(mounts) == 1 and "palmette-" in mounts.pop(), "its private folder alone may be changed"
    assert f'type=bind,"src={work}","dst={work}",readonly' in asked.mount
    assert "hidden" not in str(asked) and not any("SERVICE_KEY" in one for one in service.clients)
    assert service.places and not any(one == Path.cwd() or one.exists() for one in service.places)


def test_only_a_program_that_may_use_gpus_is_given_them(
    contained: Sandbox, service: Service, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palmette.sandbox.access.GPU_FOLDER", tmp_path)
    devices = [tmp_path / name for name in ("nvidiactl", "nvidia-uvm", "nvidia0")]
    for device in devices:
        device.touch()
    for gpu in (False, True):
        contained.run(python_command("-c", ""), cwd=work, access=Access(gpu=gpu, network="machine"))
    assert [one.device for one in service.asked] == [[], [*map(str, devices)]]


def test_it_ends_where_it_runs_when_its_time_is_over(contained: Sandbox, service: Service, work: Path) -> None:
    told = contained.run(python_command("-c", FOREVER), cwd=work, limits=Limits(seconds=2))
    assert told.ended == "timeout" and told.stdout, told
    assert becomes_true(lambda: not is_alive(told.stdout.strip()))


def test_it_ends_where_it_runs_when_palmette_is_killed(service: Service, work: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from palmette.sandbox import Sandbox, isolation_of, python_command\n"
        "server = Sandbox(isolation_of(sys.argv[1])).start(python_command('-c', sys.argv[2]), cwd=Path(sys.argv[3]))\n"
        "while server.alive and not server.output(): time.sleep(0.05)\n"
        "print(server.output(), flush=True); input()"
    )
    command = [sys.executable, "-c", code, LEVEL, FOREVER, str(work)]
    palmette = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert palmette.stdout
    pid = palmette.stdout.readline().strip()
    was_alive, were_running = is_alive(pid), len(service.running)
    palmette.kill()
    palmette.communicate()
    assert was_alive and were_running == 2, "the program, and its network"
    assert becomes_true(lambda: not is_alive(pid) and not service.running)


def test_programs_of_a_sandbox_share_a_network(contained: Sandbox, service: Service, work: Path) -> None:
    contained.run(python_command("-c", ""), cwd=work)
    assert contained.network
    assert [one.network for one in service.asked] == ["none", f"container:{contained.network.name}"]
    with contained.network.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        contained.connect("127.0.0.1", server.getsockname()[1], 5).close()


def test_what_is_missing_is_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert best_isolation(_trial, LEVEL).name == f"docker {IMAGE}"
    with pytest.raises(MachineError, match=r"No such image: other; .* docker import - other` makes an empty one"):
        best_isolation(_trial, "docker:other")
    with pytest.raises(UserError, match="docker:IMAGE"):
        isolation_of("docker")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MachineError, match="podman is not installed"):
        best_isolation(_trial, "podman:other")
