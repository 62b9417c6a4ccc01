"""A whole run of a feature view on warm Spark, in seconds.

`python -m palmette_bench view RUN_FILE` starts one Spark Connect server, runs the view once to warm it, then
`RUNS` times, each as `palmette features` in a process and a run folder of its own. It prints a line a run and fails
when the median takes `LIMIT_SECONDS` or more, or when a run does not end as a pull request.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import yaml

from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder

RUNS = 3
LIMIT_SECONDS = 60.0


class Timing(NamedTuple):
    """One run; `cpu` is of its own processes, without the server's."""

    status: str
    seconds: float
    cpu: float


@contextmanager
def on_server(run_file: Path, remote: str) -> Iterator[Path]:
    """The run file with another Spark, beside the original: its relative paths stay right."""
    text = yaml.safe_load(run_file.read_text(encoding="utf-8"))
    text["spark"] = {**text.get("spark", {}), "master": remote}
    copy = run_file.with_name(f".bench-{os.getpid()}.yaml")
    copy.write_text(yaml.safe_dump(text), encoding="utf-8")
    try:
        yield copy
    finally:
        copy.unlink()


def timed(run_file: Path, folder: Path) -> Timing:
    """Runs the view in a process of its own; run folders go to `folder`."""
    command = [sys.executable, "-m", "palmette", "features", str(run_file), "--human", "none", "--json"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PALMETTE_RUNS": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = str(json.loads(done.stdout)["status"])
    except (ValueError, KeyError):
        status = f"exit {done.returncode}"
    return Timing(status, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@click.command()
@click.argument("run_file", type=click.Path(path_type=Path))
def main(run_file: Path) -> None:
    """Time whole runs of one feature view on warm Spark; exit status 1 when a run fails or the median is too slow."""
    with WarmSpark() as spark, temporary_folder() as folder, on_server(run_file, spark.remote) as copy:
        runs = [timed(copy, folder) for _ in range(RUNS + 1)]
    print(f"{'run':<12}{'seconds':>9}{'cpu':>8}  status")
    for name, run in zip(["to warm", *map(str, range(1, RUNS + 1))], runs, strict=True):
        print(f"{name:<12}{run.seconds:>9.1f}{run.cpu:>8.1f}  {run.status}")
    median = statistics.median(run.seconds for run in runs[1:])
    print(f"{'median':<12}{median:>9.1f}          allowed: {LIMIT_SECONDS:.0f}")
    sys.exit(int(median >= LIMIT_SECONDS or any(run.status != "finished" for run in runs)))

