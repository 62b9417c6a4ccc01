"""Reads a job, opens the session, and calls the module for this kind of job."""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn


def main(folder: str) -> None:
    nonce = sys.stdin.read()
    job: dict[str, Any] = json.loads((Path(folder) / "job.json").read_text(encoding="utf-8"))
    from . import cases, script, suite
    from .answers import Answers
    from .session import WarmSession, load_spark

    load_spark()
    sys.path[:0] = job["path"]  # only now, so that modules of the repository cannot replace those that sign the answers
    answers = Answers(Path(folder) / "out", job["seconds"], job["root"], nonce)
    if job["kind"] == "tests":
        importlib.import_module("pytest")  # once for all workers
    job["items"] = _share([*enumerate(job["items"])], job["workers"])
    with WarmSession(job["remote"], resolve_paths=job["resolve_paths"]) as session:
        match job["kind"]:
            case "cases":
                cases.run_cases(job, Path(folder), session, answers)
            case "probes":
                cases.run_probes(job, Path(folder), session, answers)
            case "tests":
                suite.run_variants(job, session, answers)
            case "main":
                script.run_main(job, session, answers)
    _end()


def _share(items: list[Any], workers: int) -> list[Any]:
    """The items of this process. If there are several workers, this process waits for them, and ends like one."""
    if workers == 1:
        return items
    size = -(-len(items) // workers)
    started = []
    for first in range(0, len(items), size):
        worker = os.fork()
        if not worker:
            return items[first : first + size]
        started.append(worker)
    codes = [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in started]
    if min(codes) < 0:  # a signal ended a worker
        os.kill(os.getpid(), -min(codes))
    _end(max(codes))


def _end(code: int = 0) -> NoReturn:
    """Ends without waiting for threads that the untrusted code started."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
