"""Runs a script as in production, on the sample data, and reads back the files that it writes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

from palmette.engine.actor import TextFile, Violation
from palmette.features.artefacts import Config, Conventions, Script
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.suite import TRIAL
from palmette.features.cutoffs import cutoffs, is_expressible, run_call
from palmette.features.frame import Frame, Row, arrow_type
from palmette.features.frame_json import encode_row
from palmette.features.harness.connect import ConnectHarness
from palmette.features.oracle import NotCovered, WouldFail, differences, expected, skipped_text
from palmette.features.oracle.clock import MICROSECOND, day_of
from palmette.features.oracle.compare import ExpectedFrame
from palmette.features.samples import read_sample
from palmette.features.spec.view import AS_OF, View
from palmette.features.team_document import document_text, parse_text
from palmette.features.workbench import Workbench
from palmette.sandbox.reading import copy_made
from palmette.sandbox.temporary import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa

ORACLE_ROWS = 20_000
"""Maximum number of sample rows for a comparison with the oracle, which works by brute force."""

FEW_ROWS_BYTES = 1 << 22
"""Size of the sample below which compiling Spark's plans takes longer than interpreting them."""
MOST_CELLS = 1 << 24
PREVIEW_ROWS = 50


@dataclass(frozen=True)
class SampleRun:
    """Runs a script for the last two cut-offs of a run, and again for the last one, which must change nothing."""

    code: ClassVar[str] = "sample run"
    codes: ClassVar[tuple[str, ...]] = TRIAL
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 10

    view: View
    bench: Workbench
    conventions: Conventions
    config: Config
    script: Script
    files: Sequence[TextFile]
    """The files that the run adds to the repository."""

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if reason := self._not_runnable():
            return CheckResult(skipped=reason)
        # In a separate checkout, because the sample's configuration replaces the real one, and in a folder that
        # Spark may write to.
        with temporary_folder(within=subject.harness.spark.sandbox.folder) as folder:
            return self.run(subject.harness, self.bench.assemble(self.files, folder))

    def run(self, harness: ConnectHarness, root: Path) -> CheckResult:
        """Runs the script in `root`, an assembled checkout, with a sample configuration written next to the script."""
        output = root / ".palmette-output"
        config = self._write_config(root, output)
        last = cutoffs(self.view, self.bench.run.interval)[-2:]
        if failed := self._main(harness, config, root, (*last, last[-1])):
            return CheckResult((failed,))
        frame, violations = self._read(output, last)
        if frame is None:
            return CheckResult(tuple(violations), detail="no readable data")
        detail = f"{len(last) + 1} runs, {len(frame.rows)} rows read back"
        if not violations:
            compared, violations = self._compare(frame, last)
            detail += f", {compared}"
        shown = {name: kind for name, kind in self.view.output.items() if name not in self.view.personal}
        preview = [encode_row(shown, row) for row in frame.rows[:PREVIEW_ROWS]]
        return CheckResult(tuple(violations), detail=detail, evidence=json.dumps(preview) if preview else "")

    def _not_runnable(self) -> str:
        entry = self.conventions.entry
        if entry.kind == "none":
            return "nothing in the repository shows how its scripts are run"
        last = [one for one in cutoffs(self.view, self.bench.run.interval)[-2:] if one is not None]
        if not all(is_expressible(entry, one) for one in last):
            return f"the team writes cut-offs as {entry.cutoff_format}, which cannot express those of the run file"
        missing = sorted(name for name, sample in self.bench.samples.items() if sample is None)
        if missing:
            return f"no sample on this machine for {', '.join(missing)}"
        named = sorted(table.name for table in self.view.tables.values() if table.table and not table.path)
        if named or self.bench.run.output.path is None:
            return "reads or writes catalogue tables, which a local session does not have"
        return ""

    def _write_config(self, root: Path, output: Path) -> str:
        """Writes the team's configuration with the sample's paths; returns its relative path."""
        config = self.config
        document = parse_text(config.file.path, config.file.text)
        samples = {f"source:{name}": str(sample.path) for name, sample in self.bench.samples.items() if sample}
        for fact, path in {**samples, "output": str(output)}.items():
            if fact in config.places:
                *parents, last = config.places[fact]
                reduce(lambda node, key: node[key], parents, document)[last] = path
        target = root / config.file.path
        target.write_text(document_text(config.file.path, document), encoding="utf-8")
        return config.file.path

    def _main(
        self, harness: ConnectHarness, config: str, root: Path, at: Sequence[datetime | None]
    ) -> Violation | None:
        """Runs the script for each cut-off; returns why one failed."""
        path = self.script.file.path
        calls = [run_call(self.conventions.entry, path, self.view, config, as_of) for as_of in at]
        first, *others = calls
        result = harness.run_main(
            root / first.path,
            first.arguments,
            then=[call.arguments for call in others],
            function=first.function,
            few_rows=sum(sample.size for sample in self.bench.samples.values() if sample) < FEW_ROWS_BYTES,
            root=root,
        )
        if result.ok:
            return None
        command = shlex.join(calls[result.calls - 1].command)
        return Violation(
            code="script-failed",
            subject=path,
            evidence=result.trace[-3000:],
            message=f"`{command}` failed on the sample: {result.error or 'no reason given'}",
        )

    def _read(self, output: Path, last: tuple[datetime | None, ...]) -> tuple[Frame | None, list[Violation]]:
        import pyarrow as pa

        path = self.script.file.path

        def violation(code: str, message: str) -> list[Violation]:
            return [Violation(code=code, subject=path, message=message)]

        try:
            with temporary_folder() as copy:  # the Spark server keeps running and could change its output
                copy_made(output, copy)
                if not list(copy.rglob("*.parquet")) and not list(copy.rglob("*.orc")):
                    message = f"{path} ended well but wrote no data to the configured output."
                    return None, violation("no-data-written", message)
                frame = Frame.from_arrow(_read_output(copy, self.view, self.bench.run.output.format))
        except (pa.ArrowException, ValueError, OverflowError, KeyError, OSError) as error:
            return None, violation(
                "output-schema", f"The written data does not have the columns and types of the view: {error}."
            )
        if self.view.partition and len(last) > 1:
            written = {row[self.view.partition] for row in frame.rows}
            is_lost = len(written) < len(last) and not self._rows_of(frame, last[0]) and frame.rows
            if is_lost and (isinstance(first := self._wanted(last[0]), str) or first.rows):
                return frame, violation("partition-lost", "Writing one partition removed the one written before it.")
        return frame, []

    def _compare(self, frame: Frame, last: tuple[datetime | None, ...]) -> tuple[str, list[Violation]]:
        """Compares the output with the oracle's, if the sample is small enough."""
        wanted = self._wanted(last[-1])
        if isinstance(wanted, str):
            return wanted, []
        found = differences(wanted, frame.with_rows(self._rows_of(frame, last[-1])), self.view)
        violation = Violation(
            code="sample-mismatch",
            subject=self.script.file.path,
            evidence="\n".join(map(str, found)),
            message="The data written from the sample is not what the specification demands.",
        )
        parts = [f"equal to the oracle on {len(wanted.rows)} rows", skipped_text(wanted.skipped)]
        return "; ".join(part for part in parts if part), [violation] if found else []

    def _wanted(self, as_of: datetime | None) -> ExpectedFrame | str:
        """The rows of the sample at a cut-off as the oracle computes them, or why it does not."""
        frames = {name: read_sample(sample) for name, sample in self.bench.samples.items() if sample}
        if sum(len(sample.rows) for sample in frames.values()) > ORACLE_ROWS:
            return "sample too large to compare with the oracle"
        try:
            return expected(self.view, frames, as_of)
        except (NotCovered, WouldFail) as error:
            return f"not compared with the oracle ({error})"

    def _rows_of(self, frame: Frame, as_of: datetime | None) -> list[Row]:
        """The rows of one cut-off: by the column, else by the partition; all of them if the output has neither."""
        if as_of is None or not (AS_OF in frame.schema or self.view.partition):
            return list(frame.rows)
        name: str = AS_OF
        value: Any = as_of
        if AS_OF not in frame.schema and self.view.partition:
            name, value = self.view.partition, day_of(as_of - MICROSECOND, ZoneInfo(self.view.zone))
        return [row for row in frame.rows if row[name] == value]


def _read_output(output: Path, view: View, format_: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.dataset as ds

    schema = pa.schema([(name, arrow_type(kind)) for name, kind in view.output.items()])
    partitioning = None
    if view.partition:
        partitioning = ds.partitioning(pa.schema([schema.field(view.partition)]), flavor="hive")
    found = ds.dataset(output, format=format_, partitioning=partitioning, exclude_invalid_files=True)
    cells = found.count_rows() * len(found.schema)  # compressed files may expand without limit
    if cells > MOST_CELLS:
        raise ValueError(f"it has {cells} cells, and at most {MOST_CELLS} are read back")
    if sorted(found.schema.names) != sorted(schema.names):
        raise KeyError(f"columns {found.schema.names} instead of {schema.names}")
    flat = {field.name for field in schema if not pa.types.is_nested(field.type)}
    for field in (field for file in found.get_fragments() for field in file.physical_schema):
        if field.name in flat and pa.types.is_nested(field.type):  # reading corrupt lists can crash the process
            raise ValueError(f"{field.name!r} is {field.type} in a file")
    return found.to_table().select(schema.names).cast(schema)
