"""The engine's own cost: steps of actors that do nothing, in time a step.

`python -m palmette.bench.engine` prints a table; it fails when the median step takes 5 ms or more.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from palmette.documents import Model
from palmette.engine import (
    Attempt,
    BaseActor,
    Budget,
    Context,
    Entry,
    Node,
    Setup,
    Topology,
    Verdict,
    create,
    resume_run,
    run_topology,
)

LENGTH = 20
"""Actors of the chain."""
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

    def run(self, input: Model, context: Context) -> Attempt[Number]:  # noqa: ARG002 - the protocol's
        before: Number | None = getattr(input, self._needs, None)
        return Attempt(Number(value=before.value + 1 if before else 0))

    def check(self, input: Model, output: Number, context: Context) -> Verdict:  # noqa: ARG002 - the protocol's
        """The number is not negative."""
        return Verdict(ok=output.value >= 0)


class Clock:
    """Takes the time of every decision."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def event(self, entry: Entry) -> None:
        if entry.event.kind == "decided":
            self.times.append(time.perf_counter())

    def progress(self, actor: str, message: str) -> None: ...

    @property
    def steps_ms(self) -> list[float]:
        return [(after - before) * 1000 for before, after in zip(self.times, self.times[1:], strict=False)]


def chain() -> Setup:
    """A straight chain of actors that do nothing."""
    actors = {f"step_{index}": Count(index) for index in range(LENGTH)}
    nodes = {
        name: Node(next=(f"step_{index + 1}",) if index + 1 < LENGTH else ())
        for index, name in enumerate(actors)
    }
    topology = Topology(topology="bench", start=("step_0",), end=(f"step_{LENGTH - 1}",), actors=nodes)
    return Setup(
        topology=topology,
        actors=actors,
        planner=create("planner", "offline"),
        budget=Budget(steps=10 * LENGTH, attempts=10 * LENGTH),
    )


def measure(run: Callable[[Clock], object]) -> list[float]:
    clock = Clock()
    run(clock)
    return clock.steps_ms


def main() -> int:
    """Prints the table; 1 when the engine is too slow."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "run"
        steps = measure(lambda clock: run_topology(chain(), folder, clock))
        begun = time.perf_counter()
        resume_run(folder, setup=chain())
        resumed = (time.perf_counter() - begun) * 1000
    median = statistics.median(steps)
    print(f"{'what':<38}{'ms':>8}")
    print(f"{'a step, median of ' + str(len(steps)):<38}{median:>8.2f}")
    print(f"{'a step, 95th percentile':<38}{statistics.quantiles(steps, n=20)[-1]:>8.2f}")
    print(f"{'resuming the finished run':<38}{resumed:>8.2f}")
    print(f"{'allowed for a step':<38}{LIMIT_MS:>8.2f}")
    return int(median >= LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
