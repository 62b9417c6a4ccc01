"""One server, many clients; started late, started again once, always stopped."""

import socket
from contextlib import suppress
from pathlib import Path

import pytest

from palmette.errors import MachineError
from palmette.sandbox import Access, ExecutionResult, Sandbox, WarmSpark, python_command
from palmette.sandbox import spark as spark_module

CLIENT = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.range(3).createOrReplaceTempView("numbers")
total = spark.sql("select sum(id) as s from numbers").collect()[0].s
print(total, spark.conf.get("spark.sql.session.timeZone"))
spark.stop()
"""


def ask(spark: WarmSpark, folder: Path, code: str = CLIENT) -> ExecutionResult:
    access = spark.seen_by(Access(write=(folder,)))
    return spark.sandbox.run(python_command("-c", code, spark.remote), cwd=folder, access=access)


def test_clients_have_sessions_of_their_own(warm_spark: WarmSpark, tmp_path: Path) -> None:
    assert ask(warm_spark, tmp_path).stdout == "3 UTC\n"
    other = CLIENT.replace('spark.range(3).createOrReplaceTempView("numbers")', "")
    result = ask(warm_spark, tmp_path, other)
    assert not result.ok and "TABLE_OR_VIEW_NOT_FOUND" in result.stderr


POISON = """
import sys, time
from contextlib import suppress
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.range(7).createGlobalTempView("expected")
spark.sql("create table given using parquet as select 1 as a")
spark.sql("create function right as 'org.apache.spark.sql.catalyst.expressions.Rand'")
spark.sql("select java_method('java.lang.System', 'setProperty', 'palmette.left', 'behind')").collect()
leave = "import sys, time; time.sleep(300)"
def stay(_):
    import os, subprocess
    open(os.path.dirname(os.environ["HOME"]) + "/much", "w").close()
    return str(subprocess.Popen([sys.executable, "-c", leave, "left-behind"], start_new_session=True).pid)
spark.range(1).select(F.udf(stay)("id")).collect()
print("done")
"""
HONEST = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
tables = spark.sql("show tables").collect() + spark.sql("show tables in global_temp").collect()
functions = spark.sql("show user functions").collect()
(said,) = spark.sql("select java_method('java.lang.System', 'getProperty', 'palmette.left')").first()
print([row.tableName for row in tables], [row.function for row in functions], said)
"""


def left_behind() -> list[str]:
    command = b"left-behind"
    return [entry.name for entry in Path("/proc").glob("[0-9]*") if command in _read(entry / "cmdline").split(b"\0")]


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


def test_what_one_left_in_the_server_is_gone_for_the_next(warm_spark: WarmSpark, tmp_path: Path) -> None:
    with WarmSpark(Sandbox(warm_spark.sandbox.isolation), access=Access(write=(tmp_path,))) as spark:
        with spark.handed_over() as first:
            done = ask(first, tmp_path, POISON)
            assert done.stdout == "done\n", done
            told = ask(first, tmp_path, HONEST).stdout
            assert told == "['given', 'expected'] ['spark_catalog.default.right'] behind\n" and left_behind()
            folder = first.sandbox.folder
            assert (folder / "much").exists()
        del first
        assert not left_behind() and not folder.exists(), "its files are gone with it"
        assert not spark.alive, "the next one gets another server, as the test below shows"


GREETING = python_command(
    "-c",
    "import socket, sys; server = socket.create_server(('127.0.0.1', 0))\n"
    "print('Spark Connect server started at: 127.0.0.1:%d' % server.getsockname()[1], flush=True)\n"
    "while True: server.accept()[0].sendall(b'x')",
)
"""As much of a server as is asked of it here."""


def test_a_server_that_runs_is_handed_over_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_module, "_command", lambda *_: GREETING)
    with WarmSpark() as spark:
        _ = spark.remote
        process = spark._process
        with spark.handed_over() as other:
            assert other.alive and other._process is process and not spark.alive
            _ = spark.remote
        assert spark.alive and not other.alive and spark._process is not process


def test_the_server_leaves_nothing_in_the_current_folder(
    warm_spark: WarmSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask(warm_spark, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_server_without_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on without its context, and hold up or mislead whoever asks it next."""
    started: list[str] = []

    def start(self: Sandbox, argv: list[str], **_: object) -> None:
        started.extend(argv)
        raise MachineError("It is enough to know how.", "Nothing.", code="no-process")

    monkeypatch.setattr(Sandbox, "start", start)
    with WarmSpark() as spark, pytest.raises(MachineError):
        _ = spark.remote
    assert any("-XX:+ExitOnOutOfMemoryError" in part for part in started)


def test_a_server_that_exists_is_used_as_it_is() -> None:
    with WarmSpark(master="sc://spark.example:15002") as spark:
        assert spark.remote == "sc://spark.example:15002" and spark.is_external and spark.alive


def test_nothing_is_started_before_it_is_needed() -> None:
    with WarmSpark() as spark:
        assert not spark.alive


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_module, "_command", lambda *_: ["/bin/sh", "-c", "echo no memory >&2; exit 1"])
    with WarmSpark() as spark, pytest.raises(MachineError) as caught:
        _ = spark.remote
    assert "no memory" in str(caught.value) and caught.value.code == "spark-not-started"


def test_a_server_that_died_is_started_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_module, "_command", lambda *_: GREETING)
    with WarmSpark() as spark, socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(spark_module, "_ANSWER_SECONDS", 0.2)
        for is_first in (True, False):
            assert spark.remote.startswith("sc://127.0.0.1:") and spark.alive and spark._process
            if is_first:
                spark._process.stop()
            else:  # it runs, and answers nobody
                spark._port = str(silent.getsockname()[1])
            assert not spark.alive
        with pytest.raises(MachineError, match="died twice"):
            _ = spark.remote
