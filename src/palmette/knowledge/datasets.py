"""Data sets for a request: candidates with their fit, and fetched files with checksums and licence."""

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from palmette.documents import Model, file_digest
from palmette.engine.registry import create
from palmette.knowledge.source import Record, search
from palmette.knowledge.sources.tables import words_of
from palmette.knowledge.web import cache_folder

ENOUGH = 0.5  # share of the words of a request; a set must match more of them to be chosen by rule
LEAST_ROWS, MOST_ROWS = 50, 2_000_000
"""Between which a set is neither too small to learn from nor too large for this machine."""


class DatasetCandidate(Model):
    """A data set that may fit a request."""

    record: Record
    fit: float
    """Share of the request's words that its title, description, columns or tasks have; between 0 and 1."""
    concerns: tuple[str, ...] = ()
    """Reasons against it; the rules do not choose a set that has one."""

    def __str__(self) -> str:
        one = self.record
        counts = {"rows": one.rows, "columns": one.features or len(one.columns) or None, "MB": one.megabytes}
        size = ", ".join(f"{count:,.10g} {unit}" for unit, count in counts.items() if count is not None)
        facts = (one.title, size or "size unknown", f"licence {one.licence or 'not stated'}", f"fit {self.fit:.0%}")
        return f"{one.place}: {'; '.join((*facts, *self.concerns))}"


def candidates(request: str, problem: str = "", target: str = "") -> tuple[list[DatasetCandidate], tuple[str, ...]]:
    """Data sets about what the words of a request name, the best first, and the note of each source."""
    results, wanted, found = search(request, "dataset"), words_of(request), list[DatasetCandidate]()
    for one in (record for result in results for record in result.records):
        known = words_of(" ".join((one.title, one.id, one.text, *one.columns, *one.tasks)))
        fit = round(len(wanted & known) / max(len(wanted), 1), 3)
        found.append(DatasetCandidate(record=one, fit=fit, concerns=tuple(_concerns(one, problem, target))))
    found.sort(key=lambda one: (bool(one.concerns), -one.fit, -(one.record.downloads or 0), one.record.place))
    return found, tuple(one.note for one in results)


def _concerns(one: Record, problem: str, target: str) -> Iterator[str]:
    if one.rows is not None and not LEAST_ROWS <= one.rows <= MOST_ROWS:
        yield f"its size is outside {LEAST_ROWS} to {MOST_ROWS:,} rows"
    wanted = problem.replace("_", " ")
    tasks = [task.casefold().replace("-", " ") for task in one.tasks]
    if wanted and tasks and not any(wanted in task for task in tasks):
        yield f"it is made for {', '.join(tasks)}"
    if target and one.columns and target.casefold() not in {name.casefold() for name in one.columns}:
        yield f"it has no column {target!r}"
    if re.search(r"\b(nc|noncommercial|non-commercial)\b", one.licence, re.I):
        yield "its licence excludes commercial use"


def chosen(found: Iterable[DatasetCandidate]) -> DatasetCandidate | None:
    """The first candidate that fits and has no concerns."""
    return next((one for one in found if one.fit > ENOUGH and not one.concerns), None)


class FetchedDataset(Model):
    """A data set in the cache, with its origin."""

    record: Record
    files: Mapping[str, str]
    """SHA-256 by path in the folder."""
    fetched: datetime

    @property
    def folder(self) -> Path:
        return _folder(self.record.source, self.record.id)


DATASET_SOURCES = ("openml", "uci", "sklearn", "huggingface", "kaggle", "pyg")
"""Sources whose sets can be given as data; naming one is consent to fetch it, so no switch is needed."""


def is_named(place: str) -> bool:
    """Whether a text names a data set rather than a path.

    >>> is_named("openml:31"), is_named("data/openml.csv")
    (True, False)
    """
    source, _, id = place.partition(":")
    return source in DATASET_SOURCES and bool(id.strip()) and not Path(place).exists()


def fetched(place: str) -> FetchedDataset:
    """The set that a text names, from the cache if its files are unchanged, else from its source.

    Raises:
        UserError: there is no such set, it needs a key, or only has files that are not read.
        MachineError: its source cannot be used.
    """
    source, _, id = place.partition(":")
    folder = _folder(source, id.strip())
    note = folder.with_suffix(".json")
    if known := _unchanged(note):
        return known
    client = create("knowledge_source", source)
    record = client.detail(id.strip(), "dataset")
    if record.id != id.strip():  # it was not named by its id
        return fetched(record.place)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    client.fetch(record, folder)
    files = {str(path.relative_to(folder)): file_digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    made = FetchedDataset(record=record, files=files, fetched=datetime.now(UTC))
    note.write_text(made.model_dump_json(indent=2), "utf-8")
    return made


def _folder(source: str, id: str) -> Path:
    name = re.sub(r"[^\w-]+", "-", f"{source}-{id}")[:80]
    return cache_folder("datasets") / f"{name}-{hashlib.sha256(f'{source}:{id}'.encode()).hexdigest()[:8]}"


def _unchanged(note: Path) -> FetchedDataset | None:
    try:
        known = FetchedDataset.model_validate_json(note.read_text("utf-8"))
        same = all(file_digest(known.folder / name) == digest for name, digest in known.files.items())
    except (OSError, ValueError):
        return None
    return known if same else None
