"""The delivered model and the best baseline on the hold-out, or out of fold where there is none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.artefacts import Assembly, Comparison, FeatureImportance, LeaderboardRow, Score
from palmette.automl.candidates import Blueprint
from palmette.automl.formatting import fixed, measured, metric
from palmette.automl.measure import Predictions
from palmette.automl.problems.registry import problem_of
from palmette.automl.project import ANSWERS, BuiltPackage
from palmette.automl.samples import DataSplits
from palmette.automl.search.results import read_results
from palmette.automl.search.selection import ensemble_outputs
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import TextFile
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.reading import read_made

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evaluation:
    """Scores with what they are compared with."""

    scores: tuple[Score, ...]
    unmeasured: str
    """Why the metric of the run is not among them, in a sentence."""
    better: bool
    better_reason: str
    predictions: Predictions
    """Of the rows of the hold-out; of the first training rows where there is none."""
    importances: tuple[FeatureImportance, ...] = ()
    answers: TextFile | None = None


@dataclass(frozen=True)
class Evaluator:
    """A fitted package, the fitted baseline, and the rows of the run. The target never goes to either."""

    task: TaskSpec
    blueprint: Blueprint
    assembly: Assembly
    comparison: Comparison
    splits: DataSplits
    store: Store
    sandbox: Sandbox
    scratch: Path

    @property
    def package(self) -> BuiltPackage:
        return BuiltPackage(self.store.folder(self.comparison.package), self.sandbox, self.blueprint)

    def evaluated(self) -> Evaluation | ExecutionResult:
        """The evaluation; how the package ended where it fails."""
        return self._on_holdout() if len(self.splits.holdout) else self._out_of_fold()

    def _on_holdout(self) -> Evaluation | ExecutionResult:
        problem, rows = problem_of(self.blueprint), self.splits.holdout
        with ThreadPoolExecutor(2) as beside:
            importances = beside.submit(self._importances)
            made = self.package.predict(rows, self.scratch / "model")
            if isinstance(made, ExecutionResult):
                return made
            other = self._baseline(rows, made)
            found = importances.result()
        why, where = problem.unmeasured(self.splits), f"{len(rows)} held-out rows"
        scores = tuple(problem.scores(self.splits, made, other, self._asked))
        first = scores[0] if scores and not why else None
        return Evaluation(
            scores=scores,
            unmeasured=self._unmeasured(why) if why else "",
            better=not why and other is not None and problem.better(self.splits, made, other),
            better_reason=self._compared(first, other, where),
            predictions=made,
            importances=found,
            answers=TextFile(path="answers.csv", text=read_made(self.scratch / "model", ANSWERS).decode()),
        )

    def _out_of_fold(self) -> Evaluation | ExecutionResult:
        problem, selection = problem_of(self.blueprint), self.comparison.selection
        results = read_results(self.store.folder(self.assembly.store), problem, len(self.splits.train)).results
        scorer, baseline = problem.scorer(self.splits), self._best_baseline
        outputs = ensemble_outputs(selection, results, scorer)
        base = next((one.outputs for one in results if baseline and one.name == baseline.name), None)
        other = None if base is None else scorer.predictions(base, scorer.class_weights(base))
        made = scorer.predictions(outputs, selection.class_weights)
        scores = tuple(problem.scores(self.splits.judged, made, other, self._asked))
        asked = self.package.predict(self.splits.train.head(100), self.scratch / "model")
        if isinstance(asked, ExecutionResult):
            return asked
        return Evaluation(
            scores=scores,
            unmeasured="",
            better=base is not None and scorer.gain(outputs, base).low > 0,
            better_reason=self._compared(scores[0] if scores else None, other, f"the training rows {scorer.measured}"),
            predictions=asked,
        )

    @property
    def _asked(self) -> list[str]:
        """The metrics that constraints name."""
        return [one.metric for one in self.task.constraints if one.metric]

    @property
    def _best_baseline(self) -> LeaderboardRow | None:
        rows = [one for one in self.comparison.leaderboard if one.track == "baseline"]
        return max(rows, key=lambda one: one.error_reduction, default=None)

    def _baseline(self, rows: pd.DataFrame, made: Predictions) -> Predictions | None:
        """Predictions of the fitted baseline; None where there is none."""
        if self.comparison.baseline == self.comparison.package:
            return made
        if not self.comparison.baseline:
            return None
        package = BuiltPackage(self.store.folder(self.comparison.baseline), self.sandbox, self.blueprint)
        found = package.predict(rows, self.scratch / "baseline")
        return None if isinstance(found, ExecutionResult) else found

    def _compared(self, score: Score | None, other: Predictions | None, where: str) -> str:
        """Both scores, in a sentence."""
        if self.comparison.baseline == self.comparison.package:
            return "The delivered model is the best baseline; no other candidate was chosen."
        if score is None or other is None or score.baseline is None:
            return f"It cannot be compared with a baseline on {where}."
        name = self._best_baseline.name if self._best_baseline else "baseline"
        value, _, places = measured(score.value, score.low, score.high)
        other_value = fixed(score.baseline, places)
        return f"{metric(score.metric)} {value} on {where}; the best baseline, {name}, has {other_value}."

    def _unmeasured(self, why: str) -> str:
        selection, measured = self.comparison.selection, self.comparison.measured
        other = f"; {measured} it is {selection.score:.4g}"
        return f"{selection.metric} cannot be computed on the hold-out, because {why}{other}."

    def _importances(self) -> tuple[FeatureImportance, ...]:
        def ask(rows: pd.DataFrame) -> Predictions:
            made = self.package.predict(rows, self.scratch / "shuffled")
            if isinstance(made, ExecutionResult):
                raise ValueError(made.note)
            return made

        try:
            return problem_of(self.blueprint).importances(self.splits, ask)
        except ValueError:  # a metric that a sample does not allow for, or a package that fails on it
            return ()
