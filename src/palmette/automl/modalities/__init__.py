"""The modalities: each a folder with its blueprint, the templates of its project, and how candidates are judged."""

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from palmette.automl.modalities import clustering, tabular
from palmette.automl.modalities.clustering.modality import Clustering
from palmette.automl.modalities.modality import Modality, Outline
from palmette.automl.modalities.tabular.modality import Tabular

__all__ = ["AnyBlueprint", "Blueprint", "Modality", "Outline", "draft", "modality_of"]

Blueprint = Annotated[tabular.Blueprint | clustering.Blueprint, Field(discriminator="modality")]


class AnyBlueprint(RootModel[Blueprint]):
    """A blueprint of whichever modality, as an actor's output."""

    model_config = ConfigDict(frozen=True)


MODALITIES: dict[str, type[Modality]] = {"tabular": Tabular, "clustering": Clustering}
"""By the word that a blueprint has for it."""


def modality_of(blueprint: Blueprint) -> Modality:
    """The blueprint at work."""
    return MODALITIES[blueprint.modality](blueprint)  # type: ignore[call-arg]  # a protocol says nothing of __init__


def draft(outline: Outline) -> Blueprint:
    """The blueprint that follows from an outline by rules.

    Raises:
        UserError: no column is left to learn from.
    """
    (modality,) = [one for one in MODALITIES.values() if outline.goal.task in one.TASKS]
    made: Blueprint = modality.draft(outline)
    return made
