"""Finds the probability of a fault at which each task's actors fail as often as published.

Prints the table `CALIBRATED` of `faults/rates.py`. The rate is measured as the published one was, under planner-guided
runs of the base condition, with stand-ins for the actors: they fail as the real ones do, and take no time.
"""

from pathlib import Path

import click

from palmette.sandbox.temporary import temporary_folder
from palmette_bench.featbench.faults.rates import PUBLISHED, corrected
from palmette_bench.featbench.metrics import Summary, summary
from palmette_bench.featbench.records import Condition
from palmette_bench.featbench.stand_ins import catalogue, task
from palmette_bench.featbench.study import PlannedRun, Study


def measured(name: str, rate: float, runs: int, folder: Path, condition: Condition | None = None) -> Summary:
    """Planner-guided runs of stand-ins at a rate."""
    study = Study([task(name, rate)], folder / f"{name}-{rate:.4f}.jsonl", folder, None, "", catalogue=catalogue())
    cells = [PlannedRun(name, "offline", run, condition or Condition()) for run in range(runs)]
    return summary(study.run(cells, lambda _: None, workers=1))


@click.command()
@click.option("--runs", default=40, show_default=True)
@click.option("--rounds", default=4, show_default=True)
def main(runs: int, rounds: int) -> None:
    """Find the fault rates that reproduce the published failure rates; prints `CALIBRATED` of faults/rates.py."""
    with temporary_folder() as folder:
        for name, line in PUBLISHED.items():

            def found(rate: float, name: str = name) -> float:
                return measured(name, rate, runs, folder).failure_rate.mean

            rate = corrected(line.rate, found, rounds)
            after = measured(name, rate, runs, folder)
            print(f'    "{name}": {rate:.3f},  # {line.rate:.3f} published, {after.failure_rate.mean:.3f} found, '
                  f"{after.success.mean:.3f} succeed", flush=True)  # fmt: skip
