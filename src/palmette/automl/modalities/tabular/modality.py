"""Classification and regression of tables, as actors work with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import Score, Track, Worth
from palmette.automl.evidence import Evidence
from palmette.automl.goal import folds_wanted
from palmette.automl.material import Material
from palmette.automl.measure import METRICS, Predictions, interval, metric_of, score, undefined
from palmette.automl.modalities.modality import Outline
from palmette.automl.modalities.tabular import writer
from palmette.automl.modalities.tabular.algorithms import ALGORITHMS, Algorithm, installed
from palmette.automl.modalities.tabular.blueprint import Blueprint, Folds
from palmette.automl.modalities.tabular.columns import as_outlined, outlined
from palmette.automl.modalities.tabular.draft import KINDS, Goal, class_names, draft, folds_for
from palmette.automl.modalities.tabular.tracks import FACTS, TRACKS, available
from palmette.automl.modalities.words import words
from palmette.automl.permutation import Measure, importance
from palmette.automl.profile import Profile
from palmette.automl.selection import Candidate, Expected, Found, Judge, are_probabilities, read_candidates
from palmette.automl.wording import metric, number
from palmette.engine import TextFile

if TYPE_CHECKING:
    import pandas as pd

SIDE = {
    "classification": ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "log_loss"),
    "regression": ("rmse", "mae", "r2"),
}
"""Metrics that are told beside that of the run."""


@dataclass(frozen=True)
class Tabular:
    """Candidates are compared by out-of-fold predictions of the target."""

    TASKS: ClassVar = frozenset({"classification", "regression"})
    BASELINES: ClassVar[tuple[str, ...]] = ("dummy", "linear")
    FIXED: ClassVar[tuple[str, ...]] = (
        "task", "target", "metric", "rows", "classes", "positive", "transform", "bounds", "folds", "source", "seconds",
    )  # fmt: skip
    PARTS: ClassVar[tuple[float, ...]] = (0.2, 0.5)
    COMPARED: ClassVar[str] = ""
    ALGORITHMS: ClassVar[tuple[str, ...]] = ALGORITHMS
    FACTS: ClassVar = FACTS
    PREPARATION: ClassVar = words(__file__, "preparation")
    MODELS: ClassVar = words(__file__, "models")
    PROBE: ClassVar = """\
