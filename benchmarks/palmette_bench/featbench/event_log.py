"""What a Spark server records of the programs that it serves, in its event log.

The record is the server's own: the programs that are measured have no part in it.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from palmette.documents import Model

_MB = 1 << 20
_PATIENCE = 10.0
"""Seconds that the server may take to write down what has happened."""


class Span(NamedTuple):
    """From when to when a program ran, in seconds since the epoch."""

    begun: float
    ended: float


class QueryCost(Model):
    """What one program cost."""

    seconds: float = 0.0
    """From the arrival of a command to its end: analysis, planning and execution; all its commands together."""
    cpu_seconds: float = 0.0
    """Processor time of its tasks, which what else runs on the machine changes less."""
    memory_mb: float = 0.0
    """Hash tables and sorts of the task that had the most."""
    shuffled_mb: float = 0.0
    spilled_mb: float = 0.0
    stages: int = 0
    shuffles: int = 0
    """Exchanges of its plans as they were executed; a reused one counts once, a broadcast not at all."""
    scans: int = 0
    plan: str = ""
    """The physical plan of its last command, as it was executed in the end."""


class EventLog:
    """The log of one server, read piece by piece while it grows."""

    def __init__(self, folder: Path) -> None:
        """`folder` is empty before the server starts, and the server can write there."""
        self._folder = folder
        self._read = 0
        """Bytes that were read already."""

    @property
    def settings(self) -> dict[str, str]:
        """Settings with which the server keeps the log."""
        return {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self._folder.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.sql.maxPlanStringLength": "1000000",
        }

    def costs(self, spans: Sequence[Span]) -> list[QueryCost]:
        """What each of the programs cost that ran in these spans, one after the other, since the last call."""
        readers = [_SpanReader(span) for span in spans]
        until = time.monotonic() + _PATIENCE
        while True:
            for event in self._events():
                reader = next((one for one in readers if one.owns(event)), None)
                if reader is not None:
                    reader.take(event)
            if all(reader.is_complete for reader in readers) or time.monotonic() > until:
                return [reader.cost() for reader in readers]
            time.sleep(0.1)

    def _events(self) -> Iterator[dict[str, Any]]:
        """The whole lines that were not read yet."""
        file = next(self._folder.iterdir(), None)
        if file is None:
            return
        with file.open("rb") as lines:
            lines.seek(self._read)
            for line in lines:
                if line.endswith(b"\n"):
                    self._read += len(line)
                    yield json.loads(line)


class _SpanReader:
    """Collects what was recorded in one span."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._began: dict[str, float] = {}
        """By command: when it arrived, in milliseconds."""
        self._took: dict[str, float] = {}
        self._tasks: list[Mapping[str, Any]] = []
        """The metrics of each."""
        self._stages = 0
        self._plans: dict[int, Mapping[str, Any]] = {}
        """By execution: the newest event with its plan."""

    @property
    def is_complete(self) -> bool:
        return bool(self._began) and self._began.keys() == self._took.keys()

    def owns(self, event: Mapping[str, Any]) -> bool:
        of_stage, of_task = event.get("Stage Info", {}), event.get("Task Info", {})
        found = (event.get("time"), event.get("eventTime"), of_stage.get("Completion Time"), of_task.get("Finish Time"))
        moment = next((moment for moment in found if moment), None)
        if moment is None:  # new plans carry no time
            return event.get("executionId") in self._plans
        return bool(self._span.begun * 1000 <= moment <= self._span.ended * 1000)

    def take(self, event: Mapping[str, Any]) -> None:
        match str(event["Event"]).rpartition(".")[2]:
            case "SparkListenerConnectOperationStarted":
                self._began[event["operationId"]] = event["eventTime"]
            case "SparkListenerConnectOperationClosed":
                operation = event["operationId"]
                self._took[operation] = event["eventTime"] - self._began.get(operation, event["eventTime"])
            case "SparkListenerSQLExecutionStart" | "SparkListenerSQLAdaptiveExecutionUpdate":
                self._plans[event["executionId"]] = event
            case "SparkListenerStageCompleted":
                self._stages += 1
            case "SparkListenerTaskEnd":
                self._tasks.append(event.get("Task Metrics", {}))

    def cost(self) -> QueryCost:
        nodes = [name for event in self._plans.values() for name in _nodes(event["sparkPlanInfo"])]
        written = (task.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0) for task in self._tasks)
        return QueryCost(
            seconds=sum(self._took.values()) / 1000,
            cpu_seconds=sum(task.get("Executor CPU Time", 0) for task in self._tasks) / 1e9,
            memory_mb=max((task.get("Peak Execution Memory", 0) for task in self._tasks), default=0) / _MB,
            shuffled_mb=sum(written) / _MB,
            spilled_mb=sum(task.get("Disk Bytes Spilled", 0) for task in self._tasks) / _MB,
            stages=self._stages,
            shuffles=nodes.count("Exchange"),
            scans=sum(name.startswith("Scan") for name in nodes),
            plan=self._plans[max(self._plans)]["physicalPlanDescription"] if self._plans else "",
        )


def _nodes(plan: Mapping[str, Any]) -> Iterator[str]:
    """The names of a plan's nodes; what lies below a reused exchange was counted where it was computed."""
    yield plan["nodeName"]
    if plan["nodeName"] != "ReusedExchange":
        for child in plan["children"]:
            yield from _nodes(child)
