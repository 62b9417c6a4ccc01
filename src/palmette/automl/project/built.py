"""Runs a package in the sandbox: fits it, predicts with it, and validates what it writes."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.automl.candidates import Blueprint
from palmette.automl.measure.metrics import Predictions
from palmette.automl.problems.problem import problem_of
from palmette.automl.project.reading import in_file_names
from palmette.automl.weights import FOLDER, weights_folder
from palmette.engine.actor import TextFile
from palmette.engine.storage import write_whole
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command
from palmette.sandbox.reading import read_made
from palmette.sandbox.supervisor.folders import remove

MODEL = "model"
FITTED = frozenset({"model.pkl.gz", "metadata.json", "MLmodel"})  # the files of a fitted model
ROWS, ANSWERS = "rows.parquet", "predictions.csv"
FILE_MB = 4096  # largest file in megabytes that a package may write
PREDICT_SECONDS = 900.0
CELL_BYTES = 64  # most bytes of a number in a file of predictions


def surroundings(folder: Path, read: tuple[Path, ...] = (), write: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The sandbox's `access` and `env` for programs of a package, which may read pretrained weights."""
    models = weights_folder()
    known = {FOLDER: str(models)} if models else {}
    return {
        "access": Access(read=(folder, *read, *([models] if models else [])), write=write, gpu=True),
        "env": {"PYTHONPATH": str(folder), **known},
    }


def run_program(
    sandbox: Sandbox, folder: Path, *arguments: str, seconds: float, write: Path, read: tuple[Path, ...] = ()
) -> ExecutionResult:
    """Runs a program of the package; it may only write to `write`."""
    limits = Limits(seconds=seconds, file_mb=FILE_MB, disk_mb=4 * FILE_MB)
    return sandbox.run(python_command(*arguments), cwd=folder, limits=limits, **surroundings(folder, read, (write,)))


class BuiltPackage:
    """A package in a folder, which runs only in the sandbox."""

    def __init__(self, folder: Path, sandbox: Sandbox, blueprint: Blueprint) -> None:
        self.folder, self.sandbox, self.blueprint = folder, sandbox, blueprint

    def write(self, files: Iterable[TextFile]) -> None:
        for file in files:
            write_whole(self.folder / file.path, file.text.encode())

    def fit(self, rows: pd.DataFrame, scratch: Path, seconds: float, model: str = MODEL) -> ExecutionResult:
        """Fits it on typed rows with their target, into the folder `model`."""
        data = self._laid_out(rows, scratch)
        made = self.folder / model
        remove(str(made))
        made.mkdir()
        given = ("--data", str(data), "--out", model, "--no-compare")
        done = run_program(self.sandbox, self.folder, "train.py", *given, seconds=seconds, write=made, read=(scratch,))
        strayed = sorted(FITTED ^ {one.name for one in made.iterdir()}) if done.ok else []
        wrong = f"train.py wrote too few or too many files: {', '.join(strayed)}."
        return done.model_copy(update={"exit_code": 1, "stderr": wrong}) if strayed else done

    def predict(self, rows: pd.DataFrame, scratch: Path, model: str = MODEL) -> Predictions | ExecutionResult:
        """Predictions for typed rows, without their target; the execution result if it fails.

        `scratch` is emptied first, so that no earlier answer can be taken for this one.
        """
        hidden = [self.blueprint.target, self.blueprint.labels]
        data = self._laid_out(rows.drop(columns=hidden, errors="ignore"), scratch)
        given = ("--model", model, "--input", str(data), "--output", str(scratch / ANSWERS))
        done = run_program(self.sandbox, self.folder, "predict.py", *given, seconds=PREDICT_SECONDS, write=scratch)
        if not done.ok:
            return done
        try:
            problem = problem_of(self.blueprint)
            table = self._answers(scratch, *problem.answer_size(len(rows)))
            return problem.predictions(table, len(rows))
        except (OSError, ValueError, KeyError, csv.Error) as error:
            return done.model_copy(update={"exit_code": 1, "stderr": f"Its predictions cannot be read: {error}"})

    def _laid_out(self, rows: pd.DataFrame, scratch: Path) -> Path:
        remove(str(scratch))
        scratch.mkdir(parents=True)
        in_file_names(rows, self.blueprint).to_parquet(scratch / ROWS, index=False)
        return scratch / ROWS

    def _answers(self, folder: Path, rows: int, columns: int) -> pd.DataFrame:
        """The answers of `predict.py` as text; one surplus row is kept to detect too many."""
        longest = max((len(name.encode()) for name in self.blueprint.classes), default=0)
        most = (rows + 2) * (columns * CELL_BYTES + longest) + 4 * columns * (longest + CELL_BYTES)
        content = read_made(folder, ANSWERS, most)
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")), ())
        if len(header) > columns:
            raise ValueError(f"{len(header)} columns are not predictions")
        return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, nrows=rows + 1)
