"""What the adapter of a comparison does but for series: a search, a package, and its predictions within a budget."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from palmette.automl.actors.guideline_writer.actor import GuidelineInput, blueprint_of, planned, proposal_of
from palmette.automl.candidates import Blueprint, Selection
from palmette.automl.measure.metrics import Predictions
from palmette.automl.own_code import sampled
from palmette.automl.problem_traits import learning_task
from palmette.automl.problems.problem import problem_of
from palmette.automl.profile import Profile
from palmette.automl.profile.profile import column_figures, target_figures
from palmette.automl.project.built import BuiltPackage
from palmette.automl.project.writer import write_package
from palmette.automl.samples import Loaded, Samples
from palmette.automl.samples.load import load, reload
from palmette.automl.search.results import comparable, fit_seconds, fitted_rows
from palmette.automl.search.runs import Search
from palmette.automl.search.selection import select
from palmette.automl.splitting.data_splits import DataSplits, HoldOut, SplitRequest
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import DeveloperError
from palmette.sandbox import ExecutionResult, Sandbox

FIT_SHARE = 0.15
"""Of the budget, kept for the final fit."""
STARTS = 2.0
"""Programs beside the search that import their libraries: the final fit, and the predictions."""
START_SECONDS = 2.5
CHOICE_SHARE = 0.03
"""Of the budget, for the choice of members."""


def nodes_of_environment(train: Path, test: Path) -> tuple[Loaded, pd.DataFrame]:
    """The graph, and its nodes to predict in the order of their file; other nodes have no target either."""
    others = os.environ.get("PEERS_OTHER_NODES")
    loaded = load([train, test, *([others] if others else []), os.environ["PEERS_EDGES"]])
    first = next(one for one in loaded.samples.files if one.path == str(test))
    assert loaded.inference is not None
    return loaded, loaded.inference.iloc[: first.rows].reset_index(drop=True)


def loaded_apart(train: Path, test: Path) -> tuple[Loaded, pd.DataFrame]:
    """The training rows, and the rows to predict as they are read together with them."""
    alone, both = load([train]), load([train, test])
    # Without a target, both files have the same columns, and are one table; equal files are read once.
    asked = both.table.tail(both.samples.test_rows) if both.inference is None else both.inference
    return alone, (asked if len(asked) else alone.table).reset_index(drop=True)


@dataclass
class ExternalRun:
    """A search, and the package that follows from it."""

    task: TaskSpec
    blueprint: Blueprint
    splits: DataSplits
    folder: Path
    sandbox: Sandbox

    @classmethod
    def of(cls, task: TaskSpec, samples: Samples, folder: Path) -> ExternalRun:
        """By the first plan of the rules."""
        request = SplitRequest(target=task.target, problem=task.problem, test_share=0.0, seed=task.seed)
        profile = plain_profile(samples, request)
        given = GuidelineInput(task=task, samples=samples, profile=profile)
        known = planned(given)
        blueprint = blueprint_of(given, proposal_of(given, known), known)
        return cls(task, blueprint, DataSplits.of(samples, profile.split), folder, Sandbox())

    def search(self, started: float) -> None:
        """Searches, chooses and fits, so that predictions end `budget` seconds after `started` (time.monotonic())."""
        budget = self.task.budget
        spent = time.monotonic() - started
        # The next programs read fewer rows, and are as slow on a machine that others use as well.
        starts = STARTS * max(START_SECONDS, 0.25 * spent)
        seconds = max(1.0, budget * (1 - FIT_SHARE - CHOICE_SHARE) - spent - starts)
        run = Search(self.folder / "search", self.blueprint, self.splits, self.sandbox).run(seconds)
        found = [one for one in run.results if one.name != "dummy"] or list(run.results)
        if not found:
            ended = "; ".join(one.message for one in (*run.failures, *run.violations))
            raise DeveloperError(f"Training left nothing: {ended}", code="no-candidate")
        results, rows = comparable(found, self.splits)
        left = max(1.0, started + budget - time.monotonic() - starts)
        trials = {one.name: one.trial for one in results}

        def taken(names: Collection[str]) -> float:
            return fit_seconds([trials[name] for name in names], self.blueprint) / left

        problem = problem_of(self.blueprint)
        chosen = select(results, problem.scorer(rows), self.blueprint.ensembling, taken)
        members, every = [trials[one.candidate.name] for one in chosen.members], len(self.splits.train)
        kept = fitted_rows(members, problem, run.rows or every, every, left)
        splits = sampled(self.blueprint, self.splits, kept) if kept else self.splits
        self.package = BuiltPackage(self.folder / "package", self.sandbox, self.blueprint)
        self.package.write(write_package(self.blueprint, chosen))
        fitting = time.monotonic()
        done = self.package.fit(splits.visible, self.folder / "fit", 5 * budget + 60)
        if not done.ok:
            raise DeveloperError(f"The final fit failed: {done.stderr[-2000:]}", code="fit-failed")
        _report(chosen, run.processor_seconds / max(run.seconds, 0.1), time.monotonic() - fitting)

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Predictions for rows, with `proba_<class>` for classes."""
        made = self.package.predict(rows, self.folder / "new")
        if isinstance(made, ExecutionResult):
            raise DeveloperError(f"Prediction failed: {made.stderr[-2000:]}", code="prediction-failed")
        return table_of(made)


def plain_profile(samples: Samples, request: SplitRequest) -> Profile:
    """Figures of columns and target, without leaks."""
    table, target = reload(samples).table, request.target
    columns = [one for one in samples.columns if one.name != target]
    holdout = HoldOut(
        rows=0, training_rows=len(table), strategy="none", seed=request.seed, digest="", reasons=("none is needed",)
    )
    return Profile(
        split=request,
        rows=len(table),
        holdout=holdout,
        columns=tuple(column_figures(one.name, table[one.name], one.kind) for one in columns),
        target=target_figures(target, table[target], learning_task(request.problem)) if target else None,
        duplicates=0,
        meta={},
    )


def table_of(made: Predictions) -> pd.DataFrame:
    """Predictions as the comparison reads them."""
    table = pd.DataFrame({"prediction": made.values})
    for place, name in enumerate(made.classes):
        assert made.probabilities is not None
        table[f"proba_{name}"] = made.probabilities[:, place]
    return table


def _report(chosen: Selection, use: float, fitted: float) -> None:
    members = ", ".join(f"{one.weight:.2f} {one.candidate.name}" for one in chosen.members)
    scores = f"{chosen.metric} {chosen.score:.5f} (apparent {chosen.apparent_score:.5f})"
    print(f"{scores} of {members}; {use:.2f} processors used, fitted in {fitted:.1f} s", file=sys.stderr)
