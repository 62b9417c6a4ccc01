"""What holds for every topology: the executor on random ones. What holds for every planner is its contract's."""

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from shapes import Shape, shapes, some
from toys import Toy

from palmette.engine import (
    END,
    Decision,
    RunBudget,
    Setup,
    Situation,
    fold,
    read_journal,
    resume_run,
    run_state,
    run_topology,
)
from palmette.planners.baselines import RandomPlanner
from palmette.planners.offline import OfflinePlanner


class Watched(RandomPlanner):
    """A walk whose situations are held against the shape of the topology."""

    def __init__(self, shape: Shape, seed: int) -> None:
        super().__init__(seed)
        self._shape = shape

    def decide(self, situation: Situation) -> Decision:
        reachable = [f"a{start}" for start in self._shape.starts] + self._after(situation.state.position)
        for name in reachable:  # grows while fresh actors lead on
            found = self._after(name) if name in situation.fresh else []
            reachable += [other for other in found if other not in reachable]
        lacking = {name for name in reachable if situation.wiring.missing(name, situation.state.digests)}
        assert set(situation.permitted) - {END} == {*reachable} - lacking
        if END in situation.permitted:
            invoked = {name for name, actor in situation.state.actors.items() if actor.invocations}
            assert invoked <= situation.fresh and situation.topology.end[0] in situation.fresh
        return super().decide(situation)

    def _after(self, name: str | None) -> list[str]:
        return [f"a{b}" for a, b in self._shape.edges if f"a{a}" == name]


@some
@given(shapes(), st.integers(0, 99))
def test_permitted_is_what_edges_and_inputs_allow(shape: Shape, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert run_topology(shape.setup(Watched(shape, seed)), Path(folder) / "run").state.decisions


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


FAULT_AT_THE_BUDGET = Shape(
    edges=frozenset({(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (5, 4)}),
    starts=frozenset({0}),
    needs=(*[frozenset[int]()] * 5, frozenset({0, 1, 2})),
    wants=(frozenset[int](),) * 6,
    faulty=frozenset({0}),
)
"""With five steps the budget is reached just when a failure has to be located."""


@some
@example(FAULT_AT_THE_BUDGET, 5)
@given(shapes(), st.integers(1, 12))
def test_a_run_stopped_after_any_step_goes_on_to_the_same_artefacts(shape: Shape, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = run_topology(shape.setup(OfflinePlanner()), Path(folder) / "whole")
        setup = shape.setup(OfflinePlanner())
        assert run_state(Path(folder) / "whole") == fold(read_journal(Path(folder) / "whole"))
        stopped = Setup(**(vars(setup) | {"budget": RunBudget(steps=steps)}))
        parted = run_topology(stopped, Path(folder) / "parted")
        ended_early = parted.status == "finished" and whole.state.spent.steps > steps  # where it may end already
        if parted.status == "stopped":
            parted = resume_run(Path(folder) / "parted", setup=setup)
        assert parted.status == "finished"
        assert run_state(parted.folder) == parted.state == fold(read_journal(parted.folder))
        assert ended_early or parted.state.digests == whole.state.digests


def _upstream(shape: Shape, index: int) -> set[int]:
    found = {index}
    while True:
        more = {need for one in found for need in shape.needs[one] | shape.wants[one]} - found
        if not more:
            return found
        found |= more
