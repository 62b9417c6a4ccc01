"""The adapter that a comparison of AutoML systems calls: from two CSV files to predictions within a budget.

`python -m palmette.bench.external TRAIN_CSV TEST_FEATURES_CSV TARGET TASK METRIC BUDGET OUT_PREDICTIONS_CSV`

TASK is `tabular_classification`, `tabular_regression` or `tabular_clustering`, BUDGET seconds of wall time for
everything. The output has the column `prediction`, a row for each test row in order, and for classes one column
`proba_<class>` each. The environment may name PEERS_SEED, PEERS_POSITIVE, the positive class, and PEERS_CLUSTERS, the
number of clusters. Plan, search, selection and package are those of a run without a language model; no rows are held
out, and no leaks are looked for, as the comparison keeps rows of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.actors.comparator.fitting import fit_seconds
from palmette.automl.actors.guideline_writer.offline import GuidelineInput, basis_of, blueprint_of
from palmette.automl.candidates import Blueprint
from palmette.automl.measure import Predictions
from palmette.automl.problems.registry import problem_of
from palmette.automl.profile import Profile
from palmette.automl.profile.figures import column_figures, target_figures
from palmette.automl.project import BuiltPackage, write_package
from palmette.automl.samples import DataSplits, HoldOut, Samples, SplitRequest
from palmette.automl.samples.load import Loaded, load
from palmette.automl.search.runs import Search
from palmette.automl.search.selection import select
from palmette.automl.task_spec.spec import Clusters, TaskSpec
from palmette.automl.trials import Selection
from palmette.errors import DeveloperError
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.temporary import temporary_folder

if TYPE_CHECKING:
    import pandas as pd

FIT_SHARE = 0.15
"""Of the budget, kept for the final fit."""
STARTS = 2.0
"""Programs beside the search that import their libraries: the final fit, and the predictions."""
START_SECONDS = 2.0
CHOICE_SHARE = 0.03
"""Of the budget, for the choice of members."""
TASKS = ("tabular_classification", "tabular_regression", "tabular_clustering")


def main(arguments: list[str]) -> None:
    """Runs with the arguments of the module's docstring."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m palmette.bench.external", description=__doc__)
    for name in ("train", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("target")
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("metric")
    parser.add_argument("budget", type=float)
    parser.add_argument("out", type=Path)
    given = parser.parse_args(arguments)
    problem = given.task.removeprefix("tabular_")
    train, asked = loaded_apart(given.train, given.test)
    task = TaskSpec(
        target="" if problem == "clustering" else given.target,
        problem=problem,
        metric=given.metric if problem != "clustering" else "",
        positive=os.environ.get("PEERS_POSITIVE", "") if problem == "classification" else "",
        clusters=Clusters(count=int(os.environ.get("PEERS_CLUSTERS") or 0) or None),
        budget=given.budget,
        seed=int(os.environ.get("PEERS_SEED", "0")),
    )
    with temporary_folder() as folder:
        run = Run.of(task, train.samples, folder)
        run.search(started)
        run.predict(asked).to_csv(given.out, index=False)


def loaded_apart(train: Path, test: Path) -> tuple[Loaded, pd.DataFrame]:
    """The training rows, and the rows to predict as they are read together with them."""
    both = load([train, test])
    first, last = both.given_test
    # Without a target, both files have the same columns, and are one table.
    asked = both.inference if both.inference is not None else both.table.iloc[first:last]
    return load([train]), asked.reset_index(drop=True)


@dataclass
class Run:
    """A search, and the package that follows from it."""

    task: TaskSpec
    blueprint: Blueprint
    splits: DataSplits
    folder: Path
    sandbox: Sandbox

    @classmethod
    def of(cls, task: TaskSpec, samples: Samples, folder: Path) -> Run:
        """By the first plan of the rules."""
        request = SplitRequest(target=task.target, problem=task.problem, share=0.0, seed=task.seed)
        profile = plain_profile(samples, request)
        given = GuidelineInput(task=task, samples=samples, profile=profile)
        blueprint = blueprint_of(given, basis_of(given))
        return cls(task, blueprint, DataSplits.of(samples, profile), folder, Sandbox())

    def search(self, started: float) -> None:
        """Searches, chooses and fits, so that predictions end `budget` seconds after `started` (time.monotonic())."""
        budget = self.task.budget
        # Starting took this program as long as it takes the next, on a machine that others use as well.
        spent = time.monotonic() - started
        starts = STARTS * max(START_SECONDS, 0.7 * spent)
        seconds = max(1.0, budget * (1 - FIT_SHARE - CHOICE_SHARE) - spent - starts)
        run = Search(self.folder / "search", self.blueprint, self.splits, self.sandbox).run(seconds)
        found = [one for one in run.load.results if one.name != "dummy"] or list(run.load.results)
        if not found:
            ended = "; ".join(one.message for one in (*run.failures, *run.load.violations))
            raise DeveloperError(f"Training left nothing: {ended}", code="no-candidate")
        scorer, folds = problem_of(self.blueprint).scorer(self.splits), self.blueprint.folds.count
        left = max(1.0, started + budget - time.monotonic() - starts)
        taken = {one.name: fit_seconds(one.trial.seconds, folds) / left for one in found}
        chosen = select(found, scorer, self.blueprint.ensembling, taken)
        self.package = BuiltPackage(self.folder / "package", self.sandbox, self.blueprint)
        self.package.write(write_package(self.blueprint, chosen))
        fitting = time.monotonic()
        done = self.package.fit(self.splits.train, self.folder / "fit", 5 * budget + 60)
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
    from palmette.automl.samples.load import reload

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
        target=target_figures(target, table[target], request.problem) if target else None,
        duplicates=0,
        memory=0,
        meta=(),
    )


def table_of(made: Predictions) -> pd.DataFrame:
    """Predictions as the comparison reads them."""
    import pandas as pd

    table = pd.DataFrame({"prediction": made.values})
    for place, name in enumerate(made.classes):
        assert made.probabilities is not None
        table[f"proba_{name}"] = made.probabilities[:, place]
    return table


def _report(chosen: Selection, use: float, fitted: float) -> None:
    members = ", ".join(f"{one.weight:.2f} {one.candidate.name}" for one in chosen.members)
    scores = f"{chosen.metric} {chosen.score:.5f} (single best {chosen.single_score:.5f})"
    print(f"{scores} of {members}; {use:.2f} processors used, fitted in {fitted:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
