"""The engine's own cost: steps of actors that do nothing, in time a step.

`python -m palmette_bench engine` prints a table; it fails when the median step takes 5 ms or more.
"""

import statistics
import sys
import time
from pathlib import Path

import click
from pydantic import BaseModel

from palmette.documents import Model
from palmette.engine import (
    Attempt,
    BaseActor,
    Context,
    Entry,
    Node,
    Observer,
    RunBudget,
    Setup,
    Topology,
    Verdict,
    create,
    resume_run,
    run_topology,
)
from palmette.sandbox.temporary import temporary_folder

LENGTH = 20
"""Actors of the chain."""
RUNS = 7
"""The quietest run counts: whatever else the machine does only adds."""
LIMIT_MS = 5.0


class Number(Model):
    value: int


class Start(Model):
    """Input of the first actor."""


class Count(BaseActor):
    """Adds one to its predecessor's number."""

    description = "Adds one."
    Output: type[BaseModel] = Number
    has_criterion = True

    def __init__(self, index: int) -> None:
        self.name, self.produces, self._needs = f"step_{index}", f"number_{index}", f"number_{index - 1}"
        fields = {"__annotations__": {self._needs: Number}} if index else {}
        self.Input: type[BaseModel] = type("Input", (Model,), {"__module__": __name__, **fields})

    def run(self, input: Model, context: Context) -> Attempt[Number]:
        before: Number | None = getattr(input, self._needs, None)
        return Attempt(Number(value=before.value + 1 if before else 0))

    def check(self, input: Model, output: Number, context: Context) -> Verdict:
        """The number is not negative."""
        return Verdict(ok=output.value >= 0)


class Clock(Observer):
    """Takes the time of every decision."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def event(self, entry: Entry) -> None:
        if entry.event.kind == "decided":
            self.times.append(time.perf_counter())

    @property
    def steps_ms(self) -> list[float]:
        return [(after - before) * 1000 for before, after in zip(self.times, self.times[1:], strict=False)]


def chain() -> Setup:
    """A straight chain of actors that do nothing."""
    actors = {f"step_{index}": Count(index) for index in range(LENGTH)}
    nodes = {name: Node(next=(f"step_{index + 1}",) if index + 1 < LENGTH else ()) for index, name in enumerate(actors)}
    topology = Topology(topology="bench", start=("step_0",), end=(f"step_{LENGTH - 1}",), actors=nodes)
    return Setup(
        topology=topology,
        actors=actors,
        planner=create("planner", "offline"),
        budget=RunBudget(steps=10 * LENGTH, attempts=10 * LENGTH),
    )


def measure(folder: Path) -> list[float]:
    """The times of the steps of one run, in milliseconds."""
    clock = Clock()
    run_topology(chain(), folder, clock)
    return clock.steps_ms


@click.command()
def main() -> None:
    """Time the engine's own work per step; exit status 1 when the median step takes 5 ms or more."""
    with temporary_folder() as root:
        runs = [measure(root / str(number)) for number in range(RUNS)]
        setup = chain()
        begun = time.perf_counter()
        resume_run(root / "0", setup=setup)
        resumed = (time.perf_counter() - begun) * 1000
    steps = min(runs, key=statistics.median)
    median = statistics.median(steps)
    rows = {
        f"a step, median of {len(steps)}": median,
        "a step, 95th percentile": statistics.quantiles(steps, n=20)[-1],
        "resuming the finished run": resumed,
        "allowed for a step": LIMIT_MS,
    }
    print(f"{'what':<30}{'ms':>8}")
    for what, value in rows.items():
        print(f"{what:<30}{value:>8.2f}")
    sys.exit(int(median >= LIMIT_MS))
