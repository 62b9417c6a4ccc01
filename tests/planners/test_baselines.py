"""The two baselines: a fixed order and a random walk."""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "engine")]

from situations import NEXT, published
from toys import Toy, chain

from palmette.engine import RunBudget, read_journal, resume_run, run_topology
from palmette.planners.baselines import RandomPlanner, SequentialPlanner

START = ("config", "tests")


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


def test_the_walk_keeps_to_the_edges_and_depends_on_the_seed_only(tmp_path: Path) -> None:
    def walk(name: str, seed: int) -> list[str]:
        setup = replace(published(budget=RunBudget(steps=300)), planner=RandomPlanner(seed))
        assert run_topology(setup, tmp_path / name).status == "finished"
        return walked(tmp_path / name)

    assert walk("one", 1) == walk("again", 1)
    walks = [walk(f"seed{seed}", seed) for seed in range(5)]
    assert len({tuple(walk) for walk in walks}) > 1
    assert any(steps.count("deliver") > 1 for steps in walks) or any(len(steps) > 8 for steps in walks)
    for steps in walks:
        assert steps[-1] == "END"
        assert all(after in {*NEXT[before], *START} for before, after in pairwise(steps[:-1]))
        assert not any(after in START for before, after in pairwise(steps) if before == "config")
