"""Dirty data through the whole AutoML environment: each kind ends in a model that predicts, or in one clear error.

`python -m palmette_bench dirty [--only TEXT] [--budget 3s]` prints a line for each kind: how it ended, in how many
seconds. Each model also predicts the file that it was made from. Exits 1 where a kind ended otherwise than it should.
"""

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from palmette.sandbox.temporary import temporary_folder
from palmette_bench.automl.runs import PALMETTE, run_command
from palmette_bench.dirty_kinds import DirtyKind, kinds

DELIVERED = {"predict.py", "serve.py", "train.py", "README.md", "report.html", "MODEL_CARD.md", "model", "tests"}
SECONDS = 600.0
"""After which a run counts as one that hangs."""


class DirtyResult(NamedTuple):
    """`how` is `model` or the code of the error; `wrong` is empty where all is as it should be."""

    how: str
    wrong: str = ""
    detail: str = ""


@click.command()
@click.option("--only", default="", metavar="TEXT", help="Only kinds with this text in their name.")
@click.option("--budget", default="3s", show_default=True, help="Of each model.")
def main(only: str, budget: str) -> None:
    """Train a model on each kind of dirty data; exit status 1 when one does not end as it should."""
    chosen = {name: kind for name, kind in kinds().items() if only in name}
    print("| kind | ends as | seconds | score, or message |\n|---|---|---|---|", flush=True)
    failed = 0
    for name, kind in chosen.items():
        started = time.monotonic()
        with temporary_folder() as folder:
            ended = tried(kind, folder, budget)
        failed += bool(ended.wrong)
        detail = (f"**{ended.wrong}** " if ended.wrong else "") + ended.detail.replace("|", "\\|").replace("\n", " ")
        print(f"| {name} | {ended.how} | {time.monotonic() - started:.0f} | {detail} |", flush=True)
    print(f"\n{len(chosen) - failed} of {len(chosen)} end as they should", flush=True)
    sys.exit(1 if failed else 0)


def tried(kind: DirtyKind, folder: Path, budget: str) -> DirtyResult:
    """The result of a kind, by the command of a user."""
    data = folder / "data"
    files = kind.files()
    for name, content in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(content)
    places = [str(data / name) for name in ([kind.given] if kind.given else files)]
    sources = [one for place in places for one in ("--data", place)]
    out = folder / "out"
    options = ("--human", "none", "--budget", budget, "--out", str(out), "--json")
    asked = (kind.sentence,) if kind.sentence else ("--target", kind.rename.get(kind.target, kind.target))
    done = run_command([*PALMETTE, "automl", *asked, *sources, *options], folder, SECONDS)
    ended = judged(done, out)
    if ended.how == "model" and not ended.wrong and Path(places[0]).is_file():
        ended = ended._replace(wrong=asked_again(folder, out, places[0], next(iter(kind.members), "")))
    if not ended.wrong and ended.how != kind.ends:
        ended = ended._replace(wrong=f"not {kind.ends}")
    return ended


def judged(done: subprocess.CompletedProcess[str], out: Path) -> DirtyResult:
    """The result of a run, by its output and folder: a measured, complete model, or one error and no folder."""
    strange = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    try:
        printed: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return DirtyResult("nothing", "no JSON", (done.stdout + done.stderr)[-600:])
    noise = f"{len(strange)} lines of noise: {strange[0][:200]}" if strange else ""
    if "error" in printed:
        return _error(printed["error"], done.returncode, out, noise)
    if printed["status"] != "finished":
        return _stopped(printed, done.returncode, out, noise)
    first = printed["assessment"]["scores"][0]
    wrong = noise or ("" if done.returncode == 0 else f"exit status {done.returncode}")
    if missing := DELIVERED - {path.name for path in out.iterdir()} if out.is_dir() else DELIVERED:
        wrong = f"not delivered: {', '.join(sorted(missing))}"
    if not math.isfinite(first["value"]):
        wrong = "the score is not a number"
    interval = f"{first['low']:.4g} to {first['high']:.4g}"
    return DirtyResult("model", wrong, f"{first['metric']} {first['value']:.4g} ({interval})")


def _error(error: dict[str, Any], status: int, out: Path, noise: str) -> DirtyResult:
    parts = error["problems"] or [error]
    unclear = [part for part in parts if not (part["code"] and part["message"] and part["remedy"])]
    wrong = noise or ("a bug" if status == 70 else "no remedy" if unclear else "")
    wrong = "exit status 0" if status == 0 else "half written" if out.exists() else wrong
    return DirtyResult(parts[0]["code"], wrong, f"{parts[0]['message']} {parts[0]['remedy']}")


def _stopped(printed: dict[str, Any], status: int, out: Path, noise: str) -> DirtyResult:
    found = printed["failures"] or [{"code": "stopped", "message": printed["reason"]}]
    wrong = noise or ("exit status 0" if status == 0 else "half written" if out.exists() else "")
    return DirtyResult(found[0]["code"], wrong, f"{found[0]['message']} {printed['reason']}")


def asked_again(folder: Path, out: Path, place: str, table: str) -> str:
    """Why the model does not predict the rows of its own file; empty where it does."""
    done = run_command([*PALMETTE, "predict", str(out), "--input", place, "--table", table], folder, SECONDS)
    if done.returncode:
        return f"predict fails: {done.stderr[-400:]}"
    return "" if done.stdout.count("\n") > 1 else "predict prints nothing"
