"""The environment `topology`: runs any topology file with given values, and models for its agents."""

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from palmette.documents import Model
from palmette.engine import RunBudget, Setup, build_actors, check_topology, create, human_of, load_topology
from palmette.llm.opening import BUILT_IN, ModelChoice, about, models_of, open_models
from palmette.llm.text import token_limit


class TopologyArguments(Model):
    """Arguments of the environment `topology`."""

    topology: str
    """Absolute path of the file."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the given artefacts."""
    planner: str | None = None
    """Defaults to `model` if a model answers, otherwise to `offline`."""
    human: Literal["console", "web", "none"] = "none"
    """Who answers questions."""
    model: str = BUILT_IN
    """The model that answers the agents' tasks."""
    tokens: int | None = None
    """Token limit; 400000 if neither tokens nor money is limited."""
    money: float | None = None
    """Limit in US dollars."""
    seed: int = 0


def open_topology(arguments: dict[str, JsonValue], folder: Path) -> Setup:
    """A setup for a topology file. Modules beside the file can be named as `module:Class`."""
    wanted = TopologyArguments.model_validate(arguments)
    path = Path(wanted.topology)
    topology = load_topology(path)
    check_topology(topology, given=wanted.given)
    choice = models_of(ModelChoice(model=wanted.model), topology.value, path.parent)
    budget = RunBudget(tokens=token_limit(wanted.tokens, wanted.money), money=wanted.money)
    planner, services = choice.decider(wanted.planner), {"seed": wanted.seed, "models": open_models(choice, folder)}
    return Setup(
        topology=topology.value,
        actors=build_actors(topology.value, services, folder=path.parent),
        planner=create("planner", planner, services),
        given=wanted.given,
        human=human_of(wanted.human, folder),
        budget=budget,
        seed=wanted.seed,
        about=f"{about(choice, budget)}\nplanner: {planner}",
    )
