"""The same script and harness on a standalone Spark cluster: a master, a worker and two executors on loopback."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark_scripts import script

from palmette.errors import MachineError
from palmette.features.frames import scenarios
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import differences, expected
from palmette.features.spec.view import View
from palmette.sandbox import Access, Sandbox, WarmSpark, java_environment
from palmette.sandbox.java import quick_options

SECONDS = 60


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with a worker of two cores."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        environment = {**os.environ, **java_environment(), "SPARK_NO_DAEMONIZE": "1"}
        environment["JAVA_TOOL_OPTIONS"] = quick_options()
    except MachineError as error:
        pytest.skip(str(error))
    program = str(Path(str(pyspark.__file__)).parent / "bin" / "spark-class")

    with ExitStack() as running:

        def start(name: str, *arguments: str) -> Path:
            log = tmp_path / f"{name}.log"
            command = [program, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]
            process = subprocess.Popen(
                command, stdout=running.enter_context(log.open("w")), stderr=subprocess.STDOUT, env=environment
            )
            running.callback(process.wait)
            running.callback(process.kill)
            return log

        url = _found(start("master.Master", "--port", "0", "--webui-port", "0"), r"(spark://127\.0\.0\.1:\d+)")
        size = ("--cores", "2", "--memory", "1g", "--webui-port", "0")
        log = start("worker.Worker", *size, "--work-dir", str(tmp_path / "work"), url)
        _found(log, r"(Successfully registered)")
        yield url


def _found(log: Path, pattern: str) -> str:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if match := re.search(pattern, log.read_text(encoding="utf-8")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8")[-2000:])


def test_a_script_agrees_with_the_oracle(user_offers: Callable[..., View], cluster: str, tmp_path: Path) -> None:
    view = user_offers()
    path = tmp_path / "script.py"
    path.write_text(script(view), encoding="utf-8")
    scenario = scenarios(view)[0]
    case = ScriptCase("cluster", scenario.frames, scenario.as_of, partitions=2)
    settings = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}
    with WarmSpark(Sandbox(), master=cluster, access=Access(write=(tmp_path,)), settings=settings) as spark:
        (result,) = ConnectHarness(spark).execute(path, "build", [case], root=tmp_path)
    assert result.frame is not None, result.trace or result.error
    assert differences(expected(view, scenario.frames, scenario.as_of), result.frame, view) == ()
