"""What stands for Docker where there is none: a client that speaks its command line, and a service that runs programs.

The service is a thread of the test, so that programs are not below whoever asked for them, as with the real one. It
puts up no walls: what is shown with it is that programs are asked for in words that Docker knows, and ended.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

IMAGE = "empty"
_FLAGS = ("--rm", "--init", "--read-only", "--interactive", "--no-healthcheck")
_ONE = """--name --network --pull --cap-drop --log-driver --user --entrypoint --memory --memory-swap --pids-limit
    --shm-size --tmpfs"""
_MANY = ("--security-opt", "--env", "--mount", "--device")
_CLIENT = """#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX) as service:
    service.connect({path!r})
    socket.send_fds(service, [json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode() + b"\\n"], [0, 1, 2])
    sys.exit(int(service.makefile().read()))
"""


def parsed(argv: list[str]) -> argparse.Namespace:
    """The arguments of `docker run`; what it does not know, or is not given, is an error."""
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for flag in _FLAGS:
        parser.add_argument(flag, action="store_true")
    for option in _ONE.split():
        parser.add_argument(option)
    for option in _MANY:
        parser.add_argument(option, action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


class Service:
    """Listens in a folder, where the client lies as `docker`."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[argparse.Namespace] = []
        self.clients: list[dict[str, str]] = []
        self.places: list[Path] = []
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / "service"))
        self._listening.listen()
        client = folder / "docker"
        client.write_text(_CLIENT.format(python=sys.executable, path=str(folder / "service")), encoding="utf-8")
        client.chmod(0o755)
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for name in tuple(self.running):
            self._end(name)

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listening.accept()[0],), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            said, fds, _, _ = socket.recv_fds(client, 1 << 20, 3)
            while not said.endswith(b"\n"):
                said += client.recv(1 << 20)
            argv, environment, place = json.loads(said)
            self.clients.append(environment)
            if argv[0] == "run":
                self.places.append(Path(place))
            try:
                status = self._done(argv, fds)
            finally:
                for fd in fds:
                    os.close(fd)
            with suppress(OSError):  # it was killed
                client.sendall(str(status).encode())

    def _done(self, argv: list[str], fds: list[int]) -> int:
        match argv:
            case ["image", "inspect", name]:
                if name != IMAGE:
                    os.write(fds[2], f"Error response from daemon: No such image: {name}\n".encode())
                return int(name != IMAGE)
            case ["rm", "--force", name]:
                return self._end(name)
            case ["run", *rest]:
                return self._run(parsed(rest), fds)
        return 125

    def _run(self, wanted: argparse.Namespace, fds: list[int]) -> int:
        self.asked.append(wanted)
        if wanted.image != IMAGE or wanted.network.removeprefix("container:") not in {"none", "host", *self.running}:
            return 125
        streams: dict[str, Any] = dict(zip(("stdin", "stdout", "stderr"), fds, strict=True))
        program = subprocess.Popen([wanted.entrypoint, *wanted.command], env={}, cwd="/", process_group=0, **streams)
        self.running[wanted.name] = program
        code = program.wait()
        del self.running[wanted.name]
        return code if code >= 0 else 128 - code

    def _end(self, name: str) -> int:
        program = self.running.get(name)
        if program is None:
            return 1
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        return 0
