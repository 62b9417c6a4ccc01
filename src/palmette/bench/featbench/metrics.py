"""Figures of a study, from its records.

pass@3 is what the paper calls so: the share of successful runs out of three, averaged over tasks. Elsewhere pass@k is
the chance that at least one of k runs succeeds; that is given, too, by the usual unbiased estimate.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palmette.bench.featbench.records import Record, Tally

ORDER = (
    "config_generator",
    "utils_retriever",
    "code_template_generator",
    "testcase_generator",
    "testcase_coder",
    "code_generator",
)
"""The published actors."""


class Figure(NamedTuple):
    """A mean with the deviation of what it is the mean of."""

    mean: float
    deviation: float
    size: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Figure:
        found = list(values)
        if not found:
            return cls(math.nan, math.nan, 0)
        return cls(statistics.fmean(found), statistics.pstdev(found), len(found))


class Interval(NamedTuple):
    """Where a share lies with 95 % confidence."""

    low: float
    high: float


def wilson(successes: int, count: int, z: float = 1.96) -> Interval:
    """Wilson's interval of a share.

    >>> [round(bound, 3) for bound in wilson(25, 30)]
    [0.664, 0.927]
    """
    if not count:
        return Interval(0.0, 1.0)
    share = successes / count
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return Interval(max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole))


def usual_pass_at(k: int, successes: int, count: int) -> float:
    """The usual pass@k: the chance that one of `k` runs succeeds, drawn from `count` runs of which some did.

    >>> usual_pass_at(3, 1, 3), round(usual_pass_at(1, 2, 3), 3)
    (1.0, 0.667)
    """
    if count - successes < k:
        return 1.0
    return 1.0 - math.comb(count - successes, k) / math.comb(count, k)


class Summary(NamedTuple):
    """Some runs together: of a planner, of a task, or of both."""

    runs: int
    success: Figure
    """pass@3 as published: the share of successful runs; the deviation is that of single runs."""
    interval: Interval
    usual_pass: float
    """The usual pass@3, the mean over tasks."""
    silent_wrong: float
    """Share of runs whose visible checks are green and whose hidden frames differ."""
    steps: Figure
    attempts: Figure
    failure_rate: Figure
    """Of attempts, the mean over runs."""
    seconds: Figure
    work: Figure
    calls: int
    tokens: int
    money: float
    killed: float | None
    """Share of mutants that the delivered tests notice."""
    latent: float
    """Share of the faults that were latent."""
    faults: Figure
    """In a run."""


def summary(records: Sequence[Record]) -> Summary:
    good = sum(record.success for record in records)
    mutants = sum(record.mutants or 0 for record in records)
    faults = [fault for record in records for fault in record.faults if fault.kind]
    return Summary(
        runs=len(records),
        success=Figure.of(float(record.success) for record in records),
        interval=wilson(good, len(records)),
        usual_pass=_usual(records),
        silent_wrong=sum(record.silent_wrong for record in records) / max(1, len(records)),
        steps=Figure.of(float(record.steps) for record in records),
        attempts=Figure.of(float(record.attempts) for record in records),
        failure_rate=Figure.of(record.failure_rate for record in records),
        seconds=Figure.of(record.seconds for record in records),
        work=Figure.of(record.work for record in records),
        calls=sum(record.calls for record in records),
        tokens=sum(record.tokens for record in records),
        money=sum(record.money for record in records),
        killed=sum(record.killed or 0 for record in records) / mutants if mutants else None,
        latent=sum(fault.latent for fault in faults) / len(faults) if faults else 0.0,
        faults=Figure.of(float(sum(bool(fault.kind) for fault in record.faults)) for record in records),
    )


def _usual(records: Sequence[Record]) -> float:
    tasks: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        tasks[record.task].append(record.success)
    each = [usual_pass_at(min(3, len(runs)), sum(runs), len(runs)) for runs in tasks.values()]
    return statistics.fmean(each) if each else math.nan


def by_actor(records: Iterable[Record]) -> dict[str, Tally]:
    """Successes and failures of the published actors, all runs together."""
    found = {name: Tally() for name in ORDER}
    for record in records:
        for name, tally in record.actors.items():
            if name in found:
                sums = {field: getattr(found[name], field) + getattr(tally, field) for field in Tally.model_fields}
                found[name] = Tally(**sums)
    return found


def within(records: Sequence[Record], steps: int) -> float:
    """The share that would have succeeded under a limit of so many steps: a run's beginning depends on no limit."""
    return sum(record.success and record.steps <= steps for record in records) / max(1, len(records))


def alone(rates: Sequence[float], attempts: int, actors: int) -> float:
    """How often all actors of a task succeed without anybody's help, when each attempt fails with the task's rate.

    >>> alone([0.5], attempts=1, actors=2)
    0.25
    """
    return statistics.fmean((1 - rate**attempts) ** actors for rate in rates) if rates else math.nan


class Stopped(NamedTuple):
    """Why runs did not succeed."""

    reason: str
    runs: int


def reasons(records: Iterable[Record]) -> list[Stopped]:
    """How unsuccessful runs ended, the most frequent first."""
    counts: dict[str, int] = defaultdict(int)
    for record in records:
        if not record.success:
            counts[_reason(record)] += 1
    return [Stopped(*pair) for pair in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]


def _reason(record: Record) -> str:
    if record.silent_wrong:
        return "delivered, and wrong on hidden tables"
    if record.unmeasured:
        return "delivered, and not compared on hidden tables"
    if "budget" in record.reason:
        return "the limit of steps or attempts was reached"
    actor = next((name for name in (*ORDER, "pull_request") if record.reason.startswith(f"{name} failed")), "")
    return f"{actor} failed" if actor else record.reason[:80] or record.status
