"""Finds a delivered package by its run or folder, and predicts the rows of a file with it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.automl.artefacts import Comparison, Delivery
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint.folder import read_manifest
from palmette.automl.kinds import TEXT_FILES, kind_of_file, with_contents
from palmette.automl.opening import files_below
from palmette.automl.project.built import ANSWERS, run_program
from palmette.automl.samples import Repairs
from palmette.automl.samples.files import file_set, place_of, readable, with_texts
from palmette.automl.samples.load import tables_at
from palmette.automl.samples.values import text_of
from palmette.engine import RunResult, find_run, list_runs, run_state
from palmette.engine.runs import summarise
from palmette.errors import MachineError, RunError, UserError
from palmette.problems import error_of
from palmette.sandbox import Sandbox
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

SECONDS = 3600.0  # for the prediction of a file
REFUSAL = "ColumnError: "


def run_of(place: str) -> Path:
    """The folder of a run; `latest` is the newest run with a model, if there is one."""
    if place == "latest":
        for run in list_runs():
            if run.status != "unreadable" and "delivery" in run_state(run.folder).artefacts:
                return run.folder
    return find_run(place)


def delivered(place: str) -> Path:
    """The folder of a delivered package, by that folder or by its run.

    Raises:
        RunError: There is no such run, it has delivered nothing, or the package has been removed.
    """
    if read_manifest(Path(place)) is not None:
        return Path(place).absolute()
    run = opened(place)
    if "delivery" not in run.state.artefacts:
        found, begun = summarise(run.folder, run.state), run.state.opened
        code = "not-delivered" if begun and begun.environment == "automl" else "no-model"
        raise error_of(RunError, code, run=run.folder, found=found)
    folder = Path(run.artefact("delivery", Delivery).folder)
    if read_manifest(folder) is None:
        raise error_of(RunError, "delivery-missing", run=run.folder, folder=str(folder))
    return folder


def opened(place: str) -> RunResult:
    """A run with its artefacts."""
    folder = run_of(place)
    return RunResult(folder, run_state(folder), "finished")


def delivered_blueprint(run: RunResult) -> Blueprint:
    """The blueprint of a run with the columns that its delivered model uses."""
    selection = run.artefact("comparison", Comparison).selection
    return selection.in_use(run.artefact("blueprint", Blueprint))


def example_request(folder: Path) -> dict[str, Any]:
    """The body of an example request: a history, or the example row with the fewest missing values."""
    file = next(iter(sorted(folder.glob("*/examples.json"))))
    found = json.loads(file.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else _fullest(found)


def _fullest(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return min(rows, key=lambda row: sum(value is None for value in row.values()))


def answer_file(folder: Path, rows: Path, table: str = "", tell: Callable[[str], object] = str) -> str:
    """The predictions of a package for the rows of a file, as CSV; `tell` receives a sentence for each repair.

    The file may have any format that training data may have. Cells reach the package unchanged.

    Raises:
        InputError: The file is not a table.
        UserError: It has no rows, or lacks a column, or has a value that the package cannot read.
        MachineError: The package fails for another reason.
    """
    frame = _with_files(rows, table, tell, folder)
    if frame.empty:
        raise error_of(UserError, "no-rows/predicted", rows=str(rows))
    with temporary_folder() as place:
        frame.to_parquet(place / "rows.parquet")  # with the names of files as its index
        given = ("--input", str(place / "rows.parquet"), "--output", str(place / ANSWERS))
        done = run_program(Sandbox(), folder, "predict.py", *given, seconds=SECONDS, write=place)
        try:
            if done.ok:
                return read_made(place, ANSWERS).decode()
        except (OSError, ValueError) as error:
            done = done.model_copy(update={"stderr": f"its predictions cannot be read: {error}"})
    if REFUSAL in done.error_line:
        raise error_of(UserError, "rows-refused", rows=str(rows), reason=done.error_line.partition(REFUSAL)[2])
    raise error_of(MachineError, "prediction-failed", done=done, error_line=done.error_line[:500], folder=str(folder))


def _with_files(rows: Path, table: str, tell: Callable[[str], object], folder: Path) -> pd.DataFrame:
    """Rows with the contents of their files: of a table, of a folder of files, or of one file."""
    example = example_request(folder)
    example = _fullest(example["history"]) if isinstance(example.get("history"), list) else example
    names = [name for name, value in example.items() if str(value).startswith("data:")]  # whose values are files
    if rows.is_dir() and [*example] == [TEXT_FILES.name]:
        texts = {str(one): one for one in files_below(rows) if kind_of_file(one) is TEXT_FILES}
        read = readable(texts, TEXT_FILES, TEXT_FILES.name, Repairs())
        return pd.DataFrame({TEXT_FILES.name: read.values()}, pd.Index(read, name="file"))
    found = file_set(rows) if names and rows.is_dir() else None
    files = found.files if found else (rows,) if rows.is_file() and kind_of_file(rows) else ()
    if files and len(names) == 1:
        paths = [str(one) for one in files]
        frame = pd.DataFrame({names[0]: paths}, pd.Index(paths, name="file"))
    else:
        frame = rows_of_file(rows, table, tell)
        frame = with_texts(frame, rows.parent, [name for name in example if name not in names])
        names = [name for name in names if name in frame]
        cells = {name: [cell and str(place_of(str(cell), rows.parent, {})) for cell in frame[name]] for name in names}
        frame = frame.assign(**cells)
    try:
        return with_contents(frame, names)
    except OSError as error:
        raise error_of(UserError, "rows-refused/file", rows=str(rows), error=error) from error


def rows_of_file(path: Path, table: str = "", tell: Callable[[str], object] = str) -> pd.DataFrame:
    """The rows of a file, or of joined tables, with unchanged cells, under the column names that pandas reads."""
    repairs = Repairs()
    raw, *others = found = tables_at(path, table, repairs)
    if others:
        listed = ", ".join(repr(one.name) for one in found)
        raise error_of(UserError, "which-table", count=len(found), path=str(path), listed=listed)
    for repair in (*raw.repairs, *repairs):
        tell(repair.text)
    frame = raw.frame.set_axis(list(raw.sources), axis=1)
    mixed = [name for name, dtype in frame.dtypes.items() if dtype.kind == "O" and not hasattr(dtype, "pyarrow_dtype")]
    return frame.assign(**{str(name): frame[name].map(text_of) for name in mixed})
