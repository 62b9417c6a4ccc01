"""Reads a job, opens the session, and calls the module for this kind of job."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def main(folder: str) -> None:
    nonce = sys.stdin.read()
    job: dict[str, Any] = json.loads((Path(folder) / "job.json").read_text(encoding="utf-8"))
    from . import cases, script, suite
    from .answers import Answers
    from .session import WarmSession

    sys.path[:0] = job["path"]  # only now, so that modules of the repository cannot replace those that sign the answers
    answers = Answers(Path(folder) / "out", job["seconds"], job["root"], nonce)
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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # without waiting for threads that the untrusted code started
