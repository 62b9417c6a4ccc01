"""The problem `clustering`."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.artefacts import FeatureImportance, Score
from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import Candidate, ColumnUse, Ensembling, Folds, Strategy
from palmette.automl.formatting import metric as name_of
from palmette.automl.formatting import number, share, short
from palmette.automl.kinds import STRUCTURE, UNUSABLE, with_contents
from palmette.automl.measure.metrics import METRICS, Floats, Metric, Predictions, Task
from palmette.automl.plots import Axis, Figure, Plot, around
from palmette.automl.problems.clustering.scorer import ClusterScorer, degenerate, matrix_of
from palmette.automl.problems.explanations import Ask, importance
from palmette.automl.problems.problem import ColumnByCluster, EnsembleMember, Problem, ReportData
from palmette.automl.problems.supervised import first_metric, require_row_count
from palmette.automl.profile import Profile
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.splitting.parts import row_hashes
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError
from palmette.problems import error_of

HALVES = 2
MOST_CLUSTERS = 10  # most clusters to try if the request gives no number
HIGHEST = 1_000_000  # cluster numbers must be below this
SHOWN = frozenset({"number", "datetime", "category", "boolean", "text"})
WORDS = 4  # typical words of a cluster that are shown
DRAWN = 1500  # most rows that are drawn
COLOURED = 6  # clusters with a colour of their own


class Clustering(Problem):
    """Compares candidates by labels that no model sees, or by how well they divide a matrix of the training rows."""

    name: ClassVar[str] = "clustering"
    has_target: ClassVar[bool] = False
    fits_all_rows: ClassVar[bool] = True
    task: ClassVar[Task] = "clustering"
    blends: ClassVar[bool] = False

    @staticmethod
    def objective(task: TaskSpec) -> str:
        metric = first_metric(task) or ("adjusted_rand" if task.labels else "silhouette")
        if METRICS[metric].needs == "groups" and not task.labels:
            raise error_of(UserError, "no-labels", metric=metric)
        return metric

    @staticmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        aside = {*UNUSABLE, *STRUCTURE}
        columns = [one.name for one in profile.columns if one.kind not in aside and one.name not in profile.dropped]
        used = [one for one in columns if one != task.labels]
        if not used:
            raise error_of(UserError, "no-columns/clusters")
        return {
            "metric": Clustering.objective(task),
            "clusters": numbers_of_clusters(
                task, len(rows), len(rows[used].drop_duplicates()), rows[task.labels].nunique() if task.labels else 0
            ),
            "labels": task.labels,
            "folds": Folds(count=HALVES, kind="random"),
        }

    def baselines(self) -> tuple[Candidate, ...]:
        """Returns random clusters and plain k-means, both with a usual number of clusters."""
        tried = self.blueprint.clusters
        count = min(tried[-1], max(tried[0], 8))
        usual = {"n_clusters": count}
        return (
            Candidate(name="dummy", learner="dummy", settings=usual, reason="clusters at random"),
            Candidate(name=f"kmeans-{count}-standard", learner="kmeans", settings=usual, reason="plain k-means"),
        )

    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        """Returns two halves that depend on the values of rows, not on their order; equal rows go to both."""
        files = [one.name for one in self.blueprint.file_columns]
        rows = with_contents(splits.train[[one.name for one in self.blueprint.columns]], files)
        rows[files] = rows[files].map(lambda content: hashlib.sha256(content or b"").hexdigest())
        hashes = pd.Series(row_hashes(rows))
        place = hashes.rank(method="dense").astype(int) + hashes.groupby(hashes).cumcount()
        return np.asarray(place % HALVES, dtype=np.int64)

    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        return np.asarray(estimator.predict(features), dtype=float)

    def output_error(self, outputs: Floats) -> str:
        """Checks that the number of clusters was among those to try, and that no cluster is too large or too small."""
        if outputs.ndim != 2 or outputs.shape[1] != 2 or not _are_cluster_numbers(outputs):
            return "has clusters that are not whole numbers from 0 on"
        clusters, tried = outputs[:, 0], self.blueprint.clusters
        if (count := len(np.unique(clusters))) > 1 and count not in tried:
            return f"has {count} clusters, not {f'the {tried[0]}' if len(tried) == 1 else f'{tried[0]} to {tried[-1]}'}"
        return degenerate(clusters.astype(np.int64))

    def matrix(self, splits: DataSplits, rows: pd.DataFrame) -> Floats:
        """Returns the matrix (n, d) by which clusters of some rows are compared."""
        return matrix_of(splits.train, self.blueprint, rows)

    @property
    def guide(self) -> Metric:
        """The search has no labels."""
        return METRICS["silhouette"] if self.metric.needs == "groups" else self.metric

    def scorer(self, splits: DataSplits) -> ClusterScorer:
        return self._scorer(splits, splits.train, self.folds(splits))

    def _scorer(self, splits: DataSplits, rows: pd.DataFrame, folds: NDArray[np.int64] | None = None) -> ClusterScorer:
        """Returns the scorer of some rows, by their labels where the metric compares with labels and some are known."""
        labels = self._labels(rows) if self.metric.needs == "groups" else None
        metric, truth = (self.guide, self.matrix(splits, rows)) if labels is None else (self.metric, labels)
        return ClusterScorer(metric, truth, self.blueprint.seed, folds)

    def _labels(self, rows: pd.DataFrame) -> NDArray[np.int64] | None:
        """Returns the labels of rows as numbers (n,), negative where unknown; None if fewer than two are known."""
        if self.blueprint.labels not in rows:
            return None
        codes = pd.factorize(rows[self.blueprint.labels])[0]
        return codes.astype(np.int64) if (codes >= 0).sum() > 1 else None

    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        (one,) = members
        return pipeline(("features", one.encoder), ("model", one.learner))

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        require_row_count(table, rows)
        clusters = table["prediction"].to_numpy(float)
        if not _are_cluster_numbers(clusters):
            raise ValueError("a cluster has no whole number from 0 on")
        return Predictions(clusters.astype(np.int64))

    def scores(
        self, splits: DataSplits, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        """Returns all metrics, the metric of the run first; agreement with labels only if there are labels."""
        labels, matrix = self._labels(splits.holdout), self.matrix(splits, splits.holdout)
        truths = {"distances": matrix, **({} if labels is None else {"groups": labels})}
        found = list[Score]()
        for metric in (one for one in METRICS.values() if one.task == "clustering" and one.needs in truths):
            scorer = ClusterScorer(metric, truths[metric.needs], self.blueprint.seed)
            value, bounds = scorer.score(_outputs(made)), scorer.interval(_outputs(made))
            other = math.nan if baseline is None else scorer.score(_outputs(baseline))
            if math.isfinite(value):
                usual = other if math.isfinite(other) else None
                found.append(Score(metric=metric.name, value=value, low=bounds.low, high=bounds.high, baseline=usual))
        return sorted(found, key=lambda one: one.metric != self.blueprint.metric)

    def better(self, splits: DataSplits, made: Predictions, baseline: Predictions) -> bool:
        scorer = self._scorer(splits, splits.holdout)
        return scorer.gain(_outputs(made), _outputs(baseline)).low > 0

    def unmeasured(self, splits: DataSplits) -> str:
        known = self.metric.needs != "groups" or self._labels(splits.holdout) is not None
        return "" if known else f"no row has a value of {self.blueprint.labels!r}"

    def importances(self, splits: DataSplits, ask: Ask) -> tuple[FeatureImportance, ...]:
        """Returns how much clusters change: 1 minus the adjusted Rand index with the clusters of the original rows."""
        columns = [column.name for column in self.blueprint.columns]
        if len(columns) == len(self.blueprint.file_columns):
            return ()  # shuffling whole files does not show what matters inside them
        rows, metric = splits.holdout[columns], METRICS["adjusted_rand"]
        return importance(ask, rows, ask(rows).values, metric, columns, seed=self.blueprint.seed)

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        """Returns the clusters of the training rows, and the best score by number of clusters."""
        measured = "How far the clusters become others (1 less the adjusted Rand index)"
        if best not in outputs:
            return ReportData(importance=measured)
        scorer, tried = self.scorer(splits), dict[int, float]()
        for one in outputs.values() if len(self.blueprint.clusters) > 1 else ():
            count, value = len(np.unique(one[:, 0])), scorer.score(one)
            if count not in tried or scorer.metric.better(value, tried[count]):
                tried[count] = value
        chosen = outputs[best][:, 0].astype(np.intp)
        matrix = self.matrix(splits, splits.train)
        centred = matrix - matrix.mean(axis=0)
        directions = np.linalg.svd(centred.T @ centred)[0][:, :2]  # two principal components, or one of one column
        places = np.pad(centred @ directions, ((0, 0), (0, 2 - directions.shape[1])))
        sizes = tuple(int(count) for count in np.bincount(chosen))
        traits = tuple(traits_of(splits.train, self.blueprint.columns, chosen))
        figures = [*([of_numbers(scorer.metric, tried)] if len(tried) > 1 else []), in_the_plane(places, chosen)]
        return ReportData(importance=measured, figures=tuple(figures), sizes=sizes, columns=traits)


def numbers_of_clusters(task: TaskSpec, rows: int, different: int, labels: int = 0) -> tuple[int, ...]:
    """Returns the numbers of clusters to try for `rows` rows, of which `different` are distinct, with so many labels.

    Raises UserError where the rows are too few for the requested number.
    """
    wish, possible = task.clusters, min(different, rows // 2)
    least = wish.count or wish.least or 2
    if not 2 <= least <= possible:
        asked = f"{least} clusters were requested" if wish.count or wish.least else "Clusters were requested"
        raise error_of(UserError, "clusters-impossible", asked=asked, rows=rows, different=different)
    usual = max(2 * (wish.least or 1), min(MOST_CLUSTERS, math.isqrt(rows)), labels)
    most = wish.count or wish.most or usual
    return tuple(range(least, max(least, min(most, possible)) + 1))


def _outputs(made: Predictions) -> Floats:
    """Returns the clusters twice, (n, 2)."""
    clusters = made.values.astype(float)
    return np.column_stack([clusters, clusters])


def _are_cluster_numbers(clusters: Floats) -> bool:
    """Returns whether clusters are whole numbers from 0 to the limit."""
    return bool(((clusters >= 0) & (clusters < HIGHEST) & (clusters == np.floor(clusters))).all())


def traits_of(
    rows: pd.DataFrame, columns: Iterable[ColumnUse], clusters: NDArray[np.intp]
) -> Iterator[ColumnByCluster]:
    """Yields medians of numbers and timestamps, typical words, and the most frequent other values, by cluster (n,).

    `apart` is the share of a column's variance that lies between clusters: of ranks, or of the most frequent values.
    Other kinds of columns have no trait.
    """
    count = int(clusters.max()) + 1
    for column in columns:
        values = rows[column.name]
        if column.kind not in SHOWN:
            continue
        if column.kind in ("number", "datetime"):
            middles = values.groupby(clusters).median().reindex(range(count))
            is_time = column.kind == "datetime"
            shown = [str(one)[:10].replace("NaT", "–") if is_time else number(one, 3) for one in middles]
            yield ColumnByCluster(column.name, "median", tuple(shown), _correlation_ratio(values.rank(), clusters))
            continue
        texts = values.astype(str).where(values.notna())
        if column.kind == "text":
            yield _typical_words(column.name, texts.fillna(""), clusters)
            continue
        shown = []
        for one in range(count):
            common = texts[clusters == one].value_counts(normalize=True)
            shown.append(f"{short(str(common.index[0]), 24)} {share(float(common.iloc[0]))}" if len(common) else "–")
        commonest = texts.value_counts().index[:10]
        parts = [_correlation_ratio((texts == value).astype(float), clusters) for value in commonest]
        yield ColumnByCluster(column.name, "most frequent", tuple(shown), max(parts, default=0.0))


def _typical_words(name: str, texts: pd.Series, clusters: NDArray[np.intp]) -> ColumnByCluster:
    """Returns the words that are most frequent in each cluster compared with the others."""
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(token_pattern=r"\w\w+", binary=True, max_features=5_000)
    try:
        present = counts.fit_transform(texts).astype(float)
    except ValueError:  # no text has a word
        return ColumnByCluster(name, "typical words", ("–",) * (int(clusters.max()) + 1), 0.0)
    inside = np.eye(int(clusters.max()) + 1)[clusters]
    sums, whole = np.asarray(present.T @ inside), np.asarray(present.sum(axis=0)).reshape(-1, 1)
    sizes = inside.sum(axis=0)
    apart = sums / np.maximum(sizes, 1) - (whole - sums) / np.maximum(len(texts) - sizes, 1)
    best, words = np.argsort(-apart, axis=0, kind="stable")[:WORDS].T, counts.get_feature_names_out()
    strength = (float(apart[places[0], one]) for one, places in enumerate(best))
    return ColumnByCluster(name, "typical words", tuple(", ".join(words[places]) for places in best), max(strength))


def _correlation_ratio(values: pd.Series, clusters: NDArray[np.intp]) -> float:
    """Returns the squared correlation ratio; 0 for a constant."""
    known = values.notna().to_numpy()
    numbers = values[known].astype(float)
    between, whole = numbers.groupby(clusters[known]).transform("mean").var(ddof=0), numbers.var(ddof=0)
    return float(between / whole) if whole > 0 else 0.0


def of_numbers(metric: Metric, tried: Mapping[int, float]) -> Figure:
    """Draws the best score of each number of clusters."""
    counts, scores = (np.array(side, float) for side in zip(*sorted(tried.items()), strict=True))
    name = name_of(metric.name)
    x = Axis("Clusters", float(counts.min()), float(counts.max()), is_whole=True)
    plot = Plot(f"{name} by number of clusters", x, Axis(name, *around(scores.tolist(), 0.1)))
    plot.line(counts, scores)
    plot.dots(counts, scores, "c0", "point")
    best = [int(scores.argmax() if metric.greater_is_better else scores.argmin())]
    plot.dots(counts[best], scores[best], "c1", "point")
    at_edge = " The best number is the largest that was tried: there may be more clusters."
    caption = "The best clusters of each number." + at_edge * (int(counts[best[0]]) == int(counts.max()))
    return Figure(name, plot.svg(), caption)


def in_the_plane(places: Floats, clusters: NDArray[np.intp]) -> Figure:
    """Draws rows (n, 2) in the colours of their clusters (n,)."""
    labels, (one, two) = clusters[:DRAWN], places[:DRAWN].T
    x, y = (Axis(f"{name} direction", *around(side.tolist())) for name, side in (("First", one), ("Second", two)))
    plot = Plot("Rows in the plane, by cluster", x, y)
    names = sorted(set(labels.tolist()))
    for name in names:
        inside = labels == name
        plot.dots(one[inside], two[inside], f"c{name}" if 0 <= name < COLOURED else "faint")
    keys = tuple((f"c{name}", f"cluster {name}") for name in names if 0 <= name < COLOURED)
    keys += (("faint", "smaller clusters"),) if max(names) >= COLOURED else ()
    return Figure("Rows in the plane", plot.svg(), "Each dot is a row; similar rows are near one another.", keys)
