"""Pretrained networks on request: candidates from the hub for a kind of column, and their files in $PALMETTE_MODELS.

Only safetensors of architectures listed in `weights.yaml` are offered: no remote code and no pickles. A fetched network
is a candidate in every later run with such columns, and works offline.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from palmette.automl.weights import CONFIG, FOLDER, TENSORS, catalogue
from palmette.documents import Model
from palmette.errors import UserError
from palmette.knowledge.source import Record
from palmette.knowledge.sources.hubs import HuggingFace
from palmette.problems import error_of

TASKS = {
    "text": ("sentence-similarity", 128),
    "image": ("image-feature-extraction", 197),
    "audio": ("audio-classification", 500),
    "series": ("time-series-forecasting", 64),
}
"""By kind of column: the hub's task of networks that encode it, and their approximate tokens per row."""
OPERATIONS = 2e10  # approximate matrix operations per second and core
EXAMINED = 10  # number of search results examined in detail


class Checkpoint(Model):
    """A network of the hub, with its estimated cost."""

    record: Record
    seconds: float
    """Rough time to encode all rows on this machine, within a factor of three."""
    concerns: tuple[str, ...] = ()
    """Reasons why it cannot be used here."""


def checkpoints(kind: str, rows: int, budget: float) -> list[Checkpoint]:
    """Finds networks for a kind of column; usable ones first, then by downloads."""
    hub, (task, tokens) = HuggingFace(), TASKS[kind]
    listed = islice(hub.search(f"task:{task}", "model"), EXAMINED)
    made, cores = [], len(os.sched_getaffinity(0))
    for record in (hub.detail(one.id, "model") for one in listed):
        seconds = 2 * (record.parameters or 0) * tokens * rows / (OPERATIONS * cores)
        concerns = tuple(_concerns(record, kind, seconds, budget))
        made.append(Checkpoint(record=record, seconds=round(seconds, 1), concerns=concerns))
    return sorted(made, key=lambda one: (bool(one.concerns), -(one.record.downloads or 0)))


def _concerns(record: Record, kind: str, seconds: float, budget: float) -> Iterator[str]:
    known = catalogue().families
    if {CONFIG, TENSORS} - {*record.files}:
        yield f"it has no {TENSORS} with {CONFIG}"
    if record.architecture not in known or known[record.architecture].kind != kind:
        yield f"its architecture {record.architecture or 'is not stated'!r} is not read here for columns of kind {kind}"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if record.parameters and 4 * record.parameters > memory / 4:
        yield f"it takes more than a quarter of {memory >> 30} GiB of memory"
    if seconds > budget / 2:
        yield f"encoding takes about {seconds:,.0f} s, more than half of {budget:g} s"


def fetch_checkpoint(id: str) -> Path:
    """Returns a network's folder in $PALMETTE_MODELS, after downloading it if necessary.

    Raises:
        UserError: the variable is not set, or the network has no safetensors.
        MachineError: the hub cannot be used.
    """
    named = os.environ.get(FOLDER)
    if not named:
        raise error_of(UserError, "no-models-folder", variable=FOLDER)
    folder = Path(named) / id.replace("/", "--")
    if not (folder / TENSORS).is_file():
        hub = HuggingFace()
        record = hub.detail(id, "model")
        if TENSORS not in record.files:
            raise error_of(UserError, "unsafe-format", id=id, file=TENSORS)
        folder.mkdir(parents=True, exist_ok=True)
        hub.fetch(record, folder)
        note = f"---\nlicense: {record.licence or 'unknown'}\n---\n{hub.cite(record)}\n"
        (folder / "README.md").write_text(note, "utf-8")
    return folder
