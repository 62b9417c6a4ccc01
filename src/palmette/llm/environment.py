"""The environment `topology`: runs any topology file with given values, and models for its agents."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from palmette.documents import Model
from palmette.engine import (
    ConsoleHuman,
    NoHuman,
    RunBudget,
    Setup,
    build_actors,
    check_topology,
    create,
    load_topology,
)
from palmette.llm.opening import BUILT_IN, ModelChoice, about, open_models
from palmette.llm.tokens import token_limit


class TopologyArguments(Model):
    """What the environment `topology` is opened with."""

    topology: str
    """Absolute path of the file."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the given artefacts."""
    planner: str | None = None
    """Who decides on the next step; left out: `model` where a model answers, else `offline`."""
    human: Literal["console", "none"] = "none"
    """Who is asked when something is open."""
    model: str = BUILT_IN
    """Who answers the agents' tasks."""
    tokens: int | None = None
    """Most tokens; 400000 when neither tokens nor money is limited."""
    money: float | None = None
    """Most US dollars."""
    seed: int = 0


def open_topology(arguments: dict[str, JsonValue], folder: Path) -> Setup:
    """A setup for a topology file. Modules beside the file can be named as `module:Class`."""
    wanted = TopologyArguments.model_validate(arguments)
    path = Path(wanted.topology)
    topology = load_topology(path)
    check_topology(topology, given=wanted.given)
    choice = ModelChoice(model=wanted.model)
    budget = RunBudget(tokens=token_limit(wanted.tokens, wanted.money), money=wanted.money)
    planner, services = choice.decider(wanted.planner), {"seed": wanted.seed, "models": open_models(choice, folder)}
    return Setup(
        topology=topology.value,
        actors=build_actors(topology.value, services, folder=path.parent),
        planner=create("planner", planner, services),
        given=wanted.given,
        human=ConsoleHuman() if wanted.human == "console" else NoHuman(),
        budget=budget,
        seed=wanted.seed,
        about=f"{about(choice, budget)}\nplanner: {planner}",
    )
