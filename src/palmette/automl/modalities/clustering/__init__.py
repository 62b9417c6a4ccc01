"""Writing the delivered project for the clusters of a table, and judging what it finds without labels."""

from palmette.automl.modalities.clustering.blueprint import ALGORITHMS, Algorithm, Blueprint
from palmette.automl.modalities.clustering.writer import write_project

__all__ = ["ALGORITHMS", "Algorithm", "Blueprint", "write_project"]
