"""What a project that divides rows into clusters is to be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from palmette.automl.modalities.facts import MOST_PAIRED, AlgorithmFacts
from palmette.automl.modalities.tabular.blueprint import TableBlueprint

Algorithm = Literal["kmeans", "gmm", "agglomerative", "spectral", "hdbscan"]
Agreement = Literal["rand", "adjusted_rand", "nmi"]
AGREEMENTS: tuple[Agreement, ...] = get_args(Agreement)
"""Ways to compare clusters with labels; the first is the usual one."""
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
"""In the order of preference."""
PAIRED = frozenset({"agglomerative", "spectral"})
FACTS: Mapping[str, AlgorithmFacts] = {
    name: AlgorithmFacts(readable=name == "kmeans", most_rows=MOST_PAIRED if name in PAIRED else math.inf)
    for name in ALGORITHMS
}
MOST_CLUSTERS = 10
"""That are tried where nobody says how many there are."""


class Blueprint(TableBlueprint):
    """A project for the clusters of a table."""

    modality: Literal["clustering"] = "clustering"
    task: Literal["clustering"] = "clustering"
    target: Literal[""] = ""
    metric: Literal["silhouette"] = "silhouette"
    """By which candidates are compared; nothing of it is known to the project but that its search is guided alike."""
    clusters: int | None = Field(default=None, ge=2)
    """How many there are to be; None where that is to be found."""
    least: int = Field(default=2, ge=2)
    most: int = Field(default=MOST_CLUSTERS, ge=2)
    """Clusters that are tried where it is to be found."""
    labels: str = ""
    """The column that clusters are compared with in the end; the project never sees it."""
    agreement: Agreement = AGREEMENTS[0]
    """How they are compared with it."""
    algorithms: tuple[Algorithm, ...] = Field(default=ALGORITHMS, min_length=1)
    validation: str = ""
    """Why candidates are compared so, and what that cannot say; in words."""

    @model_validator(mode="after")
    def _keeps_labels_apart(self) -> Self:
        if self.labels in {one.name for one in self.columns}:
            raise ValueError(f"the labels {self.labels!r} are among the columns")
        return self

    @property
    def tried(self) -> tuple[int, ...]:
        """The numbers of clusters that are tried."""
        return (self.clusters,) if self.clusters else tuple(range(self.least, self.most + 1))
