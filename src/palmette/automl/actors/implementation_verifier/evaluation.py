"""What is delivered, measured: scores on the hold-out, or out of fold; answers and latency of the endpoint."""

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.automl.actors.shared import PlanningInput
from palmette.automl.artefacts import Assembly, Choice, Comparison, Latency, Plans, Score, Store
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint import checking
from palmette.automl.endpoint.service import Service
from palmette.automl.formatting import fixed, measured, metric
from palmette.automl.measure.metrics import Predictions
from palmette.automl.problems.problem import FIRST_ROWS, problem_of
from palmette.automl.project.built import ANSWERS, BuiltPackage
from palmette.automl.project.reading import in_file_form
from palmette.automl.search.results import comparable, read_results
from palmette.automl.search.selection import ensemble_outputs
from palmette.automl.splitting.data_splits import DataSplits
from palmette.engine import TextFile, Violation
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.reading import read_made

COMPARED = 100  # rows whose answers are compared
COMPARED_FILES = 20  # the same where rows have files
ASKED = 20  # different rows of the requests that are timed


class ImplementationInput(PlanningInput):
    blueprint: Blueprint
    plans: Plans | None = None
    choice: Choice | None = None
    assembly: Assembly
    comparison: Comparison
    revises: bool = True
    """False: what is missed is reported, and no plan is revised."""


Evaluation = tuple[dict[str, Any], Predictions]
"""Fields of the assessment, and predictions of the hold-out; of the first training rows where there is none."""


@dataclass(frozen=True)
class Evaluator:
    """A fitted package, the fitted baseline, and the rows of the run. The target never goes to either."""

    input: ImplementationInput
    splits: DataSplits
    store: Store
    sandbox: Sandbox
    scratch: Path

    @property
    def package(self) -> BuiltPackage:
        return BuiltPackage(self.store.folder(self.input.comparison.package), self.sandbox, self.input.blueprint)

    def evaluated(self) -> Evaluation | ExecutionResult:
        """The evaluation; how the package ended where it fails."""
        return self._on_holdout() if len(self.splits.holdout) else self._out_of_fold()

    def _on_holdout(self) -> Evaluation | ExecutionResult:
        problem = problem_of(self.input.blueprint)
        with ThreadPoolExecutor(2) as beside:
            importances = beside.submit(self._measured, "shuffled", problem.importances)
            answered = self._answered(self.package, "model")
            if isinstance(answered, ExecutionResult):
                return answered
            made, text = answered
            other = self._baseline(made)
            found = importances.result()
        why, selection = problem.unmeasured(self.splits), self.input.comparison.selection
        scores = tuple(problem.scores(self.splits, made, other, self._asked))
        if why:
            beside_it = f"{self.input.comparison.measured} it is {selection.score:.4g}"
            why = f"{selection.metric} cannot be computed on the hold-out, because {why}; {beside_it}."
        return {
            "scores": scores,
            "unmeasured": why,
            "better": not why and other is not None and problem.better(self.splits, made, other),
            "better_reason": self._compared(() if why else scores, f"{len(self.splits.holdout)} held-out rows"),
            "importances": found,
            "occlusions": self._measured("covered", problem.occlusions, made),
            "answers": TextFile(path="answers.csv", text=text),
        }, made

    def _answered(self, package: BuiltPackage, place: str) -> tuple[Predictions, str] | ExecutionResult:
        """What a package answers about the hold-out, and all its answers as CSV; how it ended where it fails."""
        problem = problem_of(self.input.blueprint)
        first, *others = problem.holdout_inputs(self.splits)
        made = package.predict(first, self.scratch / place)
        if isinstance(made, ExecutionResult):
            return made
        text = read_made(self.scratch / place, ANSWERS).decode()
        if others:
            with Service(self.sandbox, package.folder) as service:
                service.is_healthy()
                text += "".join(self._answer(service, rows) for rows in others)
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        return problem.predictions(table, len(self.splits.holdout)), text

    def _out_of_fold(self) -> Evaluation | ExecutionResult:
        problem, selection = problem_of(self.input.blueprint), self.input.comparison.selection
        folder = self.store.folder(self.input.comparison.store or self.input.assembly.store)
        results = read_results(folder, problem, len(self.splits.train)).results
        results, splits = comparable(results, self.splits)
        scorer, baseline = problem.scorer(splits), self._best_baseline
        outputs = ensemble_outputs(selection, results, scorer)
        base = next((one.outputs for one in results if one.name == baseline), None)
        other = None if base is None else scorer.predictions(base, scorer.class_weights(base))
        made = scorer.predictions(outputs, selection.class_weights)
        scores = tuple(problem.scores(splits.judged, made, other, self._asked))
        asked = self.package.predict(self.splits.train.head(FIRST_ROWS), self.scratch / "model")
        if isinstance(asked, ExecutionResult):
            return asked
        return {
            "scores": scores,
            "better": base is not None and scorer.gain(outputs, base).low > 0,
            "better_reason": self._compared(scores, f"the training rows {scorer.measured}"),
        }, asked

    @property
    def _asked(self) -> list[str]:
        return [one.metric for one in self.input.task.constraints if one.metric]

    @property
    def _best_baseline(self) -> str:
        rows = [one for one in self.input.comparison.leaderboard if one.track == "baseline"]
        return max(rows, key=lambda one: one.error_reduction).name if rows else ""

    def _answer(self, service: Service, rows: pd.DataFrame) -> str:
        """What a package's endpoint answers to rows together, as lines of CSV; ValueError where it has no answer."""
        asked = checking.rows_of_requests(in_file_form(rows, self.input.blueprint))
        reply = checking.answered(service, "/predict", {problem_of(self.input.blueprint).together: asked})
        return str(pd.DataFrame(next(iter(reply.data().values()))).to_csv(index=False, header=False))

    def _baseline(self, made: Predictions) -> Predictions | None:
        """Predictions of the fitted baseline; None where there is none."""
        if self.input.comparison.baseline == self.input.comparison.package:
            return made
        if not self.input.comparison.baseline:
            return None
        package = BuiltPackage(self.store.folder(self.input.comparison.baseline), self.sandbox, self.input.blueprint)
        found = self._answered(package, "baseline")
        return None if isinstance(found, ExecutionResult) else found[0]

    def _compared(self, scores: Sequence[Score], where: str) -> str:
        """The first score and that of the baseline, in a sentence."""
        if self.input.comparison.baseline == self.input.comparison.package:
            why = self.input.comparison.selection.reason or "no other candidate was chosen"
            return f"The delivered model is the best baseline: {why}."
        if not self.input.comparison.baseline:
            return "It is not compared with a baseline, whose final fit did not end in time."
        if not scores or scores[0].baseline is None:
            return f"It cannot be compared with a baseline on {where}."
        score, name = scores[0], self._best_baseline or "baseline"
        value, _, places = measured(score.value, score.low, score.high)
        other = fixed(score.baseline, places)
        return f"{metric(score.metric)} {value} on {where}; the best baseline, {name}, has {other}."

    def _measured(self, place: str, measure: Callable[..., tuple[Any, ...]], *given: Any) -> tuple[Any, ...]:
        """What a problem measures by asking the package; nothing where the metric or the package fails on such rows."""

        def ask(rows: pd.DataFrame) -> Predictions:
            made = self.package.predict(rows, self.scratch / place)
            if isinstance(made, ExecutionResult):
                raise ValueError(made.note)
            return made

        try:
            return measure(self.splits, *given, ask)
        except ValueError:
            return ()


