"""Finding a delivered project by its run or its folder, and asking it about the rows of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from palmette.automl.artefacts import Delivery
from palmette.automl.endpoint.answers import plain
from palmette.automl.endpoint.folder import read_manifest
from palmette.automl.project import Project
from palmette.engine import ArtefactStore, find_run, run_state
from palmette.engine.runs import summarise
from palmette.errors import MachineError, RunError, UserError, did_you_mean
from palmette.sandbox import Sandbox
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

SECONDS = 3600.0
"""For the prediction of a file."""
REFUSAL = "ContractError: "


def delivered(place: str) -> Path:
    """The folder of a delivered project: itself, or that of a run, as `find_run` finds runs.

    Raises:
        RunError: there is no such run, or it has not delivered a project that is still there.
    """
    if read_manifest(Path(place)) is not None:
        return Path(place).absolute()
    run = find_run(place)
    state = run_state(run)
    if "delivery" not in state.artefacts:
        found = summarise(run, state)
        if state.opened is None or state.opened.environment != "automl":
            message = f"The run {run.name!r} is of {found.what!r}, which delivers no model."
            raise RunError(message, "Name one of `palmette automl`.", code="no-model")
        message = f"The run {run.name!r} is {found.status}; it has delivered nothing yet."
        raise RunError(message, f"Go on with it: palmette resume {run.name}", code="not-delivered")
    folder = Path(Delivery.model_validate(ArtefactStore(run).get(state.artefacts["delivery"].digest)).folder)
    if read_manifest(folder) is None:
        message = f"What the run {run.name!r} delivered to {str(folder)!r} is not there any more."
        remedy = f"Name the folder that it was moved to, or have it delivered again: palmette resume {run.name}"
        raise RunError(message, remedy, code="delivery-missing")
    return folder


def example_row(folder: Path) -> dict[str, object]:
    """A row as the endpoint takes it; one without gaps, where the project has such an example."""
    rows: list[dict[str, object]] = json.loads((folder / "tests" / "rows.json").read_text(encoding="utf-8"))
    return min(rows, key=lambda row: sum(value is None for value in row.values()))


def answer_file(folder: Path, rows: Path, table: str = "", tell: Callable[[str], object] = str) -> str:
    """What a project says of the rows of a file of any format that data can have: CSV, a line for each row in order.

    The cells are handed over as they stand in the file; how they are read is the project's own.

    Args:
        folder: of the project.
        rows: the file.
        table: which sheet, table or file of an archive is meant, where there are several.
        tell: hears what was repaired in the file, a sentence each.

    Raises:
        InputError: the file cannot be read as a table.
        UserError: it has no rows, or they are not what the project was made for; the message names the column.
        MachineError: the project fails otherwise.
    """
    with temporary_folder() as place:
        asked, said = place / "rows.jsonl", place / "said.csv"
        with asked.open("w", encoding="utf-8") as lines:
            lines.writelines(f"{json.dumps(row)}\n" for row in _rows(rows, table, tell))
        if not asked.stat().st_size:
            message = f"{str(rows)!r} has a header but no row to predict."
            raise UserError(message, "Name a file with rows.", code="no-rows")
        given = ("--model", "model", "--input", str(asked), "--output", str(said))
        done = Project(folder, Sandbox()).python("predict.py", *given, seconds=SECONDS, write=place)
        try:
            if done.ok:
                return read_made(place, said.name).decode()
        except (OSError, ValueError) as error:
            done = done.model_copy(update={"stderr": f"its answers cannot be read: {error}"})
    last = (done.stderr.strip().splitlines() or [done.note])[-1]
    if REFUSAL in last:
        message = f"{str(rows)!r} is not what this model was made for: {last.partition(REFUSAL)[2]}."
        raise UserError(message, "contract.json says what rows must be.", code="rows-refused")
    message = f"predict.py {done.ended} with status {done.exit_code}: {last[:500]}"
    raise MachineError(message, f"Look at the project in {str(folder)!r}.", code="prediction-failed")


def _rows(path: Path, table: str, tell: Callable[[str], object]) -> Iterator[dict[str, object]]:
    """The rows of a file, each by the names in the file."""
    from palmette.automl.data.formats import read_tables
    from palmette.automl.data.names import good_names
    from palmette.automl.data.opening import open_file

    found = {raw.name: raw for opened in open_file(path) for raw in read_tables(opened)}
    if table not in found and (table or len(found) > 1):
        message = f"There is no table {table!r} in {str(path)!r}.{did_you_mean(table, found)}"
        several = f"There are {len(found)} tables in {str(path)!r}."
        listed = ", ".join(map(repr, found))
        raise UserError(message if table else several, f"Name one with --table: {listed}.", code="which-table")
    raw = found[table] if table else next(iter(found.values()))
    for repair in raw.repairs:
        tell(repair.text)
    told_apart = zip(raw.names, good_names(raw.names)[0], strict=True)
    names = [own if own.strip() and raw.names.count(own) == 1 else made for own, made in told_apart]
    columns = [raw.frame.iloc[:, place].to_numpy(object) for place in range(len(names))]
    for cells in zip(*columns, strict=True):
        yield {name: plain(cell) for name, cell in zip(names, cells, strict=True)}
