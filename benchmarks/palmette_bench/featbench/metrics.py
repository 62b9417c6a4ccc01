"""Figures of a study, from its records.

pass@3 is what the paper calls so: the share of successful runs out of three, averaged over tasks. Elsewhere pass@k is
the chance that at least one of k runs succeeds; that is given, too, by the usual unbiased estimate.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palmette.automl.report.figures import wilson
from palmette_bench.featbench.records import ActorTally, RunRecord

ORDER = (
    "config_generator",
    "utils_retriever",
    "code_template_generator",
    "testcase_generator",
    "testcase_coder",
    "code_generator",
)
"""The published actors."""


class Mean(NamedTuple):
    """A mean with the deviation of what it is the mean of."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        found = list(values)
        if not found:
            return cls(math.nan, math.nan)
        return cls(statistics.fmean(found), statistics.pstdev(found))


def usual_pass_at(k: int, successes: int, count: int) -> float:
    """The usual pass@k: the chance that one of `k` runs succeeds, drawn from `count` runs of which some did.

    >>> usual_pass_at(3, 1, 3), round(usual_pass_at(1, 2, 3), 3)
    (1.0, 0.667)
    """
    return 1.0 - math.comb(count - successes, k) / math.comb(count, k)


class Summary(NamedTuple):
    """Some runs together: of a planner, of a task, or of both."""

    runs: int
    success: Mean
    """pass@3 as published: the share of successful runs; the deviation is that of single runs."""
    interval: tuple[float, float]
    """Of the share, with 95 % confidence."""
    usual_pass: float
    """The usual pass@3, the mean over tasks."""
    silent_wrong: float
    """Share of runs whose visible checks are green and whose hidden frames differ."""
    steps: Mean
    attempts: Mean
    failure_rate: Mean
    """Of attempts, the mean over runs."""
    seconds: Mean
    work: Mean
    calls: int
    tokens: int
    money: float
    killed: float | None
    """Share of mutants that the delivered tests notice."""


def summary(records: Sequence[RunRecord]) -> Summary:
    good = sum(record.success for record in records)
    mutants = sum(record.mutants or 0 for record in records)
    return Summary(
        runs=len(records),
        success=Mean.of(float(record.success) for record in records),
        interval=wilson(good, len(records)),
        usual_pass=_usual(records),
        silent_wrong=sum(record.silent_wrong for record in records) / max(1, len(records)),
        steps=Mean.of(float(record.steps) for record in records),
        attempts=Mean.of(float(record.attempts) for record in records),
        failure_rate=Mean.of(record.failure_rate for record in records),
        seconds=Mean.of(record.seconds for record in records),
        work=Mean.of(record.work for record in records),
        calls=sum(record.calls for record in records),
        tokens=sum(record.tokens for record in records),
        money=sum(record.money for record in records),
        killed=sum(record.killed or 0 for record in records) / mutants if mutants else None,
    )


def _usual(records: Sequence[RunRecord]) -> float:
    tasks: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        tasks[record.task].append(record.success)
    each = [usual_pass_at(min(3, len(runs)), sum(runs), len(runs)) for runs in tasks.values()]
    return statistics.fmean(each) if each else math.nan


def by_actor(records: Iterable[RunRecord]) -> dict[str, ActorTally]:
    """Successes and failures of the published actors, all runs together."""
    found = {name: ActorTally() for name in ORDER}
    for record in records:
        for name, tally in record.actors.items():
            if name in found:
                sums = {field: getattr(found[name], field) + getattr(tally, field) for field in ActorTally.model_fields}
                found[name] = ActorTally(**sums)
    return found


def within(records: Sequence[RunRecord], steps: int) -> float:
    """The share that would have succeeded under a limit of so many steps: a run's beginning depends on no limit."""
    return sum(record.success and record.steps <= steps for record in records) / max(1, len(records))


def reasons(records: Iterable[RunRecord]) -> list[tuple[str, int]]:
    """How unsuccessful runs ended, and how often, the most frequent first."""
    return Counter(sorted(_reason(record) for record in records if not record.success)).most_common()


def _reason(record: RunRecord) -> str:
    if record.silent_wrong:
        return "delivered, and wrong on hidden tables"
    if record.unmeasured:
        return "delivered, and not compared on hidden tables"
    if "budget" in record.reason:
        return "the limit of steps or attempts was reached"
    actor = next((name for name in (*ORDER, "pull_request") if record.reason.startswith(f"{name} failed")), "")
    return f"{actor} failed" if actor else record.reason[:80] or record.status
