"""Job folders: writes the input of the sandboxed process and reads its answers."""

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, JsonValue

from palmette.documents import Model
from palmette.errors import MachineError
from palmette.features.frame import Frame
from palmette.features.frame_json import frame_of
from palmette.features.harness.palmette_driver.answers import PATIENCE, seal
from palmette.features.spec.values import SparkType
from palmette.sandbox import (
    Access,
    ExecutionResult,
    Limits,
    WarmSpark,
    java_environment,
    python_command,
    relative_to_root,
)
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from palmette_driver.main import main; "
    "del sys.path[0]; main(sys.argv[2])"
)
_HERE = str(Path(__file__).parent)
_START_SECONDS = 60.0
SPARK_DIED = "SparkDied"
"""Prefix of an error caused by the end of the Spark server."""
_WORTH_TWO_WORKERS: Mapping[str, int] = {"cases": 10, "probes": 10, "tests": 2}
"""Minimum number of items, by kind of job, that are divided between two workers; others are never."""
TOO_LATE = 3
"""Exit code of a process that exceeded the time limit of an item."""
_MOST = 1 << 23


@dataclass(frozen=True)
class HarnessJob:
    """The job of one process: what it does (`kind`), with which items, in which repository."""

    kind: str
    """`cases`, `probes`, `tests` or `main`; selects the part of the driver."""
    items: Sequence[Mapping[str, Any]]
    root: Path
    python_path: Sequence[Path]
    seconds: float
    """Processor time per item. The wall-clock limit is `PATIENCE` times as much."""
    shared: Mapping[str, Any]
    """Data for all items; depends on `kind`."""
    frames: Sequence[Mapping[str, Frame]] = ()
    """By item: frames by name; empty if no item has any."""

    @property
    def path(self) -> list[str]:
        """The first entries of `sys.path`: the requested folders, then the usual ones of a repository."""
        root = self.root.resolve()
        packages = sorted({entry.parents[1] for entry in root.glob("*/*/src/*/__init__.py")})
        usual = [entry for entry in (root / "src", *packages, root) if entry.is_dir()]
        return list(dict.fromkeys(str(entry) for entry in [*(p.resolve() for p in self.python_path), *usual]))


class ItemAnswer(Model):
    """A process's answer to one item. The process ran untrusted code: only the shape is validated."""

    error: str = ""
    """Class and message; empty if there is none."""
    trace: str = ""
    plan: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    """Name and Spark type of each column of a frame."""
    rows: tuple[tuple[JsonValue, ...], ...] | None = None
    """The rows of a frame; None if the answer is none."""
    value: JsonValue = None
    passed: tuple[str, ...] = ()
    failed: dict[str, str] = Field(default_factory=dict)
    seconds: float = 0.0
    is_missing: bool = False
    """Whether the process ended before it answered."""

    @cached_property
    def frame(self) -> Frame | None:
        """The frame, if there is one; ValueError if its rows do not fit its columns."""
        if self.rows is None or self.error:
            return None
        schema = {name: SparkType.parse("null" if kind == "void" else kind) for name, kind in self.columns}
        if len(schema) < len(self.columns):
            raise ValueError("two of its columns have the same name")
        return frame_of(schema, (dict(zip(schema, row, strict=True)) for row in self.rows))


class JobResult(NamedTuple):
    answers: list[ItemAnswer]
    execution: ExecutionResult


def run_job(spark: WarmSpark, job: HarnessJob) -> JobResult:
    """Runs a job in a new process in Spark's sandbox, and once more if the Spark server ended meanwhile.

    The process divides many items between two workers, except calls of a script's own main.
    Once the server has died twice, it is not restarted for these programs, and all answers are errors.
    """
    while True:
        with temporary_folder() as folder:
            nonce = secrets.token_hex(16)
            (folder / "out").mkdir()
            try:
                _write(folder, spark, job)
                access = spark.seen_by(_access(job, folder))
            except MachineError as error:
                if error.code != "spark-died":
                    raise
                return _refused(job, spark.sandbox.isolation.name, error)
            execution = spark.sandbox.run(
                python_command("-c", _BOOT, _HERE, str(folder)),
                cwd=job.root,
                access=access,
                env=java_environment(),
                stdin=nonce.encode(),
                limits=Limits(seconds=_START_SECONDS + PATIENCE * job.seconds * len(job.items)),
            )
            answers = [_read(folder / "out", index, nonce, job.root, execution) for index in range(len(job.items))]
        if spark.alive:
            return JobResult(answers, execution)


