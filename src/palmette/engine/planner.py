"""What a planner is: it decides which actor is next, and after a failure whose fault it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from palmette.engine.actor import Actor, Violation
from palmette.engine.calls import Pay, pay_unrecorded
from palmette.engine.state import RunState
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring


@dataclass(frozen=True)
class Decision:
    """Whom to go to, or what to ask first."""

    next: str = ""
    """A permitted actor, END, or STOP; not used when there is a question."""
    target: str = ""
    """Whom `instruction` and `evidence` are for, when `next` is only on the way there; else `next`."""
    instruction: str = ""
    """What the target should do differently; with it, the target is redone even if it is fresh."""
    diagnosis: str = ""
    """What the planner thinks has happened; with STOP, what was tried."""
    evidence: tuple[Violation, ...] = ()
    """The violations that the target is held responsible for."""
    question: str = ""
    """One precise question to the human. The answer is in the next situation's `state.answer`."""
    then: tuple[str, ...] = ()
    """Whom to go to afterwards, while nothing unforeseen happens; the next situations have it as `state.route`."""


@dataclass(frozen=True)
class Situation:
    """What a planner decides on."""

    state: RunState
    topology: Topology
    actors: Mapping[str, Actor]
    wiring: Wiring
    permitted: tuple[str, ...]
    """Edges of the current actor and start actors, if their inputs exist; END when it is allowed."""
    fresh: frozenset[str]
    """Actors whose last success still stands."""
    ready: frozenset[str]
    """Actors whose required inputs exist."""
    implicated: Callable[[str, Violation], str | None]
    """Asks an actor whether its current output could have caused a violation, and what to do differently."""
    pay: Pay = pay_unrecorded
    """Gets an answer that costs something, once: the journal remembers it."""
    artefact: Callable[[str], JsonValue] = field(default=lambda _: None)
    """The current value of an artefact, by name."""

    def way(self, target: str) -> tuple[str, ...]:
        """The shortest permitted way from here to an actor, the actor included; empty when there is none.

        On the way every actor has its inputs: they exist now, or somebody passed before makes them.
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
    """Chooses the way through the topology."""

    def decide(self, situation: Situation) -> Decision:
        """The next step: a function of the situation alone, so that a resumed run goes on as it would."""
