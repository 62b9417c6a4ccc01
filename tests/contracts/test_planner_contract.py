"""What every registered planner must keep to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from toys import Toy, chain

from palmette.engine import END, STOP, Budget, Decision, Planner, Setup, Situation, create, names, run_topology


class Twice:
    """Asks a planner everything twice, and remembers what it decided."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.decisions: list[Decision] = []

    def decide(self, situation: Situation) -> Decision:
        decision = self._planner.decide(situation)
        assert self._planner.decide(situation) == decision, "a decision follows from the situation alone"
        if not decision.question:
            assert decision.next in {*situation.permitted, STOP}
            assert decision.next != STOP or decision.diagnosis, "who stops says why"
        self.decisions.append(decision)
        return decision


@pytest.fixture(params=names("planner"))
def planner(request: pytest.FixtureRequest) -> Twice:
    return Twice(create("planner", request.param, {"seed": 5}))


def straight(planner: Planner) -> Setup:
    return chain(Toy("a"), Toy("b", ["a"]), Toy("c", ["b"], strict=True), planner=planner, budget=Budget(steps=200))


def test_it_reaches_the_end_of_a_chain_in_which_nothing_fails(planner: Twice, tmp_path: Path) -> None:
    assert run_topology(straight(planner), tmp_path / "run").status == "finished"
    assert planner.decisions[-1].next == END


def test_it_ends_when_an_actor_cannot_succeed(planner: Twice, tmp_path: Path) -> None:
    class Hopeless(Toy):
        def implicated(self, violation: object, output: object) -> None:
            return None

    toys = [Hopeless("a", faulty=True), Hopeless("b", ["a"], strict=True)]
    assert run_topology(chain(*toys, planner=planner, budget=Budget(steps=30)), tmp_path / "run").status == "stopped"


def test_it_decides_the_same_in_a_second_run(planner: Twice, tmp_path: Path) -> None:
    run_topology(straight(planner), tmp_path / "one")
    first, planner.decisions = planner.decisions, []
    run_topology(straight(planner), tmp_path / "two")
    assert planner.decisions == first
