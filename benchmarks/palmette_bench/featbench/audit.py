"""The audit of the gold: whether the files of each task agree.

The right output is defined three times, by code that shares nothing: by the gold script, by SQL, and by the
specification as palmette's oracle understands it. All three must agree.

`python -m palmette_bench audit [NAME ...]` prints a line a task, and fails when anything is found. Names are
of tasks or of groups (`paper`, `open`); all tasks are audited without any.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from palmette.errors import InputError
from palmette.features.cutoffs import cutoffs
from palmette.features.oracle import expected
from palmette.features.samples import read_sample, sample_of
from palmette.features.spec.resolve import load_view
from palmette.features.spec.view import AS_OF
from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.featbench.differences import differences
from palmette_bench.featbench.experiment import chosen
from palmette_bench.featbench.hidden import HIDDEN_ROWS, HiddenTables, query, seen_folder
from palmette_bench.featbench.suite import WORLD, BenchTask

SEEDS = (1, 2, 3)


def audit(task: BenchTask, spark: WarmSpark, seeds: Sequence[int] = SEEDS, rows: int = HIDDEN_ROWS) -> tuple[str, ...]:
    """Everything that is wrong with a task."""
    return (*static(task), *dynamic(task, spark, seeds, rows))


def static(task: BenchTask) -> Iterator[str]:
    """What is wrong with the two specifications."""
    with temporary_folder() as folder:
        try:
            in_words = load_view(task.write_spec(folder / "fsc.yaml", in_words=True), WORLD / "registry.yaml")
        except InputError as error:
            yield str(error)
            return
    first, second = ({one.name: replace(one, words=None) for one in view.features} for view in (task.view, in_words))
    yield from (f"{name} does not mean the same in words" for name in first if first[name] != second.get(name))


def meant(task: BenchTask, base: Path) -> Iterator[str]:
    """Where the specification, by the oracle, differs from the SQL on the tables below `base`."""
    view = task.view
    samples = {name: sample_of(table, base) for name, table in view.tables.items()}
    frames = {name: read_sample(sample) for name, sample in samples.items() if sample}
    for instant in cutoffs(view, task.description.interval):
        found = expected(view, frames, instant)
        yield from (f"the oracle has no {name}: {reason}" for name, reason in found.skipped.items())
        wanted = query(base / "tables", task.expected, instant)
        yield from (f"by the oracle, {one}" for one in differences(wanted, found.to_arrow(), [*view.grain, AS_OF]))


def dynamic(task: BenchTask, spark: WarmSpark, seeds: Sequence[int], rows: int) -> Iterator[str]:
    """What is wrong when the gold is run: its frames beside the SQL's."""
    gold = task.gold()
    with seen_folder(spark) as folder:
        for seed in seeds:
            hidden = HiddenTables(task, folder / str(seed), rows, seed)
            outcome = hidden.outcome(gold, spark)
            yield from (f"seed {seed}: {one}" for one in (*outcome.differences, outcome.unmeasured) if one)
            yield from (f"seed {seed}: {one}" for one in meant(task, hidden.folder))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|paper|open|all]...")
def main(names: tuple[str, ...]) -> None:
    """Hold FeatBench's own answers to their second definition; exit status 1 when anything differs."""
    found = 0
    with WarmSpark() as spark:
        for one in chosen(names or ("all",)):
            begun = time.monotonic()
            wrong = audit(one, spark)
            found += len(wrong)
            print(f"{one.name:<40}{time.monotonic() - begun:>7.1f} s  {'ok' if not wrong else 'WRONG'}", flush=True)
            for each in wrong:
                print(f"  {each}")
    sys.exit(int(found > 0))
