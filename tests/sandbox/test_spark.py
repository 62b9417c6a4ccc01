"""One server, many clients; started late, started again once, always stopped."""

from __future__ import annotations

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


def ask(spark: WarmSpark, sandbox: Sandbox, folder: Path, code: str = CLIENT) -> ExecutionResult:
    access = spark.seen_by(Access(write=(folder,)))
    return sandbox.run(python_command("-c", code, spark.remote), cwd=folder, access=access)


def test_clients_have_sessions_of_their_own(warm_spark: WarmSpark, sandbox: Sandbox, tmp_path: Path) -> None:
    assert ask(warm_spark, sandbox, tmp_path).stdout == "3 UTC\n"
    other = CLIENT.replace('spark.range(3).createOrReplaceTempView("numbers")', "")
    result = ask(warm_spark, sandbox, tmp_path, other)
    assert not result.ok and "TABLE_OR_VIEW_NOT_FOUND" in result.stderr


def test_the_server_leaves_nothing_in_the_current_folder(
    warm_spark: WarmSpark, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask(warm_spark, sandbox, tmp_path)
    assert not list(tmp_path.iterdir())


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
    says = "echo 'Spark Connect server started at: 127.0.0.1:4242'; exec sleep 300"
    monkeypatch.setattr(spark_module, "_command", lambda *_: ["/bin/sh", "-c", says])
    with WarmSpark() as spark:
        assert spark.remote == "sc://127.0.0.1:4242/"
        for _ in range(2):
            assert spark._process
            spark._process.stop()
            assert not spark.alive
            if spark._starts == 1:
                assert spark.remote == "sc://127.0.0.1:4242/"
        with pytest.raises(MachineError, match="died twice"):
            _ = spark.remote
