"""`Sandbox.run` for programs that end, `Sandbox.start` for servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from palmette.errors import MachineError
from palmette.sandbox.isolation import Command, Isolation, LimitsOnly, allowed_environment
from palmette.sandbox.result import ExecutionResult, Limits

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_GRACE = 15.0
"""Seconds that the supervisor may take to end everything once the time is over."""


def python_command(*arguments: str) -> tuple[str, ...]:
    """This interpreter without the user's site packages, the current folder or bytecode writing."""
    return (sys.executable, "-P", "-s", "-B", *arguments)


class Sandbox:
    """Starts programs: bounded, without secrets, and ended together with everything that they started."""

    def __init__(self, isolation: Isolation | None = None) -> None:
        self.isolation = isolation or LimitsOnly()
        self._running: set[_Supervised] = set()

    def interrupt(self) -> None:
        """Ends every program that a `run` in another thread is waiting for."""
        for supervised in tuple(self._running):
            supervised.interrupt()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(),
        stdin: bytes = b"",
    ) -> ExecutionResult:
        """Runs a program to its end. `env` is added to the allow-listed environment."""
        supervised = _Supervised(self.isolation, argv, cwd, env or {}, limits, subprocess.PIPE)
        streams = supervised.popen
        assert streams.stdin and streams.stdout and streams.stderr
        stdout, stderr = (
            _Kept(streams.stdout, limits.output_chars),
            _Kept(streams.stderr, limits.output_chars),
        )
        threading.Thread(target=_feed, args=(streams.stdin, stdin), daemon=True).start()
        self._running.add(supervised)
        try:
            outcome = supervised.wait(None if limits.seconds is None else limits.seconds + _GRACE)
        finally:
            self._running.discard(supervised)
        return ExecutionResult(stdout=stdout.text(), stderr=stderr.text(), isolation=self.isolation.name, **outcome)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(seconds=None),
    ) -> Process:
        """Starts a server; the caller stops it. It ends at the latest when palmette ends."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - the server closes it
        return Process(_Supervised(self.isolation, argv, cwd, env or {}, limits, log), log)


class Process:
    """A server that runs in the sandbox."""

    def __init__(self, supervised: _Supervised, log: IO[bytes]) -> None:
        self._supervised = supervised
        self._log = log

    @property
    def alive(self) -> bool:
        return self._supervised.popen.poll() is None

    @property
    def scratch(self) -> Path:
        """Its private folder, removed when it ends."""
        return self._supervised.scratch

    def output(self, chars: int = 20_000) -> str:
        """The last `chars` characters that it printed, both streams together; nothing once it is stopped."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), chars, max(0, size - chars)).decode("utf-8", "replace")

    def stop(self) -> None:
        """Ends it and everything that it started, if that has not ended, and lets go of its output."""
        self._supervised.stop()
        self._log.close()


class _Supervised:
    """A supervisor process with its two pipes."""

    def __init__(
        self,
        isolation: Isolation,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        limits: Limits,
        output: int | IO[bytes],
    ) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="palmette-"))
        command = isolation.wrap(
            Command(tuple(argv), allowed_environment(os.environ, self.scratch, env)), cwd, self.scratch
        )
        spec = {
            "argv": command.argv,
            "env": dict(command.env),
            "cwd": str(cwd),
            "scratch": str(self.scratch),
            "limits": limits.model_dump(exclude={"output_chars"}),
        }
        control, control_write = os.pipe()
        report_read, report = os.pipe()
        self._control, self._report = os.fdopen(control_write, "wb", buffering=0), os.fdopen(report_read, "rb")
        self.popen = self._popen(control, report, output)
        line = memoryview(json.dumps(spec).encode() + b"\n")
        with suppress(BrokenPipeError):  # it ended at once; `wait` tells
            while line:  # through the pipe, not as an argument: those are public
                line = line[self._control.write(line) :]

    def _popen(self, control: int, report: int, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        piped = output == subprocess.PIPE
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", _SUPERVISOR, str(control), str(report)],
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE if piped else subprocess.STDOUT,
                pass_fds=(control, report),
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            self._report.close()
            raise MachineError(
                f"cannot start a process: {error}",
                "Free memory or processes and try again.",
                code="no-process",
            ) from error
        finally:
            os.close(control)
            os.close(report)

    def wait(self, seconds: float | None) -> dict[str, Any]:
        """How the program ended: the fields exit_code, ended, note, seconds."""
        started = time.monotonic()
        try:
            self._end(seconds)
        except BaseException:
            self.stop()
            raise
        self._control.close()
        with self._report:
            report = self._report.read()
        if report:
            outcome: dict[str, Any] = json.loads(report)
            return outcome
        return {
            "exit_code": -9,
            "ended": "killed",
            "note": "its supervisor was killed",
            "seconds": time.monotonic() - started,
        }

    def interrupt(self) -> None:
        """Has the supervisor end everything; whoever waits for it goes on."""
        self._control.close()

    def stop(self) -> None:
        self.interrupt()
        self._end(_GRACE)
        self._report.close()

    def _end(self, seconds: float | None) -> None:
        """Waits for the supervisor, and kills it when it takes too long."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


class _Kept:
    """Reads a stream to its end in a thread, and keeps its first and last part."""

    def __init__(self, stream: IO[bytes], chars: int) -> None:
        self._half = chars // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
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

    def text(self) -> str:
        """What was kept; waits briefly for the end of the stream."""
        self._thread.join(5)
        self._trim()
        gap = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError), stream:
        stream.write(data)
