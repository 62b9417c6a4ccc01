"""What a delivered script really gives: run on hidden tables, and compared with the gold's SQL, row by row.

Hidden tables are drawn like the sample that a run works on, with another seed and size. A view whose visible checks
were all green and whose frames differ here is a silent wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from palmette.documents import read_document
from palmette.engine.actor import TextFile
from palmette.features.cutoffs import cutoffs
from palmette.features.harness.connect import ConnectHarness
from palmette.features.harness.jobs import TOO_LATE
from palmette.features.import_policy import FeatureImportPolicy
from palmette.features.repository import Checkout
from palmette.features.spec.resolve import load_view
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.featbench.differences import differences
from palmette_bench.featbench.records import HiddenResult
from palmette_bench.featbench.suite import BenchTask, prepare

HIDDEN_ROWS = 3_000
SECONDS = 600.0
"""Of a script's own process for one cut-off, and five times as much on the clock: far more than any takes, so that
only a script that does not end, or a machine at a standstill, is not measured."""
MOST = 5
"""Objections that are reported."""


def outcome(task: BenchTask, files: Mapping[str, str], spark: WarmSpark, rows: int = HIDDEN_ROWS) -> HiddenResult:
    """How the view that `files` (path in the repository to text) define differs from the right answer."""
    with seen_folder(spark) as folder:
        return HiddenTables(task, folder, rows).outcome(files, spark)


@contextmanager
def seen_folder(spark: WarmSpark) -> Iterator[Path]:
    """A folder for tables and output that the server sees; it is gone afterwards."""
    _ = spark.remote  # its own folder is there as long as it runs
    with temporary_folder(within=spark.sandbox.folder) as folder:
        yield folder


@dataclass(frozen=True)
class HiddenTables:
    """A task with hidden tables in a folder that the server sees."""

    task: BenchTask
    folder: Path
    rows: int = HIDDEN_ROWS
    seed: int = 1

    def outcome(self, files: Mapping[str, str], spark: WarmSpark) -> HiddenResult:
        run = read_document(prepare(self.task, self.folder, self.rows, self.seed), Run)
        view = load_view(self.folder / run.fsc, self.folder / run.dfr)
        root = self.folder / "repository"
        script = self.task.script
        if script not in files:
            return HiddenResult(differences=(f"no script {script!r}",))
        texts = [TextFile(path=path, text=text) for path, text in files.items() if not path.startswith("tests/")]
        if refused := FeatureImportPolicy.of(view, run, Checkout(root), script).objections(*texts):
            return HiddenResult(differences=tuple(violation.message for violation in refused[:MOST]))
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        harness, instants = ConnectHarness(spark), cutoffs(view, run.interval)
        settings = next((path for path in files if path.startswith("settings/")), "")
        for instant in instants:
            argv = command_line(settings, instant, files[script])
            result = harness.run_main(root / script, argv, root=root, seconds=SECONDS)
            if result.execution.ended == "timeout" or result.execution.exit_code == TOO_LATE:
                return HiddenResult(unmeasured=f"not ended for {instant}: {result.error or result.execution.note}")
            if not result.ok:
                return HiddenResult(differences=(f"failed for {instant}: {result.error or result.execution.note}",))
        return HiddenResult(differences=self._of_output(view, root / "lake" / self.task.name, instants))

    def _of_output(self, view: View, output: Path, instants: tuple[datetime | None, ...]) -> tuple[str, ...]:
        """What was written for all cut-offs, beside what the SQL gives."""
        wanted = self.expected(instants if view.partition else instants[-1:])
        if not list(output.rglob("*.parquet")):
            return ("nothing was written",)
        return differences(wanted, output, [*view.grain, "as_of"])

    def expected(self, instants: tuple[datetime | None, ...]) -> pa.Table:
        """The right output for the cut-offs together."""
        parts = [query(self.folder / "tables", self.task.expected, instant) for instant in instants]
        return pa.concat_tables(parts)


def query(tables: Path, sql: str, as_of: datetime | None) -> pa.Table:
    """The rows that SQL of DuckDB selects from the tables of a folder; `$as_of` is the cut-off."""
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for place in sorted(tables.iterdir()):
            files = place if place.is_file() else place / "**" / "*.parquet"
            source = f"read_parquet('{files}', hive_partitioning = true)"
            connection.execute(f"CREATE VIEW {place.stem} AS SELECT * FROM {source}")
        return connection.sql(sql, params={"as_of": as_of} if "$as_of" in sql else None).to_arrow_table()


def command_line(settings: str, instant: datetime | None, script: str) -> list[str]:
    """The arguments of a script of the benchmark's repository; its neighbours take a cut-off, and most copies do."""
    if instant is None and "--cutoff" not in script:
        return ["--settings", settings]
    return ["--settings", settings, "--cutoff", (instant or datetime.now(UTC)).astimezone(UTC).isoformat()]
