"""The process between palmette and a sandboxed program; run by path, standard library only.

It sets the limits, starts the program, and ends everything that descends from it (also what left its session)
when the program ends, its time is over, or the control pipe closes, which it does whenever palmette ends.
Arguments: two file descriptors. From the first it reads one line, a JSON object with argv, env, cwd, scratch
(a folder to remove at the end) and limits (as in `Limits`). To the second it writes one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_COUNT_EVERY = 0.2
_KILL_FOR = 5.0


def main() -> None:
    control, report = int(sys.argv[1]), int(sys.argv[2])
    spec = json.loads(_line(control))
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    started = time.monotonic()
    program = os.fork()
    if program == 0:
        os.close(control)
        os.close(report)
        _become(spec)
    outcome = _watch(program, spec["limits"], control, wake_read)
    outcome["seconds"] = time.monotonic() - started
    _kill_tree(program)
    _remove(spec["scratch"])
    with suppress(OSError):
        os.write(report, json.dumps(outcome).encode())


def _line(control: int) -> bytes:
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(control, 65536)
        if not part:
            sys.exit("palmette ended before it said what to run")
        text += part
    return text


def _become(spec: dict[str, Any]) -> NoReturn:
    """Turns the forked child into the program."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        limits = spec["limits"]
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, limits["file_mb"] << 20)
        _limit(resource.RLIMIT_NOFILE, limits["open_files"])
        if limits["memory_mb"]:
            _limit(resource.RLIMIT_AS, limits["memory_mb"] << 20)
        os.chdir(spec["cwd"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        os.write(2, f"cannot start {spec['argv'][0]!r}: {error}\n".encode())
    finally:
        os._exit(127)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def _watch(program: int, limits: dict[str, Any], control: int, wake: int) -> dict[str, Any]:
    """Waits for the program, its time limit or the control pipe, whichever is first."""
    seconds, most = limits["seconds"], limits["processes"]
    deadline = time.monotonic() + seconds if seconds else float("inf")
    while True:
        status = _reap(program)
        if status is not None:
            return _ended(status)
        left = deadline - time.monotonic()
        if left <= 0:
            return _stopped("timeout", f"it ran longer than {seconds:g} s")
        ready = select.select([control, wake], [], [], min(left, _COUNT_EVERY))[0]
        if control in ready:
            return _stopped("killed", "it was stopped")
        if wake in ready:
            os.read(wake, 512)
        elif len(_descendants()) > most:
            return _stopped("killed", f"it had more than {most} processes")


def _ended(status: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return {"exit_code": code, "ended": "exited", "note": ""}
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    note = "it wrote a larger file than is allowed" if name == "SIGXFSZ" else f"{name} ended it"
    return {"exit_code": code, "ended": "killed", "note": note}


def _stopped(ended: str, note: str) -> dict[str, Any]:
    return {"exit_code": -int(signal.SIGKILL), "ended": ended, "note": note}


def _reap(program: int | None = None) -> int | None:
    """Collects all children that have ended; the program's status when it is among them."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                found = status
    return found


def _descendants() -> list[int]:
    """Process ids of everything below this process; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the start-up time
            if name.isdigit():
                with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123 - likewise
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _kill_tree(program: int) -> None:
    """Kills the program's session, then whatever is left below this process, until nothing is."""
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    until = time.monotonic() + _KILL_FOR
    while time.monotonic() < until:
        _reap()
        left = _descendants()
        if not left:
            return
        for sign in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: a fork bomb cannot outrun the killing
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, sign)
        time.sleep(0.01)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the process group is what is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
