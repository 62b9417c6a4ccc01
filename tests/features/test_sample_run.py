"""What a script has written is read back, whatever it is: each comes to a frame or to a violation."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palmette.features import sample_run
from palmette.features.frame import Frame, arrow_type
from palmette.features.spec.values import SparkType

OUTPUT = {"user_id": SparkType("string"), "as_of": SparkType("timestamp")}


def read_back(folder: Path, name: str, table: pa.Table | bytes) -> Any:
    folder.mkdir()
    if isinstance(table, bytes):
        (folder / name).write_bytes(table)
    else:
        pq.write_table(table, folder / name)
    view: Any = SimpleNamespace(output=OUTPUT, partition="")
    bench: Any = SimpleNamespace(run=SimpleNamespace(output=SimpleNamespace(format="parquet")))
    script: Any = SimpleNamespace(file=SimpleNamespace(path="x.py"))
    none: Any = None
    return sample_run.SampleRun(view, bench, none, none, script, ())._read(folder, (None,))


def rows(count: int, at: int = 0) -> pa.Table:
    times = pa.array([at] * count, pa.int64()).cast(arrow_type(OUTPUT["as_of"]))
    return pa.table({"user_id": pa.array(["a"] * count), "as_of": times})


def test_rows_are_read_back(tmp_path: Path) -> None:
    frame, violations = read_back(tmp_path / "out", "part-0.parquet", rows(3))
    assert len(frame.rows) == 3 and not violations


@pytest.mark.parametrize(
    ("wanted", "codes"), [(Frame(OUTPUT, ()), []), ("not compared with the oracle", ["partition-lost"])]
)
def test_a_partition_without_rows_is_not_lost(
    wanted: Frame | str, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample has no rows at the cut-off before the last, so nothing was there to be removed."""
    last = (datetime(2025, 1, 5, tzinfo=UTC), datetime(2025, 1, 6, tzinfo=UTC))
    (tmp_path / "day=2025-01-05").mkdir()
    pq.write_table(rows(1, at=int(last[1].timestamp()) * 1_000_000), tmp_path / "day=2025-01-05" / "part-0.parquet")
    view: Any = SimpleNamespace(output={**OUTPUT, "day": SparkType("date")}, partition="day", zone="UTC")
    bench: Any = SimpleNamespace(run=SimpleNamespace(output=SimpleNamespace(format="parquet")))
    script: Any = SimpleNamespace(file=SimpleNamespace(path="x.py"))
    none: Any = None
    monkeypatch.setattr(sample_run.SampleRun, "_wanted", lambda *_: wanted)
    _, violations = sample_run.SampleRun(view, bench, none, none, script, ())._read(tmp_path, last)
    assert [one.code for one in violations] == codes


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (rows(4), "8 cells"),
        (rows(1, at=1 << 62), "out of range"),
        (rows(1).append_column("more", pa.array([1])), "columns"),
        (pa.table({"user_id": ["a"], "as_of": ["soon"]}), "soon"),
        (rows(1).set_column(0, "user_id", pa.array([["a"]])), "list"),
        (b"PAR1" + bytes(40) + b"PAR1", ""),
    ],
    ids=["too many", "a time beyond the calendar", "another column", "another type", "lists", "no file of its kind"],
)
def test_what_cannot_be_read_back_is_a_violation(
    table: pa.Table | bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_run, "MOST_CELLS", 7)
    frame, violations = read_back(tmp_path / "out", "part-0.parquet", table)
    assert frame is None and [one.code for one in violations] == ["output-schema"]
    assert said in violations[0].message
