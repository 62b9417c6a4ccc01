"""Random topologies of toys, for what must hold on all of them."""

from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from toys import Toy

from palmette.engine import Node, Planner, RunBudget, Setup, Topology

some = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


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
            budget=RunBudget(steps=60, attempts=200),
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
