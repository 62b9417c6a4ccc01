"""What a delivery is made from."""

from palmette.automl.artefacts import Assembly, Comparison, Settings
from palmette.automl.data import Dataset
from palmette.automl.modalities import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model


class DeployerInput(Model):
    assembly: Assembly
    comparison: Comparison
    requirements: Requirements
    dataset: Dataset
    blueprint: Blueprint
    profile: Profile
    settings: Settings = Settings()
