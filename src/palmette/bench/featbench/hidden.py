"""What a delivered script really gives: run on hidden tables, and compared with the gold's SQL, row by row.

Hidden tables are drawn like the sample that a run works on, with another seed and size. A view whose visible checks
were all green and whose frames differ here is a silent wrong.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.bench.featbench.records import Outcome
from palmette.bench.featbench.suite import Task, prepare
from palmette.delivery.git import Git
from palmette.documents import read_document
from palmette.engine.actor import TextFile
from palmette.errors import MachineError
from palmette.features.cutoffs import arguments, cutoffs
from palmette.features.harness.connect import ConnectHarness
from palmette.features.reach import Reach
from palmette.features.repository import Checkout
from palmette.features.spec.resolve import load_view
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa

HIDDEN_ROWS = 3_000
SECONDS = 600.0
"""Of a script's own process for one cut-off, and five times as much on the clock: far more than any takes, so that
only a script that does not end, or a machine at a standstill, is not measured."""
MOST = 5
"""Differences that are told of."""
TOLERANCE = {"double": 1e-7, "float": 1e-4}
"""Relative, and absolute where both are near 0: sums of floating numbers depend on their order."""


def delivered(repository: Path, task: Task, branch: str = "") -> dict[str, str]:
    """The files of a view on a branch of a checkout: path to text; of the pull request's branch when left out."""
    git = Git(repository)
    branch = branch or f"features/{task.name}"
    names = git("diff", "--name-only", "--diff-filter=AM", "main", branch).splitlines()
    return {name: git("show", f"{branch}:{name}") + "\n" for name in names}


def outcome(task: Task, files: Mapping[str, str], spark: WarmSpark, rows: int = HIDDEN_ROWS, seed: int = 1) -> Outcome:
    """How the view that `files` (path in the repository to text) define differs from the gold.

    Code that would reach outside is not run, and says so.
    """
    with seen_folder(spark) as folder:
        return Hidden(task, folder, rows, seed).outcome(files, spark)


@contextmanager
def seen_folder(spark: WarmSpark) -> Iterator[Path]:
    """A folder for tables and output that the server sees; it is gone afterwards."""
    _ = spark.remote  # its own folder is there as long as it runs
    with temporary_folder(within=spark.sandbox.folder) as folder:
        yield folder


@dataclass(frozen=True)
class Hidden:
    """A task with hidden tables in a folder that the server sees."""

    task: Task
    folder: Path
    rows: int = HIDDEN_ROWS
    seed: int = 1

    def outcome(self, files: Mapping[str, str], spark: WarmSpark) -> Outcome:
        run = read_document(prepare(self.task, self.folder, self.rows, self.seed), Run)
        view = load_view(self.folder / run.fsc, self.folder / run.dfr)
        root = self.folder / "repository"
        script = f"recsys_features/views/{self.task.name}.py"
        if script not in files:
            return Outcome(differences=(f"no script {script!r}",))
        texts = [TextFile(path=path, text=text) for path, text in files.items() if not path.startswith("tests/")]
        if refused := Reach.of(view, run, Checkout(root), script).objections(*texts):
            return Outcome(differences=tuple(violation.message for violation in refused[:MOST]))
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        harness, instants = ConnectHarness(spark), cutoffs(view, run.interval)
        settings = next((path for path in files if path.startswith("settings/")), "")
        for instant in instants:
            argv = arguments("--settings", settings, "--cutoff", instant)
            result = harness.run_main(root / script, argv, root=root, python_path=[root], cwd=root, seconds=SECONDS)
            if result.is_late:
                return Outcome(unmeasured=f"not ended for {instant}: {result.error or result.execution.note}")
            if not result.ok:
                return Outcome(differences=(f"failed for {instant}: {result.error or result.execution.note}",))
        return Outcome(differences=self._of_output(view, root / "lake" / self.task.name, instants))

    def _of_output(self, view: View, output: Path, instants: tuple[datetime | None, ...]) -> tuple[str, ...]:
        """What was written for all cut-offs, beside what the SQL gives."""
        wanted = self.expected(instants if view.partition else instants[-1:])
        if not list(output.rglob("*.parquet")):
            return ("nothing was written",)
        return compared(wanted, _read(output, wanted, view.partition), [*view.grain, "as_of"])

    def expected(self, instants: tuple[datetime | None, ...]) -> pa.Table:
        """The right output for the cut-offs together."""
        import pyarrow as pa

        parts = [query(self.folder / "tables", self.task.expected, instant) for instant in instants]
        return pa.concat_tables(parts)


