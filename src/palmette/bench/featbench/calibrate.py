"""Finds the probability of a fault at which each task's actors fail as often as published.

    python -m palmette.bench.featbench.calibrate [--runs 40] [--rounds 4]

Prints the table `CALIBRATED` of `faults/rates.py`. The rate is measured as the published one was, under planner-guided
runs of the base condition, with stand-ins for the actors: they fail as the real ones do, and take no time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from palmette.bench.featbench.faults.rates import PUBLISHED, corrected
from palmette.bench.featbench.metrics import Summary, summary
from palmette.bench.featbench.records import Condition
from palmette.bench.featbench.stand_ins import catalogue, task
from palmette.bench.featbench.study import Cell, Study
from palmette.sandbox.temporary import temporary_folder


def measured(name: str, rate: float, runs: int, folder: Path, condition: Condition | None = None) -> Summary:
    """Planner-guided runs of stand-ins at a rate."""
    study = Study([task(name, rate)], folder / f"{name}-{rate:.4f}.jsonl", folder, None, "", catalogue=catalogue())
    cells = [Cell(name, "offline", run, condition or Condition()) for run in range(runs)]
    return summary(study.run(cells, lambda _: None, workers=1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args(argv)
    with temporary_folder() as folder:
        for name, line in PUBLISHED.items():

            def found(rate: float, name: str = name) -> float:
                return measured(name, rate, options.runs, folder).failure_rate.mean

            rate = corrected(line.rate, found, options.rounds)
            after = measured(name, rate, options.runs, folder)
            print(f'        "{name}": {rate:.3f},  # {line.rate:.3f} published, {after.failure_rate.mean:.3f} found, '
                  f"{after.success.mean:.3f} succeed", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