import json, pathlib
import pandas as pd
import contract, preprocess, target
rows = preprocess.read("rows")
contract.check_rows(rows)
features = preprocess.features(rows)
contract.check_features(features)
target.learnt(rows[preprocess.TARGET])
for place in {0, len(rows) // 2, len(rows) - 1}:
    alone = preprocess.features(rows.iloc[[place]])
    pd.testing.assert_frame_equal(alone, features.iloc[[place]], obj="features of a row by itself")
for value in (0.0, -1.0, 1e300, float("nan")):
    edge = dict.fromkeys([one["name"] for one in contract.CONTRACT["rows"] if one["type"] == "number"], value)
    contract.check_features(preprocess.features(rows.head(1).assign(**edge)))
asked = json.loads(pathlib.Path("tests/rows.json").read_text("utf-8"))
asked = preprocess.typed(pd.DataFrame(asked, columns=contract.COLUMNS, dtype=object))
contract.check_rows(asked)
contract.check_features(preprocess.features(asked))
print(len(features))
"""

    blueprint: Blueprint

    @staticmethod
    def available(tracks: Sequence[Track]) -> tuple[str, ...]:
        return tuple(name for track in tracks if track in TRACKS for name in installed(TRACKS[track].algorithms))

    @staticmethod
    def usual_folds(profile: Profile) -> int:
        target, rows = profile.target, profile.holdout.training_rows
        rarest = target.classes[-1].count if target is not None and target.classes else None
        outputs = target.class_count if target is not None and target.class_count > 2 else 1
        gone = {*profile.dropped, profile.aim.target}
        used = [column for column in profile.columns if column.kind in KINDS and column.name not in gone]
        return folds_for(rows, rarest, rows * len(used) * outputs).count

    @property
    def positive(self) -> str | None:
        return self.blueprint.positive

    @staticmethod
    def draft(outline: Outline) -> Blueprint:
        goal = outline.goal
        assert goal.task != "clustering"
        columns = outlined(outline)
        aim = Goal(goal.task, goal.target, goal.metric, goal.positive)
        time = outline.profile.aim.time
        drawn = draft(aim, columns, outline.rows, _algorithms(outline.algorithms), outline.seed, time)
        found = {"title": f"{goal.target} ({goal.task})", "folds": _folds(drawn.folds, outline)}
        own = {one.name for one in outline.derived} | {frozenset(one.columns) for one in outline.derived}
        derived = [one for one in drawn.derived if not own & {one.name, frozenset(one.columns)}]
        said = {"derived": (*derived, *outline.derived), "validation": outline.validation}
        return drawn.model_copy(update=found | said | as_outlined(drawn, outline))

    def preparation_files(self) -> tuple[TextFile, ...]:
        return writer.preparation_files(self.blueprint)

    @staticmethod
    def unavailable(track: Track) -> str:
        return available(track)

    def track_files(self, track: Track) -> tuple[TextFile, ...]:
        return writer.track_files(self.blueprint, track)

    def shared_files(self, tracks: Sequence[Track]) -> tuple[TextFile, ...]:
        return writer.shared_files(self.blueprint, tracks)

    def sample(self, material: Material, most: int) -> Material:
        """With every class as often as that allows."""
        classes = self.truth(material.train) if self.blueprint.classes else None
        return material.sample(most, self.blueprint.seed, classes, max(2, self.blueprint.folds.count))

    def folds(self, material: Material) -> NDArray[np.int64]:
        from palmette.automl.modalities.tabular.folds import folds_of

        return folds_of(material.train, self.blueprint, material.groups)

    def write_rows(self, rows: pd.DataFrame, path: Path) -> None:
        from palmette.automl.modalities.tabular.rows import write_rows

        write_rows(rows, self.blueprint, path)

    def candidates(self, folder: Path, material: Material) -> Found:
        expected = Expected(self.folds(material), self.blueprint.outputs, probabilities=bool(self.blueprint.classes))
        return read_candidates(folder, expected)

    def truth(self, rows: pd.DataFrame) -> NDArray[np.generic]:
        """The target (n,): class names as text, or numbers."""
        target = rows[self.blueprint.target]
        return class_names(target).to_numpy(str) if self.blueprint.classes else target.to_numpy(float)

    def judge(self, material: Material) -> Judge:
        blueprint = self.blueprint
        return Judge(
            metric_of(blueprint.metric, blueprint.task),
            self.truth(material.train),
            classes=blueprint.classes,
            positive=blueprint.positive,
            restore=blueprint.restored,
            units=material.units,
        )

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        if len(table) != rows:
            raise ValueError(f"{len(table)} predictions for {rows} rows")
        classes = self.blueprint.classes
        if classes:
            chances = table[[f"probability_{name}" for name in classes]].to_numpy(float)
            if not are_probabilities(chances):
                raise ValueError("the probabilities of a row are negative or do not sum to 1")
            if not table["prediction"].isin(classes).all():
                raise ValueError("a prediction is none of the classes")
            return Predictions(table["prediction"].to_numpy(str), chances, classes)
        values = table["prediction"].to_numpy(float)
        if not np.isfinite(values).all():
            raise ValueError("a prediction is not a finite number")
        return Predictions(values)

    def scores(
        self, material: Material, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        blueprint, truth, found = self.blueprint, self.truth(material.holdout), []
        asked = [name for name in also if METRICS[name].task == blueprint.task]
        for name in dict.fromkeys((blueprint.metric, *asked, *SIDE[blueprint.task])):
            formula = metric_of(name, blueprint.task)
            if undefined(formula, truth):
                continue
            value = score(formula, truth, made, blueprint.positive)
            range = interval(formula, truth, made, blueprint.positive, units=material.held_units)
            other = None if baseline is None else score(formula, truth, baseline, blueprint.positive)
            found.append(Score(metric=name, value=value, low=range.low, high=range.high, baseline=other))
        return found

    def unmeasured(self, material: Material) -> str:
        return undefined(metric_of(self.blueprint.metric, self.blueprint.task), self.truth(material.holdout))

    def worths(self, material: Material, ask: Callable[[pd.DataFrame], Predictions]) -> tuple[Worth, ...]:
        """By how much the metric of the run becomes worse."""
        blueprint, rows = self.blueprint, material.holdout
        measure = Measure(metric_of(blueprint.metric, blueprint.task), blueprint.positive)
        columns = [column.name for column in blueprint.columns]
        asked = rows.drop(columns=blueprint.target)
        return importance(ask, asked, self.truth(rows), measure, columns, seed=blueprint.seed)

    def evidence(self, material: Material, made: Predictions | None, found: Iterable[Candidate], best: str) -> Evidence:
        blueprint = self.blueprint
        kept = " and ".join(map(number, blueprint.bounds or ()))
        return Evidence(
            truth=None if made is None else self.truth(material.holdout),
            predictions=made,
            positive=blueprint.positive,
            learnt=self.truth(material.train),
            worth=f"How much worse {metric(blueprint.metric)} becomes",
            limits=(f"Predictions are kept between {kept}: nothing beyond is ever predicted.",) if kept else (),
        )


def _algorithms(wanted: Sequence[str]) -> tuple[Algorithm, ...]:
    """Those that are known here, in their order; all where there are none."""
    return tuple(one for name in wanted for one in ALGORITHMS if one == name) or ALGORITHMS


def _folds(folds: Folds, outline: Outline) -> Folds:
    """Divided as the hold-out was cut: by entity, by time, or by chance; fewer where each one's model counts."""
    count, aim = folds_wanted(outline.requirements, folds.count), outline.profile.aim
    if aim.time:
        return Folds(count=count, kind="time", by=aim.time)
    if aim.group:
        return Folds(count=count, kind="grouped", by=aim.group)
    return folds.model_copy(update={"count": count})
