"""Checks a topology: reports every semantic mistake at once, each with a code and the names involved."""

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

_PARTS = (*Actor.__annotations__, "run", "check", "implicated")  # members that every actor has

_MISTAKES = {
    "not-given": ("The topology starts from {value!r}, which was not given.", "Add `--given {value}=...`."),
    "not-asked-for": ("The topology takes no given artefact {value!r}.", "It takes: {known}."),
    "unknown-name": ("{value!r} is not an actor of this topology.", "Its actors are: {known}."),
    "unreachable-actor": (
        "No way leads from the start ({others}) to {value!r}.",
        "Name it in `start`, or in the `next` of an actor that is reached.",
    ),
    "dead-end": (
        "No way leads from {value!r} to an end actor ({others}).",
        "Give it a `next` that leads there, or name it in `end`.",
    ),
    "missing-input": (
        "{actor!r} needs the artefact {value!r}, which no other actor produces and which is not given.",
        "Produced or given are: {known}.",
    ),
    "unknown-parameter": ("{actor!r} has no input field {value!r}.", "Its fields are: {known}."),
    "unknown-field": ("{actor!r} has no input field {value!r} for the elements.", "Its fields are: {known}."),
    "unknown-artefact": ("Nobody produces {value!r}, and it is not given.", "Produced or given are: {known}."),
    "not-a-list": (
        "{value!r}, made by {others!r}, is not a list.",
        "Fan out over a list: an Output whose only field is a list or tuple.",
    ),
    "no-criterion": ("The end actor {value!r} has no success criterion.", "Give its class a `check` that can fail."),
    "same-artefact": (
        "{actor!r} produces the artefact {value!r}, which {others}.",
        "An artefact has one producer: remove one of them.",
    ),
    "never-ready": (
        "{value!r} can never run: it, or every way to it, needs what is only made later ({others}).",
        "Add an edge that reaches it after its inputs are made, or break the circle of inputs.",
    ),
}
"""Message and remedy by code."""


class _Report:
    """Collects the mistakes of a document."""

    def __init__(self, document: Located[Topology]) -> None:
        self._document = document
        self.mistakes: list[Mistake] = []

    def add(self, code: str, field: str, value: str, known: Iterable[str] = (), **names: object) -> None:
        """`names`: further values in the message."""
        known = list(known)
        names |= {"value": value, "known": ", ".join(known) or "none"}
        message, remedy = (text.format_map(names) for text in _MISTAKES[code])
        self.mistakes.append(self._document.problem(code, message, remedy, field=field, value=value, known=known))


def check_topology(document: Located[Topology], given: Iterable[str] | None = None) -> None:
    """Raises `TopologyError` with every mistake; `given` names the artefacts that the run will be given."""
    report, wanted = _Report(document), document.value.given
    for name in wanted:
        if given is not None and name not in given:
            report.add("not-given", "given", name)
    for name in given or ():
        if name not in wanted:
            report.add("not-asked-for", "given", name, wanted)
    if problems := lint(document) + report.mistakes:
        raise TopologyError(problems)


def lint(document: Located[Topology]) -> list[Mistake]:
    """All mistakes of a topology, in the order of the file; empty if it is valid."""
    actors, problems = _load_actors(document)
    problems += unknown_names(document)
    if not problems:
        report, wiring = _Report(document), Wiring(document.value, actors)
        _check_ways(document.value, report)
        for name in document.value.actors:
            _check_actor(name, actors, wiring, report)
        _check_producers(document.value, actors, report)
        if not report.mistakes:
            _check_order(document.value, wiring, report)
        problems = report.mistakes
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
            field = f"actors.{name}.use"
            problems.append(document.problem(error.code, error.message, error.remedy, field=field, value=use))
    return actors, problems


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
    topology, report = document.value, _Report(document)
    lists = {"start": topology.start, "end": topology.end}
    lists |= {f"actors.{actor}.next": node.next for actor, node in topology.actors.items()}
    for field, names in lists.items():
        for index, name in enumerate(names):
            if name not in topology.actors:
                report.add("unknown-name", f"{field}[{index}]", name, topology.actors)
    return report.mistakes


def _check_ways(topology: Topology, report: _Report) -> None:
    """Every actor is reached from the start, and an end is reached from it."""
    following = {name: node.next for name, node in topology.actors.items()}
    before = {name: [other for other in following if name in following[other]] for name in following}
    reached, finishing = closure(topology.start, following.__getitem__), closure(topology.end, before.__getitem__)
    for name in topology.actors:
        if name not in reached:
            report.add("unreachable-actor", f"actors.{name}", name, others=", ".join(topology.start))
        if name not in finishing:
            report.add("dead-end", f"actors.{name}.next", name, others=", ".join(topology.end))


def _check_actor(name: str, actors: Mapping[str, Actor], wiring: Wiring, report: _Report) -> None:
    topology, node, actor = wiring.topology, wiring.topology.actors[name], actors[name]
    fields, where = actor.Input.model_fields, f"actors.{name}"
    produced = sorted({*wiring.producer, *topology.given})
    for field, artefact in wiring.required[name].items():
        if node.fan_out is None or field != node.fan_out.field:
            others = [other for other in produced if wiring.producer.get(other) != name]
            if artefact not in others:
                report.add("missing-input", where, artefact, others, actor=name)
    for parameter in node.parameters:
        if parameter not in fields:
            report.add("unknown-parameter", f"{where}.parameters.{parameter}", parameter, fields, actor=name)
    if node.fan_out:
        artefact = node.fan_out.artefact
        producer = wiring.producer.get(artefact, "")
        if node.fan_out.field not in fields:
            report.add("unknown-field", f"{where}.for_each", node.fan_out.field, fields, actor=name)
        if artefact not in produced:
            report.add("unknown-artefact", f"{where}.for_each", artefact, produced)
        elif producer and not (topology.actors[producer].fan_out or is_list_model(actors[producer].Output)):
            report.add("not-a-list", f"{where}.for_each", artefact, others=producer)
    if name in topology.end and not actor.has_criterion:
        report.add("no-criterion", where, name)


def _check_producers(topology: Topology, actors: Mapping[str, Actor], report: _Report) -> None:
    owners = dict.fromkeys(topology.given, "is given")
    for name, actor in actors.items():
        if actor.produces in owners:
            report.add("same-artefact", f"actors.{name}", actor.produces, actor=name, others=owners[actor.produces])
        owners.setdefault(actor.produces, f"is also made by {name!r}")


def _check_order(topology: Topology, wiring: Wiring, report: _Report) -> None:
    """No actor can run if every path to it passes an actor whose inputs come later."""
    walked: set[str] = set()
    while found := set(_next_ready(topology, wiring, walked)):
        walked |= found
    for name in topology.actors:
        if name not in walked:
            needs = ", ".join(wiring.required[name].values()) or "nothing itself"
            report.add("never-ready", f"actors.{name}", name, others=needs)


def _next_ready(topology: Topology, wiring: Wiring, walked: set[str]) -> Iterator[str]:
    """Actors that can be reached, and run, after these."""
    for name in {*topology.start, *(following for actor in walked for following in topology.actors[actor].next)}:
        producers = (wiring.producer.get(artefact) for artefact in wiring.required[name].values())
        if name not in walked and all(producer is None or producer in walked for producer in producers):
            yield name
