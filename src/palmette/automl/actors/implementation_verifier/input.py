"""What a model is judged from."""

from palmette.automl.artefacts import Assembly, Choice, Comparison, Settings
from palmette.automl.data import Dataset
from palmette.automl.modalities import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model


class ImplementationInput(Model):
    requirements: Requirements
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    choice: Choice | None = None
    assembly: Assembly
    comparison: Comparison
    settings: Settings = Settings()
    revises: bool = True
    """False: what is missed is reported, and nobody is sent back."""
