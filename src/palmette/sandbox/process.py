"""`Sandbox.run` for programs that end, `Sandbox.start` for servers."""

from __future__ import annotations

import marshal
import os
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from palmette.errors import MachineError
from palmette.sandbox.access import Access, ExecutionResult, Limits
from palmette.sandbox.isolation import VARIABLE, Command, Isolation, allowed_environment, best_isolation
from palmette.sandbox.network import Network, NoNetworkError, PortRelay
from palmette.sandbox.reading import swept
from palmette.sandbox.supervisor.folders import remove
from palmette.sandbox.temporary import PATIENCE, new_folder, temporary_folder

_HERE = str(Path(__file__).parent)
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from supervisor.main import main; del sys.path[0]; main()"
_GRACE = 15.0  # seconds for the supervisor to end everything after the timeout
_LOG_CHARS = 1_000_000  # characters kept of a server's output: the first and the last half


def python_command(*arguments: str) -> tuple[str, ...]:
    """This interpreter without user site packages, the current folder or bytecode writing."""
    return (sys.executable, "-P", "-s", "-B", *arguments)


class Sandbox:
    """Starts programs isolated, limited and without secrets, and ends them with all their children."""

    def __init__(self, isolation: Isolation | None = None) -> None:
        """`isolation` defaults to the one named in the environment, or the best that works here.

        Raises:
            MachineError: none works, and `none` was not requested.
        """
        self.isolation = isolation or best_isolation(_trial, os.environ.get(VARIABLE, ""))
        self._running: set[Process] = set()
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._network: Network | None = None

    @property
    def folder(self) -> Path:
        """The parent of the private folders of all its programs."""
        with self._lock:
            if self._folder is None:
                self._folder = new_folder()
                weakref.finalize(self, remove, str(self._folder), None, PATIENCE).atexit = False
            return self._folder

    @property
    def network(self) -> Network | None:
        """The network of its programs; None if they use the machine's."""
        with self._lock:
            if self._network is None:
                self._network = self.isolation.network()
            return self._network

    def connect(self, host: str, port: int, timeout: float | None = None) -> socket.socket:
        """A connection to a server in this sandbox; OSError if there is none."""
        if self.network is None:
            return socket.create_connection((host, port), timeout)
        made = self.network.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            made.settimeout(timeout)
            made.connect((host, port))
        except OSError:
            made.close()
            raise
        return made

    def free_port(self) -> int:
        """A port that no program of this sandbox currently listens on."""
        with self.network.socket() if self.network else socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return int(one.getsockname()[1])

    def publish(self, host: str, port: int) -> PortRelay | None:
        """Publishes a port of the sandbox's loopback on this machine.

        None if its programs use this machine's network anyway. The caller closes it.
        """
        if self.network is None:
            return None
        return PortRelay(host, port, lambda: self.connect("127.0.0.1", port))

    def interrupt(self) -> None:
        """Ends every program that a `run` in another thread is waiting for."""
        for supervised in tuple(self._running):
            supervised.interrupt()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        access: Access | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(),
        stdin: bytes = b"",
    ) -> ExecutionResult:
        """Runs a program to its end. `env` is added to the allow-listed environment.

        Without `access` it may write to `cwd`; with it, `cwd` is read-only unless `access` allows more.
        """
        access = access or Access(write=(cwd,))
        supervised = Process(self, argv, cwd, access, env or {}, limits)
        self._running.add(supervised)
        try:
            supervised.begin()
            streams = supervised.popen
            assert streams.stdin and streams.stdout and streams.stderr
            stdout, stderr = _Kept(streams.stdout, limits.output_chars), _Kept(streams.stderr, limits.output_chars)
            threading.Thread(target=_feed, args=(streams.stdin, stdin), daemon=True).start()
            outcome = supervised.wait(None if limits.seconds is None else limits.seconds + _GRACE)
        finally:
            self._running.discard(supervised)
        try:
            left = swept(access.write, supervised.started, PATIENCE)
        except TimeoutError as error:
            left = str(error)
            outcome |= {"exit_code": -9, "ended": "killed"}
        outcome["note"] = "; ".join(filter(None, [outcome["note"], left]))
        name = self.isolation.name
        if access.network == "machine" and name != "not isolated":
            name = f"{name} with the machine's network"
        return ExecutionResult(stdout=stdout.text(), stderr=stderr.text(), isolation=name, **outcome)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        access: Access | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(seconds=None),
    ) -> Process:
        """Starts a server; the caller stops it. It ends with palmette at the latest.

        `cwd` defaults to its private folder. `access` as in `run`.
        """
        access = access or Access(write=(cwd,) if cwd else ())
        server = Process(self, argv, cwd, access, env or {}, limits, is_server=True)
        server.begin()
        return server


def _trial(isolation: Isolation) -> str:
    """Why even a trivial program does not run under an isolation; empty if it does."""
    with temporary_folder() as folder:
        try:
            done = Sandbox(isolation).run(python_command("-c", ""), cwd=folder, limits=Limits(seconds=20))
        except NoNetworkError as reason:
            return str(reason)
    return "" if done.ok else " ".join(f"{done.stderr[-300:]} {done.note}".split()) or f"exit code {done.exit_code}"


