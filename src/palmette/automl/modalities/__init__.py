"""The modalities: each a folder with its blueprint, the templates of its project, and how candidates are judged."""

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from palmette.automl.modalities import clustering, tabular
from palmette.automl.modalities.clustering.modality import Clustering
from palmette.automl.modalities.facts import AlgorithmFacts
from palmette.automl.modalities.modality import Modality, Outline
from palmette.automl.modalities.tabular.modality import Tabular

__all__ = [
    "MODALITIES",
    "AlgorithmFacts",
    "AnyBlueprint",
    "Blueprint",
    "Modality",
    "Outline",
    "draft",
    "modality_for",
    "modality_of",
]

Blueprint = Annotated[tabular.Blueprint | clustering.Blueprint, Field(discriminator="modality")]


class AnyBlueprint(RootModel[Blueprint]):
    """A blueprint of whichever modality, as an actor's output."""

    model_config = ConfigDict(frozen=True)


MODALITIES: dict[str, type[Modality]] = {"tabular": Tabular, "clustering": Clustering}
"""By the word that a blueprint has for it."""


def modality_of(blueprint: Blueprint) -> Modality:
    """The blueprint at work."""
    return MODALITIES[blueprint.modality](blueprint)  # type: ignore[call-arg]  # a protocol says nothing of __init__


def modality_for(task: str) -> type[Modality]:
    """The modality that a task is worked on in."""
    (modality,) = [one for one in MODALITIES.values() if task in one.TASKS]
    return modality


def draft(outline: Outline) -> Blueprint:
    """The blueprint that follows from an outline by rules.

    Raises:
        UserError: no column is left to learn from.
    """
    made: Blueprint = modality_for(outline.goal.task).draft(outline)
    return made
