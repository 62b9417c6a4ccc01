"""The two baselines: a fixed order and a random walk."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from toys import Toy, chain

from palmette.engine import Budget, read_journal, resume_run, run_topology
from palmette.planners.random import RandomPlanner
from palmette.planners.sequential import SequentialPlanner


def walked(folder: Path) -> list[str]:
    return [entry.event.next for entry in read_journal(folder) if entry.event.kind == "decided"]


def test_the_sequence_is_that_of_the_file_and_a_failure_ends_it(tmp_path: Path) -> None:
    toys = [Toy("a", faulty=True), Toy("b", ["a"], strict=True)]
    result = run_topology(chain(*toys, planner=SequentialPlanner()), tmp_path)
    assert result.status == "stopped" and "a fixed order has no answer" in result.reason
    assert walked(tmp_path) == ["a", "b", "STOP"]
    again = [Toy("a", faulty=True), Toy("b", ["a"], strict=True)]
    result = resume_run(tmp_path, setup=chain(*again, planner=SequentialPlanner()))
    assert result.status == "stopped" and again[1].runs, "who resumes wants another try"


def test_the_walk_depends_on_the_seed_only(tmp_path: Path) -> None:
    def walk(name: str, seed: int) -> list[str]:
        toys = [Toy(letter) for letter in "abcd"] + [Toy("e", ["d"], strict=True)]
        run_topology(chain(*toys, planner=RandomPlanner(seed), budget=Budget(steps=50)), tmp_path / name)
        return walked(tmp_path / name)

    assert walk("one", 1) == walk("again", 1)
    assert len({tuple(walk(f"seed{seed}", seed)) for seed in range(5)}) > 1
