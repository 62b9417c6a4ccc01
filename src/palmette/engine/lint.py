"""Checks a topology: reports every semantic mistake at once, each with a code and the names involved."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from palmette.documents import Located, ProblemCollector
from palmette.engine.actor import Actor
from palmette.engine.registry import load
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring, closure, is_list_model
from palmette.errors import Mistake, TopologyError, UserError
from palmette.problems import Reporter

_PARTS = (*Actor.__annotations__, "run", "check", "implicated")  # members that every actor has


def check_topology(document: Located[Topology], given: Iterable[str] | None = None) -> None:
    """Raises `TopologyError` with every mistake; `given` names the artefacts that the run will be given."""
    findings, wanted = ProblemCollector(document), document.value.given
    for name in wanted:
        if given is not None and name not in given:
            findings.report("not-given", "given", name)
    for name in given or ():
        if name not in wanted:
            findings.report("not-asked-for", "given", name, wanted)
    if problems := lint(document) + findings.problems:
        raise TopologyError(problems)


def lint(document: Located[Topology]) -> list[Mistake]:
    """All mistakes of a topology, in the order of the file; empty if it is valid."""
    actors, problems = _load_actors(document)
    problems += unknown_names(document)
    if not problems:
        findings, wiring = ProblemCollector(document), Wiring(document.value, actors)
        _check_ways(document.value, findings.report)
        for name in document.value.actors:
            _check_actor(name, actors, wiring, findings.report)
        _check_producers(document.value, actors, findings.report)
        if not findings:
            _check_order(document.value, wiring, findings.report)
        problems = findings.problems
    return sorted(problems, key=lambda problem: problem.line or 0)


def _load_actors(document: Located[Topology]) -> tuple[dict[str, Actor], list[Mistake]]:
    """The actors' classes; their class attributes are enough for checking."""
    actors: dict[str, Actor] = {}
    findings = ProblemCollector(document)
    for name in document.value.actors:
        use = document.value.use(name)
        try:
            actors[name] = load_actor(use, Path(document.file).parent)
        except UserError as error:
            findings.add([Mistake(error.code, error.message, error.remedy, value=use)], f"actors.{name}.use")
    return actors, findings.problems


def load_actor(use: str, folder: Path) -> Any:
    """The class of an actor; UserError if it does not exist or lacks a required member."""
    found = load("actor", use, folder)
    given = {part: getattr(found, part, None) for part in ("Input", "Output")}
    models = [part for part, model in given.items() if not (isinstance(model, type) and issubclass(model, BaseModel))]
    lacks = [part for part in _PARTS if not hasattr(found, part) and part not in models]
    if lacks or models:
        parts = [*lacks, *(f"{part} (a model)" for part in models)]
        remedy = "Derive it from `palmette.engine.BaseActor`, and add what is missing; see docs/how-to/add-an-actor.md."
        raise UserError(f"{use!r} is not an actor: its class lacks {', '.join(parts)}.", remedy, code="not-an-actor")
    return found


def unknown_names(document: Located[Topology]) -> list[Mistake]:
    """Unknown names in `start`, `end` and `next`; with any, the topology is not a graph."""
    topology, findings = document.value, ProblemCollector(document)
    lists = {"start": topology.start, "end": topology.end}
    lists |= {f"actors.{actor}.next": node.next for actor, node in topology.actors.items()}
    for field, names in lists.items():
        for index, name in enumerate(names):
            if name not in topology.actors:
                findings.report("unknown-name", f"{field}[{index}]", name, topology.actors)
    return findings.problems


def _check_ways(topology: Topology, report: Reporter) -> None:
    """Every actor is reached from the start, and an end is reached from it."""
    following = {name: node.next for name, node in topology.actors.items()}
    before = {name: [other for other in following if name in following[other]] for name in following}
    reached, finishing = closure(topology.start, following.__getitem__), closure(topology.end, before.__getitem__)
    for name in topology.actors:
        if name not in reached:
            report("unreachable-actor", f"actors.{name}", name, others=", ".join(topology.start))
        if name not in finishing:
            report("dead-end", f"actors.{name}.next", name, others=", ".join(topology.end))


def _check_actor(name: str, actors: Mapping[str, Actor], wiring: Wiring, report: Reporter) -> None:
    topology, node, actor = wiring.topology, wiring.topology.actors[name], actors[name]
    fields, where = actor.Input.model_fields, f"actors.{name}"
    produced = sorted({*wiring.producer, *topology.given})
    for field, artefact in wiring.required[name].items():
        if node.fan_out is None or field != node.fan_out.field:
            others = [other for other in produced if wiring.producer.get(other) != name]
            if artefact not in others:
                report("missing-input", where, artefact, others, actor=name)
    for parameter in node.parameters:
        if parameter not in fields:
            report("unknown-parameter", f"{where}.parameters.{parameter}", parameter, fields, actor=name)
    if node.fan_out:
        artefact = node.fan_out.artefact
        producer = wiring.producer.get(artefact, "")
        if node.fan_out.field not in fields:
            report("unknown-field", f"{where}.for_each", node.fan_out.field, fields, actor=name)
        if artefact not in produced:
            report("unknown-artefact", f"{where}.for_each", artefact, produced)
        elif producer and not (topology.actors[producer].fan_out or is_list_model(actors[producer].Output)):
            report("not-a-list", f"{where}.for_each", artefact, others=producer)
    if name in topology.end and not actor.has_criterion:
        report("no-criterion", where, name)


def _check_producers(topology: Topology, actors: Mapping[str, Actor], report: Reporter) -> None:
    owners = dict.fromkeys(topology.given, "is given")
    for name, actor in actors.items():
        if actor.produces in owners:
            report("same-artefact", f"actors.{name}", actor.produces, actor=name, others=owners[actor.produces])
        owners.setdefault(actor.produces, f"is also made by {name!r}")


def _check_order(topology: Topology, wiring: Wiring, report: Reporter) -> None:
    """No actor can run if every path to it passes an actor whose inputs come later."""
    walked: set[str] = set()
    while found := set(_next_ready(topology, wiring, walked)):
        walked |= found
    for name in topology.actors:
        if name not in walked:
            needs = ", ".join(wiring.required[name].values()) or "nothing itself"
            report("never-ready", f"actors.{name}", name, others=needs)


def _next_ready(topology: Topology, wiring: Wiring, walked: set[str]) -> Iterator[str]:
    """Actors that can be reached, and run, after these."""
    for name in {*topology.start, *(following for actor in walked for following in topology.actors[actor].next)}:
        producers = (wiring.producer.get(artefact) for artefact in wiring.required[name].values())
        if name not in walked and all(producer is None or producer in walked for producer in producers):
            yield name
