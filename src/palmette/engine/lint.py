"""Checks a topology: reports every semantic mistake at once, each with a code and the names involved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from palmette.documents import Located
from palmette.engine.actor import Actor
from palmette.engine.registry import load
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring, closure, is_list_model
from palmette.errors import Mistake, TopologyError, UserError

_PARTS = (*Actor.__annotations__, "run", "check", "implicated")
"""Members that every actor has."""


def check_topology(document: Located[Topology], given: Iterable[str] | None = None) -> None:
    """Raises `TopologyError` with every mistake; `given` names the artefacts that the run will be given."""
    problems = lint(document)
    missing = [name for name in document.value.given if given is not None and name not in given]
    problems += [
        document.problem(
            "not-given",
            f"The topology starts from {name!r}, which was not given.",
            f"Add `--given {name}=...`.",
            field="given",
            value=name,
        )
        for name in missing
    ]
    unused = [name for name in given or () if name not in document.value.given]
    problems += [
        document.problem(
            "not-asked-for",
            f"The topology takes no given artefact {name!r}.",
            f"It takes: {', '.join(document.value.given) or 'none'}.",
            field="given",
            value=name,
            known=document.value.given,
        )
        for name in unused
    ]
    if problems:
        raise TopologyError(problems)


def lint(document: Located[Topology]) -> list[Mistake]:
    """All mistakes of a topology, in the order of the file; empty if it is valid."""
    actors, problems = _load_actors(document)
    problems += unknown_names(document)
    if not problems:
        wiring = Wiring(document.value, actors)
        problems += _unreachable(document) + _dead_ends(document)
        problems += [problem for name in document.value.actors for problem in _actor(document, name, actors, wiring)]
        problems += _same_artefact(document, actors)
        if not problems:
            problems += _never_ready(document, wiring)
    return sorted(problems, key=lambda problem: problem.line or 0)


def _load_actors(document: Located[Topology]) -> tuple[dict[str, Actor], list[Mistake]]:
    """The actors' classes; their class attributes are enough for checking."""
    actors: dict[str, Actor] = {}
    problems: list[Mistake] = []
    for name in document.value.actors:
        use = document.value.use(name)
        try:
            actors[name] = load_actor(use, Path(document.file).parent)
        except UserError as error:
            problems.append(
                document.problem(error.code, error.message, error.remedy, field=f"actors.{name}.use", value=use)
            )
    return actors, problems


def load_actor(use: str, folder: Path) -> Any:
    """The class of an actor; UserError if it does not exist or lacks a required member."""
    found = load("actor", use, folder)
    models = [part for part in ("Input", "Output") if not _is_model(getattr(found, part, None))]
    lacks = [part for part in _PARTS if not hasattr(found, part) and part not in models]
    if lacks or models:
        parts = [*lacks, *(f"{part} (a model)" for part in models)]
        raise UserError(
            f"{use!r} is no actor: its class lacks {', '.join(parts)}.",
            "Derive it from `palmette.engine.BaseActor`, and add what is missing; see docs/how-to/add-an-actor.md.",
            code="not-an-actor",
        )
    return found


def _is_model(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel)


def unknown_names(document: Located[Topology]) -> list[Mistake]:
    """Unknown names in `start`, `end` and `next`; with any, the topology is not a graph."""
    topology = document.value
    places = [(f"start[{index}]", name) for index, name in enumerate(topology.start)]
    places += [(f"end[{index}]", name) for index, name in enumerate(topology.end)]
    places += [
        (f"actors.{actor}.next[{index}]", name)
        for actor, node in topology.actors.items()
        for index, name in enumerate(node.next)
    ]
    return [
        document.problem(
            "unknown-name",
            f"{name!r} is not an actor of this topology.",
            f"Its actors are: {', '.join(topology.actors)}.",
            field=field,
            value=name,
            known=topology.actors,
        )
        for field, name in places
        if name not in topology.actors
    ]


def _unreachable(document: Located[Topology]) -> list[Mistake]:
    topology = document.value
    reached = closure(topology.start, lambda name: topology.actors[name].next)
    return [
        document.problem(
            "unreachable-actor",
            f"No way leads from the start ({', '.join(topology.start)}) to {name!r}.",
            "Name it in `start`, or in the `next` of an actor that is reached.",
            field=f"actors.{name}",
            value=name,
        )
        for name in topology.actors
        if name not in reached
    ]


def _dead_ends(document: Located[Topology]) -> list[Mistake]:
    topology = document.value
    before: dict[str, list[str]] = {name: [] for name in topology.actors}
    for name, node in topology.actors.items():
        for following in node.next:
            before[following].append(name)
    finishing = closure(topology.end, lambda name: before[name])
    return [
        document.problem(
            "dead-end",
            f"No way leads from {name!r} to an end actor ({', '.join(topology.end)}).",
            "Give it a `next` that leads there, or name it in `end`.",
            field=f"actors.{name}.next",
            value=name,
        )
        for name in topology.actors
        if name not in finishing
    ]