def _refused(job: HarnessJob, isolation: str, error: MachineError) -> JobResult:
    """Answers for a job whose programs ended the server twice: they are at fault, or need more memory than it has."""
    answer = ItemAnswer(error=f"{SPARK_DIED}: {error}", is_missing=True)
    execution = ExecutionResult(exit_code=1, stdout="", stderr="", seconds=0, ended="killed", isolation=isolation)
    return JobResult([answer] * len(job.items), execution)


def _access(job: HarnessJob, folder: Path) -> Access:
    """The folders that the process may use: job and answers, driver, repository, and files that the job names."""
    texts = (job.shared.get("script"), job.shared.get("tests"))
    named = [Path(text) for text in (*texts, *(item.get("script") for item in job.items)) if text]
    read = (folder, Path(_HERE), job.root, *map(Path, job.path), *named)
    # A script's own main writes to its configured path inside the repository, which is a copy.
    return Access(read=read, write=(folder / "out", *((job.root,) if job.kind == "main" else ())))


def _write(folder: Path, spark: WarmSpark, job: HarnessJob) -> None:
    files = _write_frames(folder, job.frames or [{} for _ in job.items])
    text = {
        **job.shared,
        "kind": job.kind,
        "workers": 2 if len(job.items) >= _WORTH_TWO_WORKERS.get(job.kind, sys.maxsize) else 1,
        "remote": spark.remote,
        "resolve_paths": not spark.is_external,
        "root": str(job.root.resolve()),
        "path": job.path,
        "seconds": job.seconds,
        "items": [{**item, "frames": names} for item, names in zip(job.items, files, strict=True)],
    }
    (folder / "job.json").write_text(json.dumps(text), encoding="utf-8")


def _write_frames(folder: Path, frames: Sequence[Mapping[str, Frame]]) -> list[dict[str, str]]:
    """Writes each distinct frame once; returns file names by frame name for each item."""
    import pyarrow as pa

    written: dict[int, str] = {}
    for mapping in frames:
        for frame in mapping.values():
            if id(frame) not in written:
                written[id(frame)] = name = f"{len(written)}.arrow"
                table = frame.to_arrow()
                with pa.ipc.new_file(str(folder / name), table.schema) as writer:
                    writer.write_table(table)
    return [{name: written[id(frame)] for name, frame in mapping.items()} for mapping in frames]


def _read(folder: Path, index: int, nonce: str, root: Path, execution: ExecutionResult) -> ItemAnswer:
    try:
        sealed, _, text = read_made(folder, f"{index}.json", _MOST).decode().partition("\n")
        if not secrets.compare_digest(sealed.encode(), seal(nonce, index, text).encode()):
            raise ValueError("the answer is not the driver's own")
        answer = ItemAnswer.model_validate_json(text)
        _ = answer.frame  # its rows must fit its columns
    except FileNotFoundError:
        return ItemAnswer(error=_why_missing(root, execution), is_missing=True)
    except (ValueError, OverflowError, OSError) as error:
        return ItemAnswer(error=f"UnreadableResult: {error}")
    return answer


def _why_missing(root: Path, execution: ExecutionResult) -> str:
    if execution.exit_code == TOO_LATE:
        return "NotRun: an earlier one took too long"
    output = relative_to_root(root, execution.stderr).strip()[-1500:]
    how = execution.note or f"exit code {execution.exit_code}"
    return f"ProcessEnded: the process ended before the answer ({how}). {output}".strip()
