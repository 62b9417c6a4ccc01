"""Files of records: one JSON line per run, appended as soon as the run ends, so that a study can be interrupted."""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from palmette.documents import Model

R = TypeVar("R", bound=Model)


def read_records(file: Path, record: type[R]) -> list[R]:
    """All records; a line that a crash cut short is left out, and its run is made again."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        with suppress(ValidationError):
            found.append(record.model_validate_json(line))
    return found


def append(file: Path, record: Model) -> None:
    """Adds a record to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"\n{record.model_dump_json()}")  # the line before may be cut short
