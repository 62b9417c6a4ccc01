"""Which artefact fills which input, and therefore which actors depend on which.

An actor's required inputs are the fields of its `Input` without a default. A field with a default is an
optional input when an actor or `given` produces an artefact of its name: it is filled once that exists.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, JsonValue

from palmette.engine.actor import Actor
from palmette.engine.state import RunState
from palmette.engine.topology import Topology

T = TypeVar("T")


class Wiring:
    """The data dependencies of a topology, derived from its actors' types."""

    def __init__(self, topology: Topology, actors: Mapping[str, Actor]) -> None:
        self.topology = topology
        self.producer = {actors[name].produces: name for name in reversed(list(topology.actors)) if name in actors}
        self.required: dict[str, dict[str, str]] = {}
        """By actor: input field to the name of the artefact that must fill it."""
        self.optional: dict[str, dict[str, str]] = {}
        """By actor: input field to the name of the artefact that fills it once it exists."""
        known = set(self.producer) | set(topology.given)
        for name in topology.actors:
            self.required[name], self.optional[name] = {}, {}
            if name in actors:
                self._wire(name, actors[name].Input, known)
        self.order = self._production_order()  # all actors, producers before consumers
        self.lineage = {name: tuple(one for one in self.needed([name]) if one != name) for name in topology.actors}
        """By actor: everyone whose output reaches it, most upstream first."""
        self.upstream = {
            name: tuple(other for other in lineage if name not in self.lineage[other])
            for name, lineage in self.lineage.items()
        }
        """By actor: its lineage, without the actors that it feeds."""

    def _wire(self, name: str, model: type[BaseModel], known: set[str]) -> None:
        node = self.topology.actors[name]
        for field, info in model.model_fields.items():
            artefact = node.fan_out.artefact if node.fan_out and node.fan_out.field == field else field
            if field in node.parameters:
                continue
            if info.is_required():
                self.required[name][field] = artefact
            elif artefact in known:
                self.optional[name][field] = artefact

    def fields(self, actor: str) -> dict[str, str]:
        """Input field to artefact name, required ones first."""
        return self.required[actor] | self.optional[actor]

    def present(self, actor: str, digests: Mapping[str, str]) -> dict[str, str]:
        """The existing artefacts that would fill the actor's inputs, by name and digest."""
        return {name: digests[name] for name in dict.fromkeys(self.fields(actor).values()) if name in digests}

    def missing(self, actor: str, digests: Mapping[str, str]) -> list[str]:
        """The artefacts that the actor needs and that do not exist yet."""
        return [name for name in dict.fromkeys(self.required[actor].values()) if name not in digests]

    def key(self, actor: str, inputs: Mapping[str, str]) -> str:
        """Digest of everything that an invocation depends on: class, parameters, fan-out and inputs."""
        node = self.topology.actors[actor]
        text = json.dumps([self.topology.use(actor), node.parameters, node.for_each, dict(inputs)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def current_key(self, actor: str, digests: Mapping[str, str]) -> str:
        """The key of an invocation of the actor with the current inputs."""
        return self.key(actor, self.present(actor, digests))

    def is_fresh(self, actor: str, state: RunState) -> bool:
        """Whether the last success used the current inputs and no instruction is pending."""
        key = state.actor(actor).key
        return bool(key) and actor not in state.pending and key == self.current_key(actor, state.digests)

    def needed(self, actors: Iterable[str]) -> tuple[str, ...]:
        """The actors and their dependencies, producers first."""
        found = closure(actors, lambda actor: self._required_producers(actor) + self._feeders(self.optional[actor]))
        return tuple(name for name in self.order if name in found)

    def _required_producers(self, actor: str) -> list[str]:
        return self._feeders(self.required[actor])

    def _feeders(self, fields: Mapping[str, str]) -> list[str]:
        return [self.producer[name] for name in fields.values() if name in self.producer]

    def _production_order(self) -> tuple[str, ...]:
        ancestors = {name: closure([name], self._required_producers) for name in self.topology.actors}
        order: dict[str, None] = {}
        visiting: set[str] = set()

        def visit(name: str) -> None:
            if name in order or name in visiting:
                return
            visiting.add(name)
            for producer in self._required_producers(name):
                visit(producer)
            for producer in self._feeders(self.optional[name]):
                if name not in ancestors[producer]:  # otherwise it comes later and feeds this actor on a second pass
                    visit(producer)
            order[name] = None

        ends = [name for name in self.topology.end if name in self.topology.actors]
        for name in [*ends, *self.topology.actors]:
            visit(name)
        return tuple(order)


def closure(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
    """Everything reachable from `start`, `start` included."""
    found: set[T] = set()
    waiting = list(start)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(following(one))
    return found


def elements(value: JsonValue) -> list[JsonValue] | None:
    """The elements of a list artefact: a list, or a model whose only field is one; else None."""
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return value if isinstance(value, list) else None


def is_list_model(model: type[BaseModel]) -> bool:
    """Whether artefacts of this type support fan-out: a list, or a model whose only field is one."""
    fields = list(model.model_fields.values())
    annotation: Any = fields[0].annotation if len(fields) == 1 else None
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    return origin is list or (origin is tuple and (not arguments or Ellipsis in arguments))
