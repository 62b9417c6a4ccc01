"""The environment `topology`: runs any topology file with given values, without services."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, JsonValue

from palmette.documents import Model
from palmette.engine.human import ConsoleHuman, NoHuman
from palmette.engine.lint import check_topology
from palmette.engine.registry import create
from palmette.engine.setup import Setup, build_actors
from palmette.engine.topology import load_topology


class TopologyArguments(Model):
    """What the environment `topology` is opened with."""

    topology: str
    """Absolute path of the file."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the given artefacts."""
    planner: str = "offline"
    human: bool = False
    """Whether somebody is at the console."""
    seed: int = 0


def open_topology(arguments: dict[str, JsonValue]) -> Setup:
    """A setup for a topology file. Modules beside the file can be named as `module:Class`."""
    wanted = TopologyArguments.model_validate(arguments)
    path = Path(wanted.topology)
    topology = load_topology(path)
    check_topology(topology, given=wanted.given)
    return Setup(
        topology=topology.value,
        actors=build_actors(topology.value, folder=path.parent),
        planner=create("planner", wanted.planner, {"seed": wanted.seed}),
        given=wanted.given,
        human=ConsoleHuman() if wanted.human else NoHuman(),
        seed=wanted.seed,
    )
