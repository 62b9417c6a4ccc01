"""Reads a job, makes the session, hands over to the part that knows this kind of job."""

from __future__ import annotations

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

    sys.path[:0] = job["path"]  # now: what seals the answers is Python's, whatever the repository has of the same name
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
    os._exit(0)  # threads that the untrusted code left behind do not hold up the answer
