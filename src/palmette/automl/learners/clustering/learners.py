"""Learners of clusters."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, ClassVar

from palmette.automl.calls import Call
from palmette.automl.candidates import Setting
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.kinds import Kind
from palmette.automl.learners.learner import Learner, Measured, Range, Settings, TrainingSetup

SCALES = {"standard": "", "even": "number_squashed", "normal": "number_normal"}
"""Encoders of numbers, by the word in the candidate's name; empty for the usual one."""
KEPT = 0.8  # share of the variance that principal components keep
FEW_COLUMNS = 3  # columns up to which there are no principal components
SHARES = (0.1, 0.05, 0.02)  # smallest sizes of a dense region, as shares of the rows
FULL = 12  # columns up to which mixture components have full covariance
MANY_ROWS = 5_000
FAMILIES = frozenset({"clustering"})
VARIANCE = Range.choice(None, KEPT, note="share of the variance kept in few directions")


class _Clustering(Learner):
    problems = frozenset({"clustering"})
    layout = "dense"
    most_paired = 5_000
    path: ClassVar[str]

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        """Returns the arguments of the scikit-learn estimator."""
        count = settings.get("n_clusters") or min(setup.facts.clusters, default=2)
        return {"n_clusters": count, "random_state": setup.seed}

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        kept = {"variance": settings["variance"]} if settings.get("variance") else {}
        own = {"most_rows": int(self.most_paired), "random_state": setup.seed}
        given = {"estimator": Call(self.path, self.divider(settings, setup)), **kept, **own}
        return Call("palmette.automl.learners.clustering.clusters.NumberedClusters", given)

    def sizes(self, facts: DataFacts) -> Iterator[tuple[str, str, Setting]]:
        """Yields the word in a candidate's name, the setting and its value."""
        yield from ((str(count), "n_clusters", count) for count in facts.clusters)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        found, reduced = [], (False, True) if facts.columns > FEW_COLUMNS else (False,)
        scales = SCALES if "number" in facts.kinds else ("standard",)
        for is_reduced, (place, scale), size in product(reduced, enumerate(scales), self.sizes(facts)):
            word, name, value = size
            settings = {name: value, **({"variance": KEPT} if is_reduced else {})}
            encoders: Mapping[Kind, str] = {"number": SCALES[scale]} if SCALES[scale] else {}
            named = f"{self.name}-{word}-{scale}{'-reduced' if is_reduced else ''}"
            rank = 100 * is_reduced + 10 * place + self.rank
            found.append(DefaultConfig(named, settings, self.description, rank, encoders=encoders))
        return tuple(found)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        counts = facts.clusters or (2, 10)
        return {"n_clusters": Range.whole(min(counts), max(counts)), "variance": VARIANCE}


class KMeans(_Clustering):
    name = "kmeans"
    families = FAMILIES | {"k_means", "centroids"}
    description = "Round clusters of like width: each row joins the nearest centre."
    measured = Measured(0.08, 5e-7, kilobytes=2.0, row=0.004, milliseconds=0.2)
    rank = 0
    path = "sklearn.cluster.KMeans"

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        return {**super().divider(settings, setup), "n_init": 10 if setup.facts.rows < MANY_ROWS else 3}


class Mixture(_Clustering):
    name = "gmm"
    families = FAMILIES | {"gaussian_mixture", "mixture"}
    description = "Clusters of any width, tilted where columns are few: a mixture of normal distributions."
    measured = Measured(0.1, 4e-6, kilobytes=10.0, milliseconds=0.2)
    rank = 1
    path = "sklearn.mixture.GaussianMixture"

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        few = setup.facts.columns <= FULL and ("category" not in setup.facts.kinds or bool(settings.get("variance")))
        given = super().divider(settings, setup)
        shape = {"covariance_type": "full" if few else "diag", "reg_covar": 1e-3, "n_init": 2}
        return {"n_components": given.pop("n_clusters"), **shape, **given}


class Linkage(_Clustering):
    name = "agglomerative"
    families = FAMILIES | {"hierarchical", "ward"}
    description = "Rows are joined one by one, so that the variance within a cluster grows least (Ward)."
    measured = Measured(0.1, 0.0, 3e-7, kilobytes=2.0, row=0.024, milliseconds=0.2)
    rank = 2
    path = "sklearn.cluster.AgglomerativeClustering"

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        return {"n_clusters": super().divider(settings, setup)["n_clusters"]}


class Spectral(_Clustering):
    name = "spectral"
    families = FAMILIES | {"spectral_clustering"}
    description = "Clusters of any form: rows that are connected in the graph of nearest rows."
    most_paired = 2_000
    measured = Measured(0.1, 0.0, 2.5e-7, kilobytes=2.0, row=0.18, milliseconds=0.2)
    rank = 3
    path = "sklearn.cluster.SpectralClustering"

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        near = {"affinity": "nearest_neighbors", "n_neighbors": max(1, min(10, setup.facts.rows - 1))}
        return {**super().divider(settings, setup), **near, "assign_labels": "cluster_qr"}


class Density(_Clustering):
    name = "hdbscan"
    families = FAMILIES | {"density", "dbscan"}
    description = "Dense regions of any form, as many as there are; rows between them join the nearest."
    measured = Measured(0.03, 0.0, 6e-8, kilobytes=2.0, row=0.13, milliseconds=0.2)
    rank = 4
    path = "sklearn.cluster.HDBSCAN"

    def divider(self, settings: Settings, setup: TrainingSetup) -> dict[str, Any]:
        rows = min(setup.facts.rows, self.most_paired)
        return {"min_cluster_size": max(5, round(float(settings.get("share") or SHARES[1]) * rows)), "copy": True}

    def sizes(self, facts: DataFacts) -> Iterator[tuple[str, str, Setting]]:
        yield from ((f"{100 * share:.0f}", "share", share) for share in SHARES)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        share = Range.choice(*SHARES, default=SHARES[1], note="share of the rows that a region has at least")
        return {"share": share, "variance": VARIANCE}