class Process:
    """A program under a supervisor process, to which two pipes lead; `begin` starts it."""

    def __init__(
        self,
        sandbox: Sandbox,
        argv: Sequence[str],
        cwd: Path | None,
        access: Access,
        env: Mapping[str, str],
        limits: Limits,
        is_server: bool = False,
    ) -> None:
        self._sandbox = sandbox  # keeps the sandbox's folder and network alive
        self.started = time.time()
        self.scratch = new_folder(within=sandbox.folder)  # its private folder, removed when it ends
        environment = allowed_environment(os.environ, self.scratch, env)
        command = Command(tuple(argv), environment, (cwd or self.scratch).absolute(), self.scratch, limits)
        network = sandbox.network if access.network == "own" else None
        walls = sandbox.isolation.walls(command, access, network)
        namespaces = list(network.namespaces) if network else []
        bounds = {"memory_mb": limits.memory, "spare_processes": walls.spare_processes}
        self._spec = {
            **walls._asdict(),
            "limits": limits.model_dump(exclude={"output_chars"}) | bounds,
            "namespaces": namespaces,
            "cwd": str(command.cwd),
            "scratch": str(self.scratch),
            "place": str(sandbox.folder.parent),
            "write": [str(path) for path in (*access.write, self.scratch)],
        }
        control, control_write = os.pipe()
        report_read, report = os.pipe()
        self._control, self._report = os.fdopen(control_write, "wb", buffering=0), os.fdopen(report_read, "rb")
        self.popen = self._popen(control, report, namespaces, is_server)
        self._log = _Kept(self.popen.stdout, _LOG_CHARS) if is_server and self.popen.stdout else None

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def output(self, chars: int = 20_000) -> str:
        """The last `chars` characters of a server's output, both streams together; empty once it is stopped."""
        if self._log is None or self._control.closed:
            return ""
        return self._log.text(wait=0 if self.alive else 5)[-chars:]

    def begin(self) -> None:
        """Lets the supervisor start the program."""
        spec = marshal.dumps(self._spec)
        left = memoryview(len(spec).to_bytes(8, "little") + spec)
        with suppress(BrokenPipeError, ValueError):  # it ended at once or was interrupted; `wait` reports it
            while left:  # by pipe, because arguments are public
                left = left[self._control.write(left) :]

    def _popen(self, control: int, report: int, namespaces: list[int], is_server: bool) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, _HERE, str(control), str(report)],
                stdin=subprocess.DEVNULL if is_server else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if is_server else subprocess.PIPE,
                pass_fds=(control, report, *namespaces),
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            self._report.close()
            remedy = "Free memory or processes and try again."
            raise MachineError(f"cannot start a process: {error}", remedy, code="no-process") from error
        finally:
            os.close(control)
            os.close(report)

    def wait(self, seconds: float | None) -> dict[str, Any]:
        """How the program ended: the fields exit_code, ended, note, seconds."""
        started = time.monotonic()
        try:
            self._end(seconds)
        except BaseException:  # an interrupt too must not leave a program behind
            self.stop()
            raise
        self._control.close()
        with self._report:
            report = self._report.read().decode()
        if report:
            code, ended, taken, note = report.split("\n", 3)
            return {"exit_code": int(code), "ended": ended, "note": note, "seconds": float(taken)}
        seconds = time.monotonic() - started
        return {"exit_code": -9, "ended": "killed", "note": "its supervisor was killed", "seconds": seconds}

    def interrupt(self) -> None:
        """Lets the supervisor end everything, which releases a waiting thread."""
        self._control.close()

    def stop(self) -> None:
        """Ends it and everything that it started."""
        self.interrupt()
        self._end(_GRACE)
        self._report.close()

    def _end(self, seconds: float | None) -> None:
        """Waits for the supervisor, and kills it if it takes too long."""
        is_ending = not self.alive or _reports(self._report, seconds)
        try:
            self.popen.wait(_GRACE if is_ending else 0)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        remove(str(self.scratch), seconds=PATIENCE)


def _reports(report: IO[bytes], seconds: float | None) -> bool:
    """Whether a supervisor writes its report, its last act, in time; `Popen.wait` alone looks twenty times a second."""
    look = select.poll()
    with suppress(ValueError):  # another thread has closed it at the end
        look.register(report)
        return bool(look.poll(None if seconds is None else seconds * 1000))
    return True


class _Kept:
    """Reads a stream in a thread, and keeps its first and last part."""

    def __init__(self, stream: IO[bytes], chars: int) -> None:
        self._half = chars // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
                with self._lock:
                    room = self._half - len(self._head)
                    self._head += chunk[:room]
                    self._tail += chunk[room:]
                    if len(self._tail) > 2 * self._half + 65536:
                        self._trim()

    def _trim(self) -> None:
        excess = len(self._tail) - self._half
        if excess > 0:
            self._dropped += excess
            del self._tail[:excess]

    def text(self, wait: float = 5) -> str:
        """The kept text; waits at most `wait` seconds for the end of the stream."""
        self._thread.join(wait)
        with self._lock:
            self._trim()
            gap = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
            return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError), stream:
        stream.write(data)
