"""One measured run: palmette's own commands, or a peer's, on a prepared set. No code path of the product knows it."""

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.knowledge.memory import RunMemory
from palmette_bench.automl.prompts import prompt, stripped
from palmette_bench.automl.records import Cell, Record
from palmette_bench.automl.scoring import normalised, score, success
from palmette_bench.automl.sets import BenchSet, PreparedSet, Question, bench_set, prepare
from palmette_bench.automl.variants import Variant, left_behind, varied

PALMETTE = (sys.executable, "-m", "palmette")
PATIENCE = 300.0
"""Seconds beyond three times the budget, after which a run has failed."""
PEER = "python -m palmette_bench.automl.peers"


def measured(
    cell: Cell,
    root: Path,
    work: Path,
    peers: Mapping[str, str],
    remembered: Iterable[RunMemory] = (),
    money: float | None = None,
) -> Record:
    """Runs a cell in the folder `work`.

    Args:
        cell: What to run.
        root: The folder of all sets.
        work: An empty folder.
        peers: Commands by name, with the interface of `python -m palmette_bench external`.
        remembered: What earlier runs left, for a cell with memory.
        money: US dollars that the run may cost; no call is made that could exceed them.
    """
    one = bench_set(cell.set)
    made = prepare(one, root, work / "set")
    begun = time.monotonic()
    if cell.system != "palmette":
        record = _peer(cell, one, made, work, peers)
    else:
        variant = varied(cell, work, remembered)
        limit = () if money is None else ("--money", f"{money:g}")
        record = _palmette(cell, one, made, work, variant._replace(options=(*variant.options, *limit)))
    return record.model_copy(
        update={
            "seconds": round(time.monotonic() - begun, 1),
            "commit": _commit(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
            "date": datetime.now(UTC).date().isoformat(),
        }
    )


def _palmette(cell: Cell, one: BenchSet, made: PreparedSet, work: Path, variant: Variant) -> Record:
    words = stripped(one) if cell.wording == "stripped" else prompt(one, cell.setting, cell.wording)  # type: ignore[arg-type]  # a cell has plain strings
    command = ["automl", words, *(part for path in made.data for part in ("--data", str(path)))]
    command += ["--budget", f"{cell.budget:g}s", "--seed", str(cell.seed), "--plans", str(cell.plans), "--json"]
    command += ["--topology", variant.topology, *variant.options, "--human", "none", "--out", str(work / "model")]
    command += ["--track", cell.track] if cell.track else []
    command += ["--model", cell.model] if cell.model != "offline" else []
    done = run_command([*PALMETTE, *command], work, 3 * cell.budget + PATIENCE, variant.environment)
    found = _json(done.stdout)
    if done.returncode or not found.get("model"):
        error = found.get("error") or {}
        reason = f"{error.get('code', '')} {error.get('message') or found.get('reason') or done.stderr[-300:]}"
        return Record(cell=cell, outcome="refused" if error.get("exit_code") == 2 else "failed", reason=reason.strip())
    folder = Path(found["model"]["folder"])
    assessment, spent = found["assessment"], found["models"]["all"]
    status = str(assessment["status"]) if cell.setting == "aware" else ""
    value, reason = _answers(one, made, folder, work)
    sr = success(value is not None, assessment["latency"] is not None, status, cell.setting == "aware")
    return Record(
        cell=cell,
        outcome="delivered" if value is not None else "failed",
        reason=reason,
        success=sr,
        score=value,
        normalised=normalised(one.metric, value),
        constraints=status,
        better=assessment["better"],
        chosen=", ".join(row["name"] for row in found["leaderboard"] if row["chosen"]),
        training_seconds=assessment["training_seconds"],
        calls=spent["calls"],
        tokens=spent["input_tokens"] + spent["output_tokens"],
        money=spent["money"] or 0.0,
        **left_behind(work),
    )


def _answers(one: BenchSet, made: PreparedSet, folder: Path, work: Path) -> tuple[float | None, str]:
    """The score of the delivered package on the hidden answers, or why it has none."""
    values = []
    for question in made.questions:
        answers = folder / "predictions.csv"
        if not made.given:
            answers = work / "answers.csv"
            files = ["--input", str(question.file), "--output", str(answers)]
            asked = run_command([*PALMETTE, "predict", str(folder), *files], work)
            if asked.returncode:
                return None, asked.stderr[-300:]
        try:
            values.append(_scored(one, question, answers))
        except (OSError, ValueError, StopIteration) as error:
            return None, f"predictions: {error}"
    return sum(values) / len(values), ""


def _scored(one: BenchSet, question: Question, answers: Path) -> float:
    """The score of a file of answers; those of a forecast have the name of the target."""
    table = pd.read_csv(answers)
    table = table.head(len(question.truth)) if one.problem == "node_classification" else table
    table = table if "prediction" in table else table.rename(columns={one.target: "prediction"})
    return score(one.metric, list(question.truth), table, one.positive)


def _peer(cell: Cell, one: BenchSet, made: PreparedSet, work: Path, peers: Mapping[str, str]) -> Record:
    answers = work / "answers.csv"
    train = next(path if path.is_file() else path / "train.csv" for path in made.data)
    metric = "silhouette" if one.metric == "rand" else one.metric
    given = [str(train), str(made.questions[0].file), one.target, one.task, metric, f"{cell.budget:g}", str(answers)]
    words = shlex.split(peers.get(cell.system, f"{PEER} {cell.system}"))
    command = [sys.executable if words[0] == "python" else words[0], *words[1:], *given]
    extra = {"PEERS_SEED": str(cell.seed), "PEERS_POSITIVE": one.positive, "PEERS_CLUSTERS": str(one.clusters or "")}
    done = run_command(command, train.parent, 3 * cell.budget + PATIENCE, extra)
    if done.returncode:
        return Record(cell=cell, outcome="failed", reason=done.stderr[-300:])
    value = _scored(one, made.questions[0], answers)
    return Record(cell=cell, outcome="delivered", success=0.5, score=value, normalised=normalised(one.metric, value))


def run_command(
    command: Sequence[str], cwd: Path, seconds: float = 3600, extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, or for so many seconds."""
    environment = {**os.environ, "PALMETTE_RUNS": str(cwd / "runs"), **(extra or {})}
    try:
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"It ran longer than {seconds:g} s.")


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
