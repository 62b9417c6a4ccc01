"""What holds for every topology: the executor on random ones, with every planner."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toys import Toy

from palmette.engine import (
    END,
    Budget,
    Decision,
    Node,
    Planner,
    Setup,
    Situation,
    Topology,
    fold,
    read_journal,
    resume_run,
    run_topology,
)
from palmette.planners.offline import OfflinePlanner
from palmette.planners.random import RandomPlanner
from palmette.planners.sequential import SequentialPlanner


@dataclass(frozen=True)
class Shape:
    """A random topology: a chain, extra edges, extra starts, data dependencies, faults."""

    edges: frozenset[tuple[int, int]]
    starts: frozenset[int]
    needs: tuple[frozenset[int], ...]
    wants: tuple[frozenset[int], ...]
    faulty: frozenset[int]

    def toys(self) -> list[Toy]:
        last = len(self.needs) - 1
        return [
            Toy(
                f"a{index}",
                [f"a{need}" for need in sorted(needs)],
                wants=[f"a{w}" for w in sorted(wants - needs)],
                faulty=index in self.faulty,
                strict=index == last,
            )
            for index, (needs, wants) in enumerate(zip(self.needs, self.wants, strict=True))
        ]

    def setup(self, planner: Planner) -> Setup:
        toys = self.toys()
        nodes = {
            toy.name: Node(next=tuple(f"a{b}" for a, b in sorted(self.edges) if f"a{a}" == toy.name)) for toy in toys
        }
        topology = Topology(
            topology="random",
            start=tuple(f"a{start}" for start in sorted(self.starts)),
            end=(toys[-1].name,),
            actors=nodes,
        )
        return Setup(
            topology=topology,
            actors={toy.name: toy for toy in toys},
            planner=planner,
            budget=Budget(steps=60, attempts=200),
        )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    size = draw(st.integers(1, 6))
    indices = st.integers(0, size - 1)
    backbone = {(index, index + 1) for index in range(size - 1)}
    extra = draw(st.sets(st.tuples(indices, indices), max_size=6))
    needs = tuple(
        draw(st.frozensets(st.integers(0, index - 1), max_size=3)) if index else frozenset() for index in range(size)
    )
    wants = tuple(
        draw(st.frozensets(st.integers(0, index - 1), max_size=1)) if index else frozenset() for index in range(size)
    )
    return Shape(
        edges=frozenset(backbone | {(a, b) for a, b in extra if a != b}),
        starts=frozenset({0} | draw(st.sets(indices, max_size=2))),
        needs=needs,
        wants=wants,
        faulty=draw(st.frozensets(indices, max_size=2)),
    )


class Watched:
    """A planner whose situations and decisions are held against the rules."""

    def __init__(self, planner: Planner, shape: Shape) -> None:
        self._planner, self._shape = planner, shape

    def decide(self, situation: Situation) -> Decision:
        edges = {f"a{b}" for a, b in self._shape.edges if f"a{a}" == situation.state.position}
        reachable = edges | {f"a{start}" for start in self._shape.starts}
        assert set(situation.permitted) - {END} <= reachable & situation.ready
        if END in situation.permitted:
            invoked = {name for name, actor in situation.state.actors.items() if actor.invocations}
            assert invoked <= situation.fresh and situation.topology.end[0] in situation.fresh
        decision = self._planner.decide(situation)
        assert decision.question or decision.next in {*situation.permitted, "STOP"}
        return decision


PLANNERS = st.sampled_from([OfflinePlanner, SequentialPlanner, lambda: RandomPlanner(7)])
some = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@some
@given(shapes(), PLANNERS)
def test_every_run_ends_permitted_and_its_state_is_the_fold_of_its_journal(
    shape: Shape, planner: type[Planner]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = run_topology(shape.setup(Watched(planner(), shape)), Path(folder) / "run")
        entries = read_journal(Path(folder) / "run")
        assert fold(entries) == result.state
        assert entries[-1].event.kind == "run_ended"
        assert not any(entry.event.kind == "decision_refused" for entry in entries)
        for entry in entries:
            if entry.event.kind == "actor_succeeded":
                assert entry.event.verdict.ok


@some
@given(shapes())
def test_the_offline_rules_reach_the_end_and_redo_only_faults_and_what_depends_on_them(shape: Shape) -> None:
    with tempfile.TemporaryDirectory() as folder:
        setup = shape.setup(OfflinePlanner())
        result = run_topology(setup, Path(folder) / "run")
        assert result.status == "finished", result.reason
        for index, toy in enumerate(setup.actors.values()):
            assert isinstance(toy, Toy)
            upstream = _upstream(shape, index)
            if not upstream & shape.faulty and index != len(shape.needs) - 1:
                assert len(toy.runs) <= 1, f"{toy.name} has no fault and depends on none"


@some
@given(shapes(), st.integers(1, 12))
def test_a_run_stopped_after_any_step_goes_on_to_the_same_artefacts(shape: Shape, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = run_topology(shape.setup(OfflinePlanner()), Path(folder) / "whole")
        setup = shape.setup(OfflinePlanner())
        stopped = Setup(**(vars(setup) | {"budget": Budget(steps=steps)}))
        parted = run_topology(stopped, Path(folder) / "parted")
        if parted.status == "stopped":
            parted = resume_run(Path(folder) / "parted", setup=setup)
        assert parted.status == "finished"
        assert parted.state.digests == whole.state.digests


def _upstream(shape: Shape, index: int) -> set[int]:
    found = {index}
    while True:
        more = {need for one in found for need in shape.needs[one] | shape.wants[one]} - found
        if not more:
            return found
        found |= more
