"""Opens the models that a run file or the command line names."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from pydantic import Field

from palmette.documents import Model
from palmette.engine import RunBudget, Topology, create, load, names
from palmette.errors import UserError, did_you_mean
from palmette.llm.agent import Agent
from palmette.llm.answerer import Answerer, Models
from palmette.llm.messages import Provider, Settings
from palmette.llm.secrets import hider, load_secrets

BUILT_IN = "offline"  # the name of the built-in rules

PLANNER, WORDS = "planner", "words"
"""Roles that are not actors: choosing the next actor, and reading a specification's free text."""


class ModelChoice(Model):
    """Which models answer, and in which roles."""

    model: str = BUILT_IN
    """`provider:name`, or `offline` for the built-in rules."""
    models: dict[str, str] = Field(default_factory=dict)
    """Models that differ by role."""
    fallback: tuple[str, ...] = ()
    """Models that take over, in this order, if one cannot be reached."""
    settings: Settings = Settings()

    @property
    def is_offline(self) -> bool:
        """Whether no role uses a model."""
        return all(name == BUILT_IN for name in (self.model, *self.models.values()))

    def decider(self, asked: str | None = None) -> str:
        """Name of the planner: `asked` if given, `model` if a model has that role, otherwise `offline`."""
        return asked or (BUILT_IN if self.models.get(PLANNER, self.model) == BUILT_IN else "model")


def open_models(choice: ModelChoice, folder: Path) -> Models:
    """The models of a run. Checks names, packages and keys, and sends nothing.

    Args:
        folder: The run's folder, where `relay` puts its prompts.
    """
    if choice.is_offline:
        return Models()
    load_secrets()
    hide = hider()
    opened = cache(lambda name: open_provider(name, folder, hide))

    def answerer(name: str, role: str) -> Answerer | None:
        if name == BUILT_IN:
            return None
        chain = tuple(opened(one) for one in dict.fromkeys((name, *choice.fallback)))
        return Answerer(role, chain, choice.settings, hide)

    roles = {role: answerer(name, role) for role, name in choice.models.items()}
    answerer(choice.model, "")
    return Models(lambda role: answerer(choice.model, role), roles)


def models_of(choice: ModelChoice, topology: Topology, folder: Path | None = None) -> ModelChoice:
    """The choice with the models that the topology names for its agents; those of the run come first.

    An actor has the role of its name, and those listed in its `roles`.

    Args:
        choice: of the run.
        topology: whose actors may name models.
        folder: with modules of actors that are not installed.

    Raises:
        UserError: a model is named for a role that no actor has, or for an actor that asks no model.
    """
    actors = {name: load("actor", topology.use(name), folder) for name in topology.actors}
    asked = [role for actor in actors.values() for role in getattr(actor, "roles", ())]
    known = {PLANNER, WORDS, *(actor.name for actor in actors.values()), *asked}
    for role in choice.models:
        if role not in known:
            message = f"A model is named for the role {role!r}, which no actor has.{did_you_mean(role, known)}"
            raise UserError(message, f"The roles are: {', '.join(sorted(known))}.", code="unknown-role")
    named = {name: node.model for name, node in topology.actors.items() if node.model}
    for name in named:
        if not issubclass(actors[name], Agent):
            message = f"The topology names a model for {name!r}, whose actor asks none."
            raise UserError(message, f"Remove its line `model: {named[name]}`.", code="unknown-role")
    return choice.model_copy(update={"models": {actors[name].name: one for name, one in named.items()} | choice.models})


def about(choice: ModelChoice, budget: RunBudget) -> str:
    """The start message of a run: the models and the limits."""
    roles = [f"{role}: {name}" for role, name in choice.models.items() if name != choice.model]
    if choice.is_offline:
        return "model: offline rules (no key, no network, no cost)"
    name = "offline rules" if choice.model == BUILT_IN else choice.model
    who = "; ".join([name, *roles, *(f"else {other}" for other in choice.fallback)])
    limits = [
        f"{budget.tokens} tokens" if budget.tokens is not None else "no limit of tokens",
        f"${budget.money:g}" if budget.money is not None else "no limit of money",
        f"at most {choice.settings.max_tokens} tokens an answer, {choice.settings.prompt_tokens} a prompt",
        f"temperature {choice.settings.temperature:g}",
    ]
    return f"model: {who}\nlimits: {', '.join(limits)}"


def open_provider(name: str, folder: Path, hide: Callable[[str], str] = str) -> Provider:
    """The provider of `provider:name`: a registered one (`relay`, `replay`, a team's own), or an API."""
    scheme, _, model = name.partition(":")
    if scheme in names("provider"):
        provider: Provider = create("provider", scheme, {"name": name, "folder": folder, "hide": hide})
        return provider
    from palmette.llm.api import ApiProvider, unknown_provider

    if not model:
        raise unknown_provider(scheme, model) if scheme else UserError("No model is named.", code="unknown-provider")
    return ApiProvider(name, hide)
