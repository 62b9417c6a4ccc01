"""Runs on an MLflow tracking server, where `MLFLOW_TRACKING_URI` names one.

When a run ends, a process of its own reads the journal and logs arguments, costs, checks, artefacts and the delivered
model; each candidate is a nested run with its settings and scores. A resumed run goes on in its MLflow run, which the
tag `palmette.run` names. `python -m palmette.tracking FOLDER` logs an earlier run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.engine import ArtefactStore, Entry, Observer, RunState, Topology, run_state
from palmette.engine import events as e
from palmette.llm.secrets import bare_url, hider
from palmette.llm.telemetry import trace_ids

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

SETTING = "MLFLOW_TRACKING_URI"
EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
PATIENCE = 120.0  # seconds that logging may take
LARGEST = 20_000_000  # bytes of a file of an artefact that is logged
LONGEST = 500  # characters of a parameter; MLflow limits them
RUN, CANDIDATE = "palmette.run", "palmette.candidate"  # tags by which a run and a candidate are found again
_STATUS = {"finished": "FINISHED", "failed": "FAILED"}
_BOUNDED = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20", "GIT_PYTHON_REFRESH": "quiet"}
"""Settings of MLflow, unless the environment has others: a server that is down is noticed within seconds."""


def open_tracking(folder: Path) -> Observer:
    """The observer that logs the run in `folder` when it ends; a no-op if the setting is empty."""
    return _Tracking(folder) if os.environ.get(SETTING, "").strip() else Observer()


class _Tracking(Observer):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def event(self, entry: Entry) -> None:
        if not isinstance(entry.event, e.RunEnded):
            return
        command = [sys.executable, "-P", "-m", "palmette.tracking", str(self._folder)]
        try:
            done = subprocess.run(
                command, env=_BOUNDED | os.environ, timeout=PATIENCE, capture_output=True, text=True, check=False
            )
            why = hider()(done.stderr.strip().rpartition("\n")[2][:500]) if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = f"it takes more than {PATIENCE:g} s."
        if why:
            shown = bare_url(os.environ[SETTING])
            print(f"mlflow: the run is not logged to {shown}: {why}", file=sys.stderr, flush=True)


def log_run(folder: Path) -> None:
    """Logs a run; a second time to the same MLflow run."""
    import mlflow

    state, client = run_state(folder), mlflow.MlflowClient()
    experiment = mlflow.set_experiment(os.environ.get(EXPERIMENT) or "palmette").experiment_id
    store, names, made = ArtefactStore(folder), ("task", "comparison", "assessment", "delivery"), state.digests
    values: dict[str, Any] = {name: store.get(made[name]) for name in names if name in made}
    header = Topology.model_validate_json(state.header.topology) if state.header else None
    run = _found(client, experiment, {RUN: folder.name}, folder.name, _milliseconds(state.started))
    tags = {"palmette.environment": state.opened.environment if state.opened else ""}
    if header:
        tags["palmette.topology"] = header.topology
    if traces := trace_ids(folder):
        tags["opentelemetry.trace_id"] = traces[-1]
        tags["opentelemetry.trace_ids"] = ",".join(traces)
    _batch(client, run, dict(_parameters(state)), {**_costs(state), **_hold_out(values)}, tags)
    for name in state.artefacts:
        _log_artefact(client, run, folder, name)
    for row in (values.get("comparison") or {}).get("leaderboard", ()):
        _log_candidate(client, run, folder.name, row)
    if delivery := values.get("delivery"):
        _log_model(run, Path(delivery["folder"]), delivery["package"])
    ended = state.ended.status if state.ended else "killed"
    client.set_terminated(run.info.run_id, _STATUS.get(ended, "KILLED"), _milliseconds(state.last))


def _found(client: MlflowClient, experiment: str, tags: dict[str, str], name: str, started: int) -> Run:
    """The run that has these tags, made if there is none."""
    wanted = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
    known: list[Run] = client.search_runs([experiment], wanted, max_results=1)
    return known[0] if known else client.create_run(experiment, started, tags, name)


def _batch(
    client: MlflowClient, run: Run, parameters: Mapping[str, object], metrics: Mapping[str, float], tags: dict[str, str]
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    hide, now = hider(), _milliseconds(time.time())
    texts = {
        key: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for key, one in parameters.items()
    }
    client.log_batch(
        run.info.run_id,
        [Metric(_key(name), float(value), now, 0) for name, value in metrics.items()],
        [Param(_key(name), hide(text)[:LONGEST]) for name, text in texts.items()],
        [RunTag(name, value) for name, value in tags.items()],
    )


def _parameters(state: RunState) -> Iterator[tuple[str, object]]:
    for name, value in (state.opened.arguments if state.opened else {}).items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", one) for key, one in value.items())
        elif value not in ("", None, []):
            yield name, value
    if state.header:
        yield "seed", state.header.seed
        yield from ((f"limit.{name}", value) for name, value in state.header.limits.items())


def _costs(state: RunState) -> dict[str, float]:
    """What the run cost, and how its checks ended."""
    spent, found = state.spent, [one.status for actor in state.actors.values() for one in actor.measurements]
    return {
        "steps": spent.steps,
        "attempts": spent.attempts,
        "seconds": spent.seconds,
        "tokens": spent.spend.tokens,
        "cost_usd": spent.spend.money,
        **{f"checks.{status}": found.count(status) for status in ("passed", "failed", "warning", "skipped")},
        **{f"seconds.{name}": actor.seconds for name, actor in state.actors.items()},
    }


def _hold_out(values: Mapping[str, Any]) -> dict[str, float]:
    """The verdict on the delivered model, measured on the hold-out."""
    if not (made := values.get("assessment")):
        return {}
    found = {"better_than_baseline": made["better"], **{name: made[name] for name in ("training_seconds", "megabytes")}}
    for score in made["scores"]:
        named = {"": "value", ".low": "low", ".high": "high", ".baseline": "baseline"}
        found |= {f"holdout.{score['metric']}{end}": score[part] for end, part in named.items()}
    for name in ("p50", "p95"):
        found[f"latency_ms.{name}"] = (made["latency"] or {}).get(name)
    return {name: value for name, value in found.items() if value is not None}


def _log_artefact(client: MlflowClient, run: Run, folder: Path, name: str) -> None:
    """The files of an artefact's working copy; it holds whatever the run has written, so large ones stay behind."""
    copy = ArtefactStore(folder).copies / name
    for path in sorted(copy.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and path.stat().st_size <= LARGEST:
            place = Path("artefacts", name, path.relative_to(copy).parent)
            client.log_artifact(run.info.run_id, str(path), place.as_posix())


def _log_candidate(client: MlflowClient, parent: Run, run: str, row: Mapping[str, Any]) -> None:
    candidate = row["candidate"] or {}
    digest = hashlib.sha256(json.dumps([row["name"], candidate], sort_keys=True).encode()).hexdigest()[:16]
    tags = {RUN: f"{run}/{row['name']}", CANDIDATE: digest, "mlflow.parentRunId": parent.info.run_id}
    child = _found(client, parent.info.experiment_id, tags, row["name"], parent.info.start_time)
    parameters = {name: row[name] for name in ("learner", "track")}
    for part in ("settings", "encoders", "strategy"):
        parameters |= {f"{part}.{name}": value for name, value in (candidate.get(part) or {}).items()}
    metrics = {name: row[name] for name in ("score", "low", "high", "error_reduction", "seconds")}
    _batch(client, child, parameters, metrics, {"chosen": str(row["chosen"]).lower()})
    client.set_terminated(child.info.run_id)


def _log_model(run: Run, folder: Path, package: str) -> None:
    """The delivered model with the code of its package, as `mlflow.pyfunc.load_model` reads it, and its report."""
    import mlflow

    with mlflow.start_run(run_id=run.info.run_id):
        mlflow.pyfunc.log_model(
            name="model",
            loader_module=package,
            data_path=str(folder / "model"),
            code_paths=[str(folder / package)],
            pip_requirements=str(folder / "requirements.txt"),
        )
        for name in ("report.html", "README.md", "MODEL_CARD.md"):
            if (folder / name).is_file():
                mlflow.log_artifact(str(folder / name))


def _key(name: str) -> str:
    """A name with the characters that MLflow permits."""
    return re.sub(r"[^\w./ -]", "_", name)[:250]


def _milliseconds(seconds: float | None) -> int:
    return round((seconds or time.time()) * 1000)


if __name__ == "__main__":
    try:
        log_run(Path(sys.argv[1]))
    except Exception as error:  # noqa: BLE001 - the process boundary to the run, which shows the last line
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
