"""Warm Spark: one Spark Connect server for many short programs, each with its own session."""

import importlib.util
import re
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Self

from palmette.errors import MachineError
from palmette.sandbox.access import Access, Limits
from palmette.sandbox.java import java_environment, make_archive, quick_options
from palmette.sandbox.process import Process, Sandbox

_LOGGING = Path(__file__).with_name("log4j2.properties")
_MORTAL = "-XX:+ExitOnOutOfMemoryError"
"""Without it, a server out of memory keeps running and answers with errors or not at all."""
_START_SECONDS = 180.0
_ANSWER_SECONDS = 30.0
_READY = re.compile(r"started at: \S*?:(\d+)")

QUICK_PLANS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For frames of a few rows, compiling a plan costs more than interpreting it, and a broadcast more than a join."""
_SERVER: Mapping[str, str] = {
    **QUICK_PLANS,
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.connect.session.manager.defaultSessionTimeout": "30m",
    "spark.log.level": "ERROR",
}
"""Clients may override them."""


class WarmSpark(AbstractContextManager["WarmSpark"]):
    """A Spark Connect server that starts on first use, restarts once if it dies, and is always stopped.

    Any client can make it run any program, and influence later clients. So its clients are programs of
    one author (the built-in rules) or one attempt; others get another server by `handed_over`.

    `master` is where it runs its plans (`local[2]`, a cluster's URL), or the URL of an existing server
    (`sc://...`), which is used as it is and never stopped.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        *,
        master: str = "local[2]",
        memory: str = "1g",
        access: Access = Access(),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`access`: the folders of input and output tables, by the paths that its clients use.

        The server always sees the private folders of its clients, and jobs on a cluster use the machine's
        network. `settings` override the server's own, which suit frames of a few rows.
        """
        self.sandbox = sandbox or Sandbox()
        """Programs in it can reach the server, and the server sees files in its folder."""
        self._master, self._memory, self._access, self._settings = master, memory, access, settings or {}
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._port = ""
        self._deaths = 0
        self._last_output = ""

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def remote(self) -> str:
        """The URL for clients; starts the server if it is not running.

        Raises:
            MachineError: it cannot be started, or (`spark-died`) a client's requests have killed it twice.
        """
        if self.is_external:
            return self._master
        with self._lock:
            self._bury()
            if self._process is None:
                self._start()
            return f"sc://127.0.0.1:{self._port}/"

    def seen_by(self, access: Access) -> Access:
        """A program's access extended by what a client needs; starts the server if it is not running."""
        if self.is_external:
            return access.model_copy(update={"network": "machine"})
        _ = self.remote
        return access.model_copy(update={"ports": (*access.ports, int(self._port))})

    @property
    def alive(self) -> bool:
        """Whether clients can connect now, without starting the server; a hanging server is stopped."""
        process = self._process  # another thread may release it
        if self.is_external or process is None:
            return self.is_external
        if process.alive and not self._answers():
            process.stop()
        return process.alive

    @property
    def is_external(self) -> bool:
        """Whether it is an external server, possibly on another machine with other files."""
        return self._master.startswith("sc://")

    def warm_up(self) -> None:
        """Starts the server in the background; `remote` raises its errors."""

        def start() -> None:
            with suppress(MachineError):
                _ = self.remote

        threading.Thread(target=start, daemon=True).start()

    def keep_classes(self) -> Path:
        """Makes the class archive, which halves the start-up time of later servers, if it does not exist.

        Raises:
            MachineError: it cannot be made.
        """
        return make_archive(self.sandbox, lambda java: _command("local[2]", self._memory, {}, java), _READY.pattern)

    def handed_over(self) -> Self:
        """The running server, if any, for another author's programs; the caller stops it. This one restarts on use.

        Its sandbox goes with it: the folder and the loopback that its clients used are no longer
        shared.
        """
        other = type(self)(
            self.sandbox, master=self._master, memory=self._memory, access=self._access, settings=self._settings
        )
        with self._lock:
            self._bury()
            other._process, other._port, self._process = self._process, self._port, None
            self.sandbox = Sandbox(self.sandbox.isolation)
        return other

    def stop(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.stop()
                self._process = None

    def _answers(self) -> bool:
        """Whether it accepts a new connection; a stopped or hanging server does not."""
        with suppress(OSError), self.sandbox.connect("127.0.0.1", int(self._port), _ANSWER_SECONDS) as connection:
            return bool(connection.recv(1))
        return False

    def _bury(self) -> None:
        """Releases a dead server."""
        if self._process is not None and not self._process.alive:
            self._last_output = self._process.output(600)
            self._process.stop()
            self._process = None
            self._deaths += 1

    def _start(self) -> None:
        if self._deaths > 1:
            message = f"The Spark server died twice. Its last output:\n{self._last_output.strip() or '(nothing)'}"
            raise MachineError(message, "Give it more memory, or look at what it was asked to do.", code="spark-died")
        process = self.sandbox.start(
            _command(self._master, self._memory, self._settings, quick_options()),
            access=Access(
                read=(*self._access.read, _LOGGING),
                write=(*self._access.write, self.sandbox.folder),
                shared=True,
                network="own" if self._master.startswith("local") else "machine",
            ),
            env=java_environment(),
            limits=Limits(seconds=None, file_mb=65536, disk_mb=262144, open_files=65536, processes=512),
        )
        try:
            self._port = _wait_for_port(process)
        except BaseException:  # an interrupt too must not leave a server behind
            process.stop()
            raise
        self._process = process


def _command(master: str, memory: str, given: Mapping[str, str], java: str) -> list[str]:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        remedy = "Run `pip install 'palmette[spark]'`."
        raise MachineError("The package pyspark is not installed.", remedy, code="no-pyspark")
    settings = {
        **_SERVER,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_MORTAL}",
        "spark.driver.extraJavaOptions": java,
        **given,
    }
    # The shell expands HOME, the sandbox's private folder: the server leaves nothing in the current one.
    script = 'cd "$HOME" && exec "$0" "$@" --conf spark.sql.warehouse.dir="$HOME/warehouse" spark-internal'
    submit = str(Path(found.origin).parent / "bin" / "spark-submit")
    return [
        *("/bin/sh", "-c", script, submit),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", master, "--driver-memory", memory),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
    ]


def _wait_for_port(process: Process) -> str:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if match := _READY.search(process.output()):
            return match[1]
        if not process.alive:
            break
        time.sleep(0.05)
    message = f"The Spark server did not start. Its output:\n{process.output(3000).strip() or '(nothing)'}"
    raise MachineError(message, "Run `palmette doctor --spark` to see what is missing.", code="spark-not-started")
