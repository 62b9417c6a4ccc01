"""The planner protocol: it chooses the next actor and, after a failure, the actor at fault."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from palmette.engine.actor import Actor, Pay, Recall, Violation, nothing_recalled, pay_unrecorded
from palmette.engine.events import Order
from palmette.engine.state import RunState
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring


@dataclass(frozen=True)
class Decision:
    """The next actor, or a question to answer first."""

    next: str = ""  # A permitted actor, END, or STOP; ignored if there is a question
    target: str = ""
    """The actor that `instruction` and `evidence` are for, if `next` is only a step on the way; defaults to `next`."""
    instruction: str = ""  # what the target should do differently; it makes the target run again even if it is fresh
    diagnosis: str = ""  # the planner's explanation; with STOP, what was tried
    evidence: tuple[Violation, ...] = ()  # the violations that the target is responsible for
    also: tuple[Order, ...] = ()  # instructions to other actors, which run again on the way
    question: str = ""
    """One question to the human. The answer arrives as `state.answer` in the next situation."""
    then: tuple[str, ...] = ()
    """The actors to visit afterwards if nothing fails; later situations have them as `state.route`."""


@dataclass(frozen=True)
class Situation:
    """Input of a planner's decision."""

    state: RunState
    topology: Topology
    actors: Mapping[str, Actor]
    wiring: Wiring
    permitted: tuple[str, ...]
    """Successors of the current actor, start actors, and what follows those of them that are fresh, if their inputs
    exist; END if it is allowed."""
    fresh: frozenset[str]  # actors whose last success still holds
    implicated: Callable[[str, Violation], str | None]
    """Asks an actor whether its output could have caused a violation, and what it should do differently."""
    pay: Pay = pay_unrecorded  # makes a paid call once; the journal remembers the answer
    artefact: Callable[[str], JsonValue] = field(default=lambda _: None)  # the current value of an artefact, by name
    recall: Recall = nothing_recalled

    def way(self, target: str) -> tuple[str, ...]:
        """The shortest permitted path to an actor, that actor included; empty if there is none.

        Every actor on the path has its inputs: they exist already, or an earlier actor on the path produces them.
        """
        lacking = {name: frozenset(self.wiring.missing(name, self.state.digests)) for name in self.topology.actors}
        ways: deque[tuple[str, ...]] = deque([()])
        seen: set[tuple[str, frozenset[str]]] = set()
        while ways:
            way = ways.popleft()
            if way and way[-1] == target:
                return way
            made = frozenset(self.actors[name].produces for name in way).difference(self.state.artefacts)
            edges = (*self.topology.actors[way[-1]].next, *self.topology.start) if way else self.permitted
            for name in edges:
                if name in lacking and lacking[name] <= made and (name, made) not in seen:
                    seen.add((name, made))
                    ways.append((*way, name))
        return ()


class Planner(Protocol):
    """Chooses the path through the topology."""

    def decide(self, situation: Situation) -> Decision:
        """The next step. It depends on the situation alone, so that a resumed run continues as it would have."""
