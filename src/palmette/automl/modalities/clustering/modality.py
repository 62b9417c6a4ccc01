"""Clusters of tables, as actors work with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import Score, Track, Worth
from palmette.automl.evidence import Evidence, Grouping
from palmette.automl.material import Material
from palmette.automl.measure import Predictions, interval, metric_of, score
from palmette.automl.measure.metrics import Floats
from palmette.automl.modalities.clustering import writer
from palmette.automl.modalities.clustering.blueprint import AGREEMENTS, ALGORITHMS, FACTS, Blueprint
from palmette.automl.modalities.clustering.draft import drafted
from palmette.automl.modalities.clustering.judge import ClusterJudge, degenerate
from palmette.automl.modalities.clustering.matrix import Matrix
from palmette.automl.modalities.clustering.traits import traits_of
from palmette.automl.modalities.modality import Outline
from palmette.automl.modalities.tabular.modality import Tabular
from palmette.automl.modalities.words import words
from palmette.automl.permutation import Measure, importance
from palmette.automl.profile import Profile
from palmette.automl.selection import Candidate, Expected, Found, read_candidates
from palmette.engine import TextFile
from palmette.engine.actor import Violation

if TYPE_CHECKING:
    import pandas as pd

HALVES = 2
HIGHEST = 1_000_000
"""Number that no cluster has."""
INTERNAL = ("davies_bouldin", "calinski_harabasz")
"""Told beside the silhouette."""
ROUNDS = 100
"""Resamples of an interval."""
BLOCKS = 20
"""Parts of the rows that are left out in turn, for an interval of what repeated rows would change."""
Z = 1.96


@dataclass(frozen=True)
class Clustering:
    """Candidates are compared by how well they divide the harness's own matrix of the training rows."""

    TASKS: ClassVar = frozenset({"clustering"})
    BASELINES: ClassVar[tuple[str, ...]] = ("dummy", "plain")
    FIXED: ClassVar[tuple[str, ...]] = (
        "task", "target", "metric", "rows", "clusters", "labels", "agreement", "source", "seconds",
    )  # fmt: skip
    PARTS: ClassVar[tuple[float, ...]] = ()
    COMPARED: ClassVar[str] = (
        "By internal criteria, and by whether halves of the rows are grouped alike: there are no labels."
    )
    ALGORITHMS: ClassVar[tuple[str, ...]] = ALGORITHMS
    FACTS: ClassVar = FACTS
    PREPARATION: ClassVar = Tabular.PREPARATION
    MODELS: ClassVar = words(__file__, "models")
    PROBE: ClassVar = """\
import contract, preprocess
rows = preprocess.read("rows")
contract.check_rows(rows)
features = preprocess.features(rows)
contract.check_features(features)
print(len(features))
"""

    blueprint: Blueprint

    @staticmethod
    def available(tracks: Sequence[Track]) -> tuple[str, ...]:
        return ALGORITHMS if "traditional" in tracks else ()

    @staticmethod
    def usual_folds(profile: Profile) -> int:  # noqa: ARG004 - as of every modality
        return HALVES

    @property
    def positive(self) -> None:
        return None

    @staticmethod
    def draft(outline: Outline) -> Blueprint:
        return drafted(outline)

    def preparation_files(self) -> tuple[TextFile, ...]:
        return writer.preparation_files(self.blueprint)

    @staticmethod
    def unavailable(track: Track) -> str:
        return "" if track == "traditional" else f"There are no models of the track {track!r} for clusters."

    def track_files(self, track: Track) -> tuple[TextFile, ...]:
        return writer.track_files(self.blueprint)

    def shared_files(self, tracks: Sequence[Track]) -> tuple[TextFile, ...]:
        return writer.shared_files(self.blueprint)

    def sample(self, material: Material, most: int) -> Material:
        return material.sample(most, self.blueprint.seed)

    def folds(self, material: Material) -> NDArray[np.int64]:
        """Two halves, by the values of the rows: the same in whatever order they come; equal rows are dealt out."""
        import pandas as pd

        from palmette.automl.data.cut import row_hashes

        hashes = pd.Series(row_hashes(material.train[[one.name for one in self.blueprint.columns]]))
        place = hashes.rank(method="dense").astype(int) + hashes.groupby(hashes).cumcount()
        return np.asarray(place % HALVES, dtype=np.int64)

    def write_rows(self, rows: pd.DataFrame, path: Path) -> None:
        from palmette.automl.modalities.tabular.rows import write_rows

        write_rows(rows, self.blueprint, path)

    def candidates(self, folder: Path, material: Material) -> Found:
        """Those that divide the rows, into as many clusters as are asked for; none where only the dummy is left."""
        expected = Expected(self.folds(material), writer.OUTPUTS, probabilities=False)
        found = read_candidates(folder, expected)
        judged = [(one, _wrong(one, self.blueprint.tried)) for one in found.candidates]
        good = tuple(one for one, wrong in judged if not wrong)
        refused = tuple(_refused(one, wrong) for one, wrong in judged if wrong)
        whole = good if any(one.name != self.BASELINES[0] for one in good) else ()
        return replace(found, candidates=whole, violations=(*found.violations, *refused))

    def judge(self, material: Material) -> ClusterJudge:
        matrix = Matrix(material.train, self.blueprint.columns)
        return ClusterJudge(matrix.of(material.train), self.folds(material), self.blueprint.seed)

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        if len(table) != rows:
            raise ValueError(f"{len(table)} answers for {rows} rows")
        clusters = table["prediction"].to_numpy(float)
        if not _are_numbers(clusters):
            raise ValueError("a cluster has no whole number from 0 on")
        return Predictions(clusters.astype(np.int64))

    def scores(
        self, material: Material, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        """The agreement with the labels first, where there are any; all metrics of clusters, whatever is asked for."""
        found = self._external(material.holdout, made, baseline) if self.blueprint.labels else []
        return [*found, *self._internal(material, made, baseline)]

    def worths(self, material: Material, ask: Callable[[pd.DataFrame], Predictions]) -> tuple[Worth, ...]:
        """By how much the clusters are others: 1 less the adjusted Rand index with those of the rows as they are."""
        columns = [column.name for column in self.blueprint.columns]
        rows, measure = material.holdout[columns], Measure(metric_of("adjusted_rand", "clustering"))
        return importance(ask, rows, ask(rows).values, measure, columns, seed=self.blueprint.seed)

    def evidence(self, material: Material, made: Predictions | None, found: Iterable[Candidate], best: str) -> Evidence:
        """What the clusters of the training rows are like, and the best silhouette by their number."""
        judge = self.judge(material)
        tried, chosen = dict[int, float](), None
        for one in found:
            clusters = one.outputs[:, 0].astype(np.intp)
            count = len(np.unique(clusters))
            if one.name != self.BASELINES[0] and self.blueprint.clusters is None:
                tried[count] = max(tried.get(count, -1.0), judge.score(one.outputs))
            chosen = clusters if one.name == best else chosen
        worth = "How far the groups become others (1 less the adjusted Rand index)"
        told = Evidence(worth=worth, missing={"curve": "more rows do not make groups better by any of these measures"})
        if chosen is None:
            return told
        places = _plane(Matrix(material.train, self.blueprint.columns).of(material.train))
        sizes = tuple(int(count) for count in np.bincount(chosen))
        traits = tuple(traits_of(material.train, self.blueprint.columns, chosen))
        return replace(told, grouping=Grouping(sizes, tuple(sorted(tried.items())), places, chosen, traits))

    def unmeasured(self, material: Material) -> str:
        return ""

    def _external(self, rows: pd.DataFrame, made: Predictions, baseline: Predictions | None) -> list[Score]:
        labels = rows[self.blueprint.labels]
        known = np.flatnonzero(labels.notna().to_numpy())
        truth, other = labels.astype(str).to_numpy(str)[known], None if baseline is None else baseline.take(known)
        names = dict.fromkeys((self.blueprint.agreement, *AGREEMENTS))
        return [_score(name, truth, made.take(known), other) for name in names] if len(known) else []

    def _internal(self, material: Material, made: Predictions, baseline: Predictions | None) -> list[Score]:
        matrix = Matrix(material.train, self.blueprint.columns).of(material.holdout)
        if not 1 < len(np.unique(made.values)) < len(matrix):
            return []
        judge = ClusterJudge(matrix, np.zeros(len(matrix), dtype=np.int64), self.blueprint.seed)
        range = judge.interval(_outputs(made))
        other = None if baseline is None else judge.score(_outputs(baseline))
        silhouette = Score(
            metric="silhouette", value=judge.score(_outputs(made)), low=range.low, high=range.high, baseline=other
        )
        return [silhouette, *filter(None, (_of_distances(name, matrix, made, baseline) for name in INTERNAL))]


def _plane(matrix: Floats) -> Floats:
    """(n, 2): the rows as seen from where they are spread most; a second direction is 0 where there is one column."""
    centred = matrix - matrix.mean(axis=0)
    directions = np.linalg.svd(centred.T @ centred)[0][:, :2]
    return np.pad(centred @ directions, ((0, 0), (0, 2 - directions.shape[1])))


def _outputs(made: Predictions) -> Floats:
    """(n, 2): the clusters twice, as of a model that is of no half."""
    clusters = made.values.astype(float)
    return np.column_stack([clusters, clusters])


def _score(name: str, truth: NDArray[np.generic], made: Predictions, baseline: Predictions | None) -> Score:
    metric = metric_of(name, "clustering")
    range = interval(metric, truth, made, rounds=ROUNDS)
    other = None if baseline is None else score(metric, truth, baseline)
    return Score(metric=name, value=score(metric, truth, made), low=range.low, high=range.high, baseline=other)


def _of_distances(name: str, matrix: Floats, made: Predictions, baseline: Predictions | None) -> Score | None:
    """With the interval of the jackknife: rows that a bootstrap repeats would make clusters look denser.

    None where there are too few rows for one.
    """
    metric = metric_of(name, "clustering")
    value = score(metric, matrix, made)
    order, count = np.random.default_rng(0).permutation(len(matrix)), min(BLOCKS, len(matrix))
    kept = [np.setdiff1d(order, block) for block in np.array_split(order, count)]
    try:
        found = np.array([score(metric, matrix[rows], made.take(rows)) for rows in kept])
    except ValueError:  # of a single cluster, or of one for each row
        return None
    half = Z * float(np.sqrt((count - 1) / count * ((found - found.mean()) ** 2).sum()))
    other = None if baseline is None else score(metric, matrix, baseline)
    return Score(metric=name, value=value, low=max(0.0, value - half), high=value + half, baseline=other)


def _are_numbers(clusters: Floats) -> bool:
    """Whether they are whole numbers from 0 on, none so high that nobody could count so many."""
    within = bool(((clusters >= 0) & (clusters < HIGHEST)).all())
    return within and bool((clusters == np.floor(clusters)).all())


def _wrong(one: Candidate, asked: Sequence[int]) -> str:
    clusters = one.outputs[:, 0]
    if not _are_numbers(one.outputs):
        return "has clusters that are no whole numbers from 0 on"
    if (count := len(np.unique(clusters))) > 1 and count not in asked:
        wanted = f"{asked[0]}" if len(asked) == 1 else f"{asked[0]} to {asked[-1]}"
        return f"has {count} clusters, not the {wanted} that are asked for"
    return degenerate(clusters.astype(np.int64))


def _refused(one: Candidate, wrong: str) -> Violation:
    return Violation(code="degenerate", message=f"{one.name} {wrong}.", subject=one.name)