def query(tables: Path, sql: str, as_of: datetime | None) -> pa.Table:
    """The rows that SQL of DuckDB selects from the tables of a folder; `$as_of` is the cut-off."""
    try:
        import duckdb
    except ImportError:
        raise MachineError(
            "The package duckdb is not installed.", "Run `pip install 'palmette[bench]'`.", code="no-duckdb"
        ) from None
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for place in sorted(tables.iterdir()):
            files = place if place.is_file() else place / "**" / "*.parquet"
            source = f"read_parquet('{files}', hive_partitioning = true)"
            connection.execute(f"CREATE VIEW {place.stem} AS SELECT * FROM {source}")
        return connection.sql(sql, params={"as_of": as_of} if "$as_of" in sql else None).to_arrow_table()


def _read(output: Path, wanted: pa.Table, partition: str | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.dataset as ds

    of_folders = pa.schema([wanted.schema.field(partition)]) if partition else None
    partitioning = ds.partitioning(of_folders, flavor="hive") if of_folders else None
    return ds.dataset(output, format="parquet", partitioning=partitioning, exclude_invalid_files=True).to_table()


def compared(wanted: pa.Table, found: pa.Table, keys: list[str]) -> tuple[str, ...]:
    """The first differences: of columns, else of rows, which are paired by their keys."""
    return _kinds(wanted, found) or _rows(wanted, found, keys)


def _kinds(wanted: pa.Table, found: pa.Table) -> tuple[str, ...]:
    """Columns that are not the same in name, order or type."""
    first = {field.name: _kind(field.type) for field in wanted.schema}
    second = {field.name: _kind(field.type) for field in found.schema}
    if list(first.items()) == list(second.items()):
        return ()
    changed = [
        f"{name}: {first.get(name, 'no column')} is expected, {second.get(name, 'no column')} was given"
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    ]
    return tuple(changed[:MOST]) or ("the columns are in another order",)


def _kind(kind: pa.DataType) -> str:
    """A type, as far as files keep it: instants have one precision."""
    return re.sub(r"^timestamp.*", "timestamp", re.sub(r"<\w+: ", "<", re.sub(r"^large_", "", str(kind))))


def _rows(wanted: pa.Table, found: pa.Table, keys: list[str]) -> tuple[str, ...]:
    first, second = _grouped(wanted, keys), _grouped(found, keys)
    told: list[str] = []
    for key in {**first, **second}:
        ours, theirs = first.get(key, []), second.get(key, [])
        place = ", ".join(f"{name}={value}" for name, value in zip(keys, key, strict=True))
        if len(ours) != len(theirs):
            told.append(f"{place}: {len(ours)} rows are expected, {len(theirs)} were given")
        for one, other in zip(ours, theirs, strict=False):
            told += [
                f"{place} · {name}: {one[name]!r} is expected, {other[name]!r} was given"
                for name in wanted.column_names
                if not alike(one[name], other[name], TOLERANCE.get(_element(wanted.schema.field(name).type), 0.0))
            ]
        if len(told) >= MOST:
            break
    return tuple(told[:MOST])


def _element(kind: pa.DataType) -> str:
    return _element(kind.value_type) if hasattr(kind, "value_type") else str(kind)


def _grouped(table: pa.Table, keys: list[str]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Rows by key; the rows of one key are in an order of their own."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        plain = {name: _plain(value) for name, value in row.items()}
        groups[tuple(str(plain[name]) for name in keys)].append(plain)
    return {key: sorted(rows, key=repr) for key, rows in groups.items()}


def _plain(value: Any) -> Any:
    """Instants without their zone, which is UTC everywhere here."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def alike(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two values are the same, floating numbers up to `tolerance`."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        nan = math.isnan(one) and math.isnan(other)
        return nan or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return bool(one == other)
