"""What the comparison of generated and gold scripts reads from the server's log, calls equal, prints, and stops for."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from palmette.features.inputs import read_inputs
from palmette_bench.featbench import suite
from palmette_bench.featbench.differences import differences
from palmette_bench.featbench.event_log import EventLog, QueryCost, Span
from palmette_bench.featbench.speed import (
    SIDES,
    GeneratedView,
    SpeedComparison,
    SpeedTrack,
    main,
    median,
    row,
)

PLAN = {"nodeName": "Exchange", "children": [
    {"nodeName": "Scan parquet ", "children": []},
    {"nodeName": "ReusedExchange", "children": [{"nodeName": "Exchange", "children": []}]},
    {"nodeName": "BroadcastExchange", "children": [{"nodeName": "Scan parquet ", "children": []}]}]}  # fmt: skip


def events(begun: float, number: int, cpu: float, memory: int) -> list[dict[str, Any]]:
    """Of a program that begins then, in seconds, runs one command for two of them, and has two tasks."""
    now, sql = begun * 1000, "org.apache.spark.sql.execution.ui.SparkListener"
    connect = "org.apache.spark.sql.connect.service.SparkListenerConnectOperation"
    written = {"Shuffle Bytes Written": 3 << 20}
    task = {"Executor CPU Time": cpu * 1e9, "Shuffle Write Metrics": written, "Disk Bytes Spilled": 1 << 20}
    return [
        {"Event": f"{connect}Started", "operationId": f"o{number}", "eventTime": now + 100},
        {"Event": f"{sql}SQLExecutionStart", "executionId": number, "time": now + 200,
         "physicalPlanDescription": "first", "sparkPlanInfo": {"nodeName": "Exchange", "children": []}},
        {"Event": "SparkListenerTaskEnd", "Task Info": {"Finish Time": now + 300},
         "Task Metrics": task | {"Peak Execution Memory": memory << 20}},
        {"Event": "SparkListenerTaskEnd", "Task Info": {"Finish Time": now + 400},
         "Task Metrics": task | {"Peak Execution Memory": 1 << 20}},
        {"Event": "SparkListenerStageCompleted", "Stage Info": {"Completion Time": now + 500}},
        {"Event": f"{sql}SQLAdaptiveExecutionUpdate", "executionId": number, "physicalPlanDescription": "last",
         "sparkPlanInfo": PLAN},
        {"Event": f"{connect}Closed", "operationId": f"o{number}", "eventTime": now + 2100},
    ]  # fmt: skip


def test_each_run_has_its_own_cost(tmp_path: Path) -> None:
    log, file = EventLog(tmp_path), tmp_path / "app.inprogress"
    lines = [json.dumps(one) for one in (*events(10, 0, 0.5, 7), *events(20, 1, 1.5, 9))]
    file.write_text("\n".join(lines) + '\n{"Event": "cut o', encoding="utf-8")
    first, second = log.costs([Span(10, 13), Span(20, 23)])
    assert first == QueryCost(seconds=2.0, cpu_seconds=1.0, memory_mb=7.0, shuffled_mb=6.0, spilled_mb=2.0, stages=1,
                         shuffles=1, scans=2, plan="last")  # fmt: skip
    assert (second.cpu_seconds, second.memory_mb) == (3.0, 9.0)
    with file.open("a", encoding="utf-8") as more:
        more.write('ff"}\n' + "\n".join(json.dumps(one) for one in events(30, 2, 2.0, 1)) + "\n")
    assert [one.cpu_seconds for one in log.costs([Span(30, 33)])] == [4.0], "what was read is not read again"
    between = median([first, second, second])
    assert (between.cpu_seconds, between.plan) == (3.0, "last")


ROWS = {"id": [1, 1, 2, None], "n": [1, 2, 3, 4], "share": [0.5, 0.30000000000000004, None, float("nan")],
        "vector": [[1.0, None], None, [2.0, 3.0], []]}  # fmt: skip
KINDS = {"id": pa.int64(), "n": pa.int32(), "share": pa.float64(), "vector": pa.list_(pa.float32())}


@pytest.mark.parametrize(("change", "told"), [
    ({}, ()),
    ({"share": [0.5, 0.3, None, float("nan")], "vector": [[1.0, None], None, [2.0, 3.00001], []]}, ()),
    ({"n": [1, 2, 3, 5]}, ("n: 1 differ",)),
    ({"share": [0.5, 0.3, 0.0, float("nan")]}, ("share: 1 differ",)),
    ({"vector": [[1.0, 0.0], None, [2.0, 3.1], [0.0]]}, ("vector: 3 differ",)),
    ({"id": [1, 1, 2, 3]}, ("rows of one side: 2 differ",)),
])  # fmt: skip
def test_results_are_equal_in_any_order_up_to_the_last_digits(
    change: dict[str, Any], told: tuple[str, ...], tmp_path: Path
) -> None:
    for name, rows in (("a", ROWS), ("b", ROWS | change)):
        table = pa.table({key: pa.array(values, KINDS[key]) for key, values in rows.items()})
        (tmp_path / name).mkdir()
        order = [3, 1, 0, 2] if name == "b" else [0, 1, 2, 3]
        pq.write_table(table.take(order), tmp_path / name / "part-0.parquet")
    assert differences(tmp_path / "a", tmp_path / "b", ["id"]) == told


def test_other_columns_are_told(tmp_path: Path) -> None:
    for name, kind in (("a", pa.int64()), ("b", pa.int32())):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"id": pa.array([1], kind)}), tmp_path / name / "part-0.parquet")
    (told,) = differences(tmp_path / "a", tmp_path / "b", ["id"])
    assert "BIGINT" in told and "INTEGER" in told


def test_it_ends_in_time_and_says_what_it_did_not_come_to(tmp_path: Path) -> None:
    task = suite.task("usr_ofr_rdm_ftrs")
    inputs = read_inputs(suite.prepare(task, tmp_path / "task", rows=100))
    written = GeneratedView(task, inputs, task.gold())
    (tmp_path / "log").mkdir()
    ran: list[str] = []

    def run_main(script: Path, argv: list[str], *, root: Path, seconds: float, **_: Any) -> Any:
        assert (root / "settings/usr_ofr_rdm_ftrs.yml").is_file() and "--cutoff" in argv and seconds <= 12
        ran.append(root.name.rpartition("-")[2])
        table = pa.table({"user_id": [1], "offer_id": [1], "as_of": [1]})
        pq.write_table(table, _output(root, task) / "part-0.parquet")
        return SimpleNamespace(ok=True)

    log = cast(EventLog, SimpleNamespace(costs=lambda spans: [QueryCost(seconds=1.0) for _ in spans]))
    track = SpeedTrack(tmp_path, cast(Any, None), log, time.monotonic() + 60)
    track.__dict__["harness"] = SimpleNamespace(run_main=run_main)
    whole, none = track.compare(written, 100, 2, 0.0), track.compare(written, 200, 2, 31.0)
    assert ran == [*reversed(SIDES), *SIDES, *reversed(SIDES)] and whole.runs == 2 and whole.ratio == 1.0
    assert (none.runs, none.ratio, none.note) == (0, None, "there was time for 0 of 2 runs")


def _output(root: Path, task: suite.BenchTask) -> Path:
    place = root / "lake" / task.name
    place.mkdir(parents=True, exist_ok=True)
    return place


def test_a_line_has_growth_and_is_slow_above_the_limit() -> None:
    cost = QueryCost(seconds=2.0, cpu_seconds=3.0, memory_mb=10, stages=4, shuffles=2, scans=1)
    small = SpeedComparison(task="t", rows=1_000_000, runs=3, gold=cost, made=cost, longest=5.0)
    slow = cost.model_copy(update={"seconds": 17.0, "scans": 3})
    gold = cost.model_copy(update={"seconds": 16.0})
    large = small.model_copy(update={"rows": 10_000_000, "gold": gold, "made": slow})
    assert not small.is_slow and large.is_slow
    cells = [cell.strip() for cell in row(large, small).split("|")[1:-1]]
    assert cells == ["t", "1e+07", "16.0", "17.0", "1.06", "1.00", "8.0 / 8.5 for 10", "10 / 10", "0 / 0", "2 / 2",
                     "4 / 4", "1 / 3", "equal"]  # fmt: skip


def test_sizes_that_are_no_numbers_are_refused() -> None:
    done = CliRunner().invoke(main, ["--rows", "1e6,"])
    assert done.exit_code == 2 and "is not a list of numbers" in done.output