def endpoint_measured(
    service: Service, blueprint: Blueprint, splits: DataSplits, predictions: Predictions, batch: bool
) -> tuple[Latency | None, tuple[Violation, ...]]:
    """Latency of requests in the form of the user's file, and what is wrong with the answers."""
    rows = splits.holdout.drop(columns=[blueprint.target, blueprint.labels], errors="ignore")
    compared = min(COMPARED if not blueprint.file_columns else COMPARED_FILES, len(predictions))
    asked = rows if batch else rows.head(max(compared, ASKED))
    requests = checking.rows_of_requests(in_file_form(asked, blueprint))
    numbers = [one.in_file for one in blueprint.columns if one.kind == "number"]
    if not service.is_healthy():
        message, log = "The endpoint of the package does not start.", service.output()[-3000:]
        return None, (Violation(code="endpoint-unhealthy", message=message, evidence=log, subject="serve.py"),)
    problem = problem_of(blueprint)
    own = [
        exchange
        for one in problem.requests(splits, predictions)
        for exchange in checking.exchanges(
            problem.together, checking.rows_of_requests(in_file_form(one.rows, blueprint)), one.answer, numbers
        )
    ]
    answers = checking.answers_of(predictions)[:compared]
    if wrong := checking.check_endpoint(service, own or checking.row_exchanges(requests[:compared], answers, numbers)):
        return None, wrong
    if own:
        return checking.measure_latency(service, [one.body for one in own if not one.refused]), ()
    latency = checking.measure_latency(service, requests[:ASKED])
    seconds = round(checking.measure_batch(service, requests), 3) if batch else None
    return latency.model_copy(update={"batch_seconds": seconds}), ()
