"""The parts of a run, and its result."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, JsonValue

from palmette.documents import Model
from palmette.engine.actor import Actor, Recall, nothing_recalled
from palmette.engine.artefacts import ArtefactStore
from palmette.engine.events import Entry
from palmette.engine.human import Human, NoHuman
from palmette.engine.planner import Planner
from palmette.engine.registry import create
from palmette.engine.state import RunState
from palmette.engine.topology import Topology
from palmette.errors import RunError, RunStopped, did_you_mean

M = TypeVar("M", bound=BaseModel)


class RunBudget(Model):
    """Limits of a run; each is checked before every step and every attempt.

    Tokens and money are hard limits: a paid call that could exceed them is not made.
    """

    steps: int = 40
    """Decisions of the planner."""
    attempts: int = 80
    seconds: float = 3600.0
    tokens: int | None = None
    money: float | None = None

    def reached(self, state: RunState, before: Literal["step", "attempt"]) -> str:
        """The limit that forbids another step or attempt, as text; empty if there is none."""
        spent = state.spent
        limits: tuple[tuple[str, float, float | None], ...] = (
            ("steps", spent.steps, self.steps if before == "step" else None),
            ("attempts", spent.attempts, self.attempts),
            ("seconds", spent.seconds, self.seconds),
            ("tokens", spent.spend.tokens, self.tokens),
            ("money", spent.spend.money, self.money),
        )
        return next((f"{limit:g} {name}" for name, used, limit in limits if limit is not None and used >= limit), "")


class Observer:
    """Watches a run; by itself it ignores everything."""

    def opened(self, about: str) -> None:
        """The environment is open; `about` describes the run, see `Setup.about`."""

    def event(self, entry: Entry) -> None:
        """An event was journaled. Called from any thread, one call at a time."""

    def progress(self, actor: str, message: str) -> None:
        """An actor reports progress."""


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs, ready to use."""

    topology: Topology
    actors: Mapping[str, Actor]  # by their key in the topology
    planner: Planner
    given: Mapping[str, BaseModel | JsonValue] = field(default_factory=dict)
    """Artefacts that exist before the first step."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """Given artefacts that are only copies, with the file to edit instead."""
    human: Human = field(default_factory=NoHuman)
    budget: RunBudget = field(default_factory=RunBudget)
    approve: tuple[str, ...] = ()
    """Actors, or the artefacts that they produce, that a person must approve before they run."""
    agreed: tuple[str, ...] = ()  # those of them that were approved in advance
    seed: int = 0
    recall: Recall = nothing_recalled
    """The memory of earlier runs; it orders suspects and adds to prompts, and decides nothing."""
    about: str = ""
    """Shown before the first step, e.g. who answers the agents' tasks, and the limits."""
    finish: Callable[[], None] = lambda: None
    """Runs whenever END is reached, also after a resume, e.g. to write a report."""
    close: Callable[[], None] = lambda: None  # releases the environment's resources; always called once

    def require_asked(self) -> None:
        """Raises `RunError` if something was approved that nobody asks about."""
        asked = [name for name, actor in self.actors.items() if not {name, actor.produces}.isdisjoint(self.approve)]
        known = [*asked, *(self.actors[name].produces for name in asked)]
        for name in self.agreed:
            if name not in known:
                listed = f"It asks before: {', '.join(asked)}." if asked else "Resume it without --approve."
                near = did_you_mean(name, known)
                raise RunError(f"The run asks for no approval of {name!r}.{near}", listed, code="not-asked-for")


def build_actors(
    topology: Topology, services: Mapping[str, object] | None = None, folder: Path | None = None
) -> dict[str, Actor]:
    """Creates the actors of a topology; constructor parameters are filled by name from `services`."""
    return {name: create("actor", topology.use(name), services, folder) for name in topology.actors}


@dataclass(frozen=True)
class RunResult:
    """A run that no process is working on."""

    folder: Path
    state: RunState
    status: Literal["finished", "stopped"]
    reason: str = ""  # why it was stopped

    def artefact(self, name: str, model: type[M]) -> M:
        """The current value of an artefact."""
        return model.model_validate_json(json.dumps(self.value(name)))

    def value(self, name: str) -> Any:
        """The current value of an artefact as JSON data."""
        if name not in self.state.artefacts:
            message = f"The run has no artefact {name!r}.{did_you_mean(name, self.state.artefacts)}"
            remedy = f"It has: {', '.join(sorted(self.state.artefacts)) or 'none'}."
            raise RunError(message, remedy, code="unknown-artefact")
        return ArtefactStore(self.folder).get(self.state.artefacts[name].digest)

    def path(self, name: str) -> Path:
        """The folder with the working copy of an artefact."""
        return self.folder / "artefacts" / name

    def raise_if_stopped(self) -> Self:
        """This result; `RunStopped` if the run stopped short of its goal."""
        if self.status == "stopped":
            message = f"The run stopped: {self.reason}"
            raise RunStopped(message, f"It is in {str(self.folder)!r} and can be resumed.", code="run-stopped")
        return self
