"""The topology: the actors of a run and the permitted transitions between them, as YAML."""

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue, StringConstraints

from palmette.documents import Located, Model, read_located

START = "START"  # the beginning of a run; a run may also be re-entered at start actors
END = "END"  # the decision that finishes a run
STOP = "STOP"  # the decision that ends a run short of its goal

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class ForEach(NamedTuple):
    """Fan-out: the list artefact, and the input field that takes one element of it."""

    artefact: str
    field: str


class Node(Model):
    """One actor of a topology."""

    use: str | None = None
    """Registered name of the actor, or `package.module:Class`; defaults to the actor's own key."""
    model: str = ""
    """What answers this agent's task in place of the run's model, e.g. `command:PROGRAM` or `mcp:SERVER#TOOL`."""
    next: tuple[Name, ...] = ()
    """The actors that may follow."""
    retries: int = Field(default=3, ge=1)
    """Attempts per invocation before the planner decides."""
    for_each: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]* as [a-z][a-z0-9_]*$")] | None = None
    """`plans as plan`: runs for each element of the list artefact `plans`, in parallel, as input `plan`."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Fixed values for input fields, by name."""

    @property
    def fan_out(self) -> ForEach | None:
        return ForEach(*self.for_each.split(" as ")) if self.for_each else None


class Topology(Model):
    """A topology file."""

    topology: str
    """Its name."""
    description: str = ""
    start: tuple[Name, ...] = Field(min_length=1)
    """Where a run begins, and where it may be re-entered."""
    end: tuple[Name, ...] = Field(min_length=1)
    """End-stage actors: the run is finished when one has succeeded and every invoked actor is fresh."""
    given: tuple[Name, ...] = ()
    """Artefacts that exist before the first step."""
    actors: dict[Name, Node] = Field(min_length=1)

    def use(self, actor: str) -> str:
        """The registered name or import path of an actor's class."""
        return self.actors[actor].use or actor


def load_topology(path: Path) -> Located[Topology]:
    """Reads a topology file with the line of every field; raises `InputError` with every syntactic mistake.

    `palmette.engine.lint` finds semantic mistakes.
    """
    return read_located(path, Topology)
