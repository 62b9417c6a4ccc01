"""A delivered project at work: written into a folder, trained and asked in the sandbox, read back by the harness."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import FailFast, JsonValue, TypeAdapter

from palmette.automl.artefacts import TrackRun
from palmette.automl.material import Material
from palmette.automl.measure import METRICS, Metric, Predictions
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.selection import TRIALS_BYTES, Candidate, Member, most_bytes
from palmette.engine import TextFile
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command
from palmette.sandbox.reading import read_json, read_made
from palmette.sandbox.supervisor.folders import remove

if TYPE_CHECKING:
    import pandas as pd

TRIALS = "trials.json"
FILE_MB = 4096
"""Largest file that a project may write."""
TRIED = TypeAdapter(Annotated[list[dict[str, JsonValue]], FailFast()])
MORE_COLUMNS = 8
"""That answers may have beside one for each class."""
WATCHED = 1.0
"""Seconds between two looks at what training has written."""


class Project:
    """A project in a folder, run in the sandbox only."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder, self.sandbox = folder, sandbox

    def write(self, files: Iterable[TextFile]) -> None:
        """Writes its files."""
        for file in files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")

    def python(self, *arguments: str, seconds: float, write: Path | None = None) -> ExecutionResult:
        """Runs one of its modules in its folder, for as many seconds at most.

        `write`: the only folder that it may change; the project's own where none is given.
        """
        limits = Limits(seconds=seconds, file_mb=FILE_MB, disk_mb=4 * FILE_MB)
        access = Access(write=(write or self.folder,))
        env = {"PYTHONPATH": str(self.folder)}
        return self.sandbox.run(python_command(*arguments), cwd=self.folder, access=access, env=env, limits=limits)

    def lay_out(self, material: Material, blueprint: Blueprint, place: str = "") -> None:
        """Writes the training rows, as files of the user look, and their folds into a folder of the project."""
        import pandas as pd

        folder, modality = self.folder / place, modality_of(blueprint)
        folder.mkdir(parents=True, exist_ok=True)
        modality.write_rows(material.train, folder / f"train.{blueprint.source.format}")
        folds = pd.DataFrame({"row": range(len(material.train)), "fold": modality.folds(material)})
        folds.to_csv(folder / "folds.csv", index=False)

    def train(
        self,
        track: str,
        blueprint: Blueprint,
        seconds: float,
        place: str = "",
        told: Callable[[str], None] = lambda _: None,
    ) -> ExecutionResult:
        """Searches a track for some seconds on the rows laid out in `place`; leaves `tracks/<track>` there."""
        out = f"{place}/tracks/{track}".lstrip("/")
        rows, folds = (f"{place}/{name}".lstrip("/") for name in (f"train.{blueprint.source.format}", "folds.csv"))
        given = ["--data", rows, "--folds", folds, "--out", out, "--track", track, "--seconds", f"{seconds:.1f}"]
        metric = METRICS[blueprint.metric]
        with _Watch(self.folder, f"{out}/{TRIALS}", track, metric, seconds, told):
            return self.python("train.py", *given, seconds=2 * seconds + 60)

    def fit_again(self, members: Iterable[Member], blueprint: Blueprint, place: str, seconds: float) -> ExecutionResult:
        """Fits members on the rows that were laid out in `place`, if time is enough; leaves `again` there.

        Those with rounds are repeated: the targets of validation rows are kept from them.
        """
        told = json.dumps({"members": [one.model_dump() for one in members]})
        (self.folder / place / "members.json").write_text(told, encoding="utf-8")
        rows, folds = f"{place}/train.{blueprint.source.format}", f"{place}/folds.csv"
        given = ["--data", rows, "--folds", folds, "--members", f"{place}/members.json", "--out", f"{place}/again"]
        return self.python("train.py", *given, seconds=seconds)

    def predict(
        self, rows: pd.DataFrame, blueprint: Blueprint, scratch: Path, model: str = "model"
    ) -> Predictions | ExecutionResult:
        """What the fitted model in the folder `model` says of rows, without their target; how it ended if it fails.

        `scratch` begins empty: what an earlier asking left there could stand in the way of this one, or answer for it.
        """
        remove(str(scratch))
        scratch.mkdir(parents=True)
        given, said, modality = scratch / "asked", scratch / "said.csv", modality_of(blueprint)
        modality.write_rows(rows.drop(columns=blueprint.target, errors="ignore"), given)
        asked = ("--model", model, "--input", str(given), "--output", str(said))
        done = self.python("predict.py", *asked, seconds=900, write=scratch)
        if not done.ok:
            return done
        try:
            return modality.predictions(_answers(scratch, said.name, len(rows), blueprint), len(rows))
        except (OSError, ValueError, KeyError, csv.Error) as error:
            return done.model_copy(update={"exit_code": 1, "stderr": f"Its answers cannot be read: {error}"})


def _answers(folder: Path, name: str, rows: int, blueprint: Blueprint) -> pd.DataFrame:
    """What `predict.py` wrote, as text; of more rows than these only the next one is read, which is too many.

    ValueError, OSError or csv.Error where it cannot be answers.
    """
    import pandas as pd

    classes = blueprint.classes if blueprint.modality == "tabular" else ()
    header = (*classes, *[""] * MORE_COLUMNS)
    longest = max((len(name.encode()) for name in classes), default=0)
    content = read_made(folder, name, 2 * (most_bytes(header, rows) + longest * rows))
    columns = len(next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")), ()))
    if columns > len(header):
        raise ValueError(f"{columns} columns are no answers")
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, nrows=rows + 1)


def candidates_of(
    folder: Path, runs: Iterable[TrackRun], blueprint: Blueprint, material: Material
) -> dict[str, tuple[TrackRun, Candidate]]:
    """What training left in a project's folder, verified, by name: of the first track where several have one."""
    found: dict[str, tuple[TrackRun, Candidate]] = {}
    for run in runs:
        for candidate in modality_of(blueprint).candidates(folder / run.folder, material).candidates:
            found.setdefault(candidate.name, (run, candidate))
    return found


class _Watch:
    """Tells, while training goes on, how many candidates were tried and how the best one did."""

    def __init__(
        self, folder: Path, path: str, track: str, metric: Metric, seconds: float, told: Callable[[str], None]
    ) -> None:
        self._folder, self._path = folder, path
        self._track, self._metric, self._told = track, metric, told
        self._end = time.monotonic() + seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(WATCHED):
            self._told(f"{self._track}: {self._said()}, {max(0.0, self._end - time.monotonic()):.0f} s left")

    def _said(self) -> str:
        try:
            trials = TRIED.validate_python(read_json(self._folder, self._path, TRIALS_BYTES))
        except (OSError, ValueError):  # not there yet, half written, or anything
            return "starting"
        scores = [float(score) for one in trials if isinstance(score := one.get("score"), int | float)]
        if not scores:
            return f"{len(trials)} candidates tried"
        best = max(scores) if self._metric.greater_is_better else -max(scores)  # greater is better while searching
        return f"{len(trials)} candidates tried, best {self._metric.name} so far {best:.4f}"
