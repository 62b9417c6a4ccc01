"""The audit of the gold: whether each task's own files are what the task says they are.

The right output is defined three times, by code that shares nothing: by the gold script, by SQL, and by the
specification as palmette's oracle understands it. All three must agree.

`python -m palmette.bench.featbench.audit [NAME ...]` prints a line a task, and fails when anything is found. Names are
of tasks or of groups (`paper`, `open`); all tasks are audited without any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from palmette.bench.featbench.experiment import chosen
from palmette.bench.featbench.hidden import HIDDEN_ROWS, Hidden, compared, query, seen_folder
from palmette.bench.featbench.operations import count
from palmette.bench.featbench.suite import WORLD, Task, make_repository
from palmette.errors import InputError
from palmette.features.cutoffs import cutoffs
from palmette.features.harness.connect import ConnectHarness
from palmette.features.oracle import expected
from palmette.features.samples import read_sample, sample_of
from palmette.features.spec.resolve import load_view
from palmette.features.spec.run import Interval
from palmette.features.spec.view import AS_OF, View
from palmette.sandbox import Limits, WarmSpark, python_command

SEEDS = (1, 2, 3)


def audit(task: Task, spark: WarmSpark, seeds: Sequence[int] = SEEDS, rows: int = HIDDEN_ROWS) -> tuple[str, ...]:
    """Everything that is wrong with a task."""
    return (*static(task), *dynamic(task, spark, seeds, rows))


def static(task: Task) -> Iterator[str]:
    """What is wrong with the files: counts of operations, both specifications, settings."""
    counted = count(task.gold()[f"recsys_features/views/{task.name}.py"])
    if counted != task.description.operations:
        yield f"the script has the operations {counted!r}, and not {task.description.operations!r}"
    views = []
    for words in (False, True):
        try:
            views.append(load_view(task.spec(words), WORLD / "registry.yaml"))
        except InputError as error:
            yield str(error)
    if len(views) == 2:
        first, second = ({one.name: replace(one, words=None) for one in view.features} for view in views)
        yield from (f"{name} is not in words what it is" for name in first if first[name] != second.get(name))


def instants(task: Task, view: View) -> tuple[datetime | None, ...]:
    """The cut-offs that the task's run file asks for."""
    return cutoffs(view, Interval.model_validate(task.description.interval.model_dump(exclude_none=True)))


def meant(task: Task, base: Path) -> Iterator[str]:
    """Where the specification, by the oracle, does not mean what the SQL says, on the tables below `base`."""
    view = load_view(task.spec(), WORLD / "registry.yaml")
    samples = {name: sample_of(table, base) for name, table in view.tables.items()}
    frames = {name: read_sample(sample) for name, sample in samples.items() if sample}
    for instant in instants(task, view):
        found = expected(view, frames, instant)
        yield from (f"the oracle has no {name}: {reason}" for name, reason in found.skipped.items())
        wanted = query(base / "tables", task.expected, instant)
        yield from (f"by the oracle, {one}" for one in compared(wanted, found.to_arrow(), [*view.grain, AS_OF]))


def dynamic(task: Task, spark: WarmSpark, seeds: Sequence[int], rows: int) -> Iterator[str]:
    """What is wrong when the gold is run: its frames beside the SQL's, its tests, its style."""
    gold = task.gold()
    with seen_folder(spark) as folder:
        for seed in seeds:
            hidden = Hidden(task, folder / str(seed), rows, seed)
            outcome = hidden.outcome(gold, spark)
            yield from (f"seed {seed}: {one}" for one in (*outcome.differences, outcome.unmeasured) if one)
            yield from (f"seed {seed}: {one}" for one in meant(task, hidden.folder))
        root = folder / "team"
        make_repository(root)
        for path, text in gold.items():
            (root / path).write_text(text, encoding="utf-8")
        yield from _tested(task, spark, root)
        ruff = python_command("-m", "ruff", "check", "--no-cache", ".")
        linted = spark.sandbox.run(ruff, cwd=root, env={}, limits=Limits(seconds=60))
        if not linted.ok:
            yield f"its style: {linted.stdout[-800:]}{linted.stderr[-400:]}"


def _tested(task: Task, spark: WarmSpark, root: Path) -> Iterator[str]:
    script, tests = (root / f"{place}{task.name}.py" for place in ("recsys_features/views/", "tests/views/test_"))
    text = {"gold": script.read_text(encoding="utf-8")}
    harness = ConnectHarness(spark, variant_seconds=60)
    result = harness.run_tests(tests, text, script, root=root, python_path=[root], stop_at_first=False)["gold"]
    if not result.ok:
        yield f"its tests: {result.error or dict(result.failed)}"


def main(arguments: Sequence[str]) -> int:
    """1 when anything is found."""
    parser = argparse.ArgumentParser(prog="python -m palmette.bench.featbench.audit", description=__doc__)
    parser.add_argument("tasks", nargs="*", default=["all"], metavar="NAME", help="tasks, or paper, open, all")
    found, tasks = 0, chosen(parser.parse_args(arguments).tasks)
    with WarmSpark() as spark:
        for one in tasks:
            begun = time.monotonic()
            wrong = audit(one, spark)
            found += len(wrong)
            print(f"{one.name:<40}{time.monotonic() - begun:>7.1f} s  {'ok' if not wrong else 'WRONG'}", flush=True)
            for each in wrong:
                print(f"  {each}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
