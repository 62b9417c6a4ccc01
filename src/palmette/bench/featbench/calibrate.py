"""Finds the probability of a fault at which each task's actors fail as often as published.

    python -m palmette.bench.featbench.calibrate [--runs 9] [--rounds 3] [--out DIR] [TASK ...]

Prints the table `CALIBRATED` of `faults/rates.py`. The rate is measured under the planner-guided runs of the base
condition, as the published one was, with as many runs a task as the published figures are ninths of.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from palmette.bench.featbench.experiment import Options, chosen, experiment
from palmette.bench.featbench.faults.rates import corrected, published
from palmette.bench.featbench.metrics import summary


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["paper"])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("palmette-bench/calibration"))
    options = parser.parse_args(argv)
    for task in chosen(options.tasks):
        line = published((task.name, *task.description.aliases))
        if line is None:
            continue

        def measured(rate: float, name: str = task.name) -> float:
            wanted = Options(tasks=(name,), planners=("offline",), runs=options.runs, rate=round(rate, 3))
            found = summary(experiment(wanted, options.out, lambda *_: None)).failure_rate.mean
            print(f"# {name}: {rate:.3f} leads to {found:.3f}", file=sys.stderr, flush=True)
            return found

        print(f'        "{task.name}": {corrected(line.rate, measured, options.rounds):.3f},', flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