def _actor(document: Located[Topology], name: str, actors: Mapping[str, Actor], wiring: Wiring) -> Iterator[Mistake]:
    topology, node, actor = document.value, document.value.actors[name], actors[name]
    produced = sorted({*wiring.producer, *topology.given})
    for field, artefact in wiring.required[name].items():
        if node.fan_out and field == node.fan_out.field:
            continue
        if artefact not in produced or wiring.producer.get(artefact) == name:
            yield document.problem(
                "missing-input",
                f"{name!r} needs the artefact {artefact!r} (input field {field!r}), "
                "which no other actor produces and which is not given.",
                f"Produced or given are: {', '.join(produced)}.",
                field=f"actors.{name}",
                value=artefact,
                known=[other for other in produced if wiring.producer.get(other) != name],
            )
    for parameter in node.parameters:
        if parameter not in actor.Input.model_fields:
            yield document.problem(
                "unknown-parameter",
                f"{name!r} has no input field {parameter!r}.",
                f"Its fields are: {', '.join(actor.Input.model_fields) or 'none'}.",
                field=f"actors.{name}.parameters.{parameter}",
                value=parameter,
                known=actor.Input.model_fields,
            )
    if node.fan_out:
        yield from _fan_out(document, name, actors, wiring)
    if name in topology.end and not actor.has_criterion:
        yield document.problem(
            "no-criterion",
            f"The end actor {name!r} has no success criterion.",
            "Give its class a `check` that can fail, and `has_criterion = True`.",
            field=f"actors.{name}",
            value=name,
        )


def _fan_out(document: Located[Topology], name: str, actors: Mapping[str, Actor], wiring: Wiring) -> Iterator[Mistake]:
    fan_out = document.value.actors[name].fan_out
    assert fan_out is not None
    where = f"actors.{name}.for_each"
    if fan_out.field not in actors[name].Input.model_fields:
        yield document.problem(
            "unknown-field",
            f"{name!r} has no input field {fan_out.field!r} for the elements.",
            f"Its fields are: {', '.join(actors[name].Input.model_fields) or 'none'}.",
            field=where,
            value=fan_out.field,
            known=actors[name].Input.model_fields,
        )
    producer = wiring.producer.get(fan_out.artefact)
    if producer is None and fan_out.artefact not in document.value.given:
        known = [*wiring.producer, *document.value.given]
        yield document.problem(
            "unknown-artefact",
            f"Nobody produces {fan_out.artefact!r}, and it is not given.",
            f"Produced or given are: {', '.join(known)}.",
            field=where,
            value=fan_out.artefact,
            known=known,
        )
    elif producer and not (document.value.actors[producer].fan_out or is_list_model(actors[producer].Output)):
        yield document.problem(
            "not-a-list",
            f"{fan_out.artefact!r}, made by {producer!r}, is not a list.",
            "Fan out over a list: an Output whose only field is a list or tuple.",
            field=where,
            value=fan_out.artefact,
        )


def _same_artefact(document: Located[Topology], actors: Mapping[str, Actor]) -> list[Mistake]:
    owners: dict[str, str] = {name: "given" for name in document.value.given}
    problems = []
    for name, actor in actors.items():
        if actor.produces in owners:
            other = owners[actor.produces]
            maker = "is given" if other == "given" else f"is also made by {other!r}"
            problems.append(
                document.problem(
                    "same-artefact",
                    f"{name!r} produces the artefact {actor.produces!r}, which {maker}.",
                    "An artefact has one producer: remove one of them.",
                    field=f"actors.{name}",
                    value=actor.produces,
                )
            )
        owners.setdefault(actor.produces, name)
    return problems


def _never_ready(document: Located[Topology], wiring: Wiring) -> list[Mistake]:
    """Actors that can never run, because every path to them passes an actor whose inputs come later."""
    topology = document.value
    walked: set[str] = set()
    while True:
        open_to = {
            *topology.start,
            *(name for actor in walked for name in topology.actors[actor].next),
        } - walked
        found = {
            name
            for name in open_to
            if all(wiring.producer.get(artefact, "") in {*walked, ""} for artefact in wiring.required[name].values())
        }
        if not found:
            break
        walked |= found
    return [
        document.problem(
            "never-ready",
            f"{name!r} can never run: it, or every way to it, needs what is only made later "
            f"({', '.join(wiring.required[name].values()) or 'nothing itself'}).",
            "Add an edge that reaches it after its inputs are made, or break the circle of inputs.",
            field=f"actors.{name}",
            value=name,
        )
        for name in topology.actors
        if name not in walked
    ]
