"""Whether a run that was killed again and again came to what an undisturbed one comes to.

Two undisturbed runs say what of a run is the same every time; what differs between them (times, places) is measured,
and is not compared.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from palmette.engine import ArtefactStore, Entry, RunState, fold, read_journal, run_state
from palmette.engine import events as e

Leaves = dict[str, str]
"""Every value at the bottom of something, by where it stands."""


def artefacts(folder: Path) -> Leaves:
    """What a run made, value by value."""
    store, state = ArtefactStore(folder), run_state(folder)
    return dict(leaf for name, digest in state.digests.items() for leaf in _leaves(store.get(digest), name))


def steady(one: Leaves, other: Leaves) -> Leaves:
    """What two undisturbed runs have in common."""
    return {place: value for place, value in one.items() if other.get(place) == value}


def differing(found: Leaves, wanted: Leaves) -> Iterator[str]:
    """Places at which something is not as it is every time."""
    for place, value in wanted.items():
        if found.get(place) != value:
            yield f"{place} is {found.get(place, 'missing')[:80]}, not {value[:80]}"


def damaged(folder: Path) -> Iterator[str]:
    """What is wrong inside a run folder that is done with: files, what was made twice."""
    entries = read_journal(folder)
    yield from _repeated(entries)
    store, state = ArtefactStore(folder), fold(entries)
    for path in (folder / "objects").iterdir():
        if path.name.startswith("."):
            yield f"{path.name} is left among the objects"
        else:
            store._load(path.name)  # raises where its content does not match its name
    for name, version in state.artefacts.items():
        if not store.is_published(name, version.digest) or store.put(store.read_copy(name)) != version.digest:
            yield f"the working copy of {name} is not its current version"
    yield from _workspaces(folder, state)


def _workspaces(folder: Path, state: RunState) -> Iterator[str]:
    work = folder / "work"
    for path in work.iterdir() if work.is_dir() else ():
        actor = path.name.partition("-")[2].rstrip("-0123456789")
        if actor in state.actors and not state.actor(actor).attempts:
            yield f"the workspace {path.name} is left of an actor that never failed"


def _repeated(entries: Sequence[Entry]) -> Iterator[str]:
    """Attempts that had succeeded and calls that were answered, and yet were made again."""
    done: set[tuple[str, int | None, str]] = set()
    paid: Counter[str] = Counter()
    for entry in entries:
        match entry.event:
            case e.Decided() as event if event.instruction or event.evidence:
                done = {one for one in done if one[0] != event.target}
            case e.ActorUndone() as event:
                done = {one for one in done if one[0] != event.actor}
            case e.AttemptSucceeded() as event:
                if (event.actor, event.item, event.key) in done:
                    yield f"{event.actor} was done, and was done again (event {entry.seq})"
                done.add((event.actor, event.item, event.key))
            case e.CallAnswered() as event:
                paid[event.request] += 1
                if paid[event.request] > 1:
                    yield f"{event.role} was asked the same again (event {entry.seq})"


def _leaves(value: JsonValue, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, one in value.items():
            yield from _leaves(one, f"{place}.{key}")
    elif isinstance(value, list) and value:
        for index, one in enumerate(value):
            yield from _leaves(one, f"{place}[{index}]")
    else:
        yield place, json.dumps(value)
