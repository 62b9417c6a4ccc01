"""The adapter that a comparison of AutoML systems calls: from two CSV files to predictions within a budget.

`python -m palmette.bench.external TRAIN_CSV TEST_FEATURES_CSV TARGET TASK METRIC BUDGET OUT_PREDICTIONS_CSV`

TASK is `tabular_classification`, `tabular_regression` or `tabular_clustering`, BUDGET seconds of wall time for
everything. The output has the column `prediction`, a row for each test row in order, and of classes one column
`proba_<class>` each. The environment may name PEERS_SEED, PEERS_POSITIVE, the positive class, and PEERS_CLUSTERS, how
many clusters there are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from palmette.automl.data import Column
from palmette.automl.material import Material
from palmette.automl.measure import Predictions
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.modalities.clustering.draft import draft as draft_clusters
from palmette.automl.modalities.tabular.draft import Goal, draft
from palmette.automl.project import Project
from palmette.automl.selection import select
from palmette.errors import DeveloperError
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.temporary import temporary_folder

if TYPE_CHECKING:
    import pandas as pd

START_SECONDS = 2.5
"""What a program takes at least to import its libraries: twice, to train and to predict."""
CHOICE_SHARE = 0.04
"""Of the budget: choosing members, and predicting with them."""
TRACK: Literal["traditional"] = "traditional"
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
    from palmette.automl.data.load import load

    loaded = load([given.train, given.test])
    # Without a target, rows to learn from and rows to answer for have the same columns, and are one table.
    first, last = loaded.given_test
    rows = loaded.table if loaded.predict is not None else loaded.table.iloc[:first]
    asked = loaded.predict if loaded.predict is not None else loaded.table.iloc[first:last]
    blueprint = drafted(loaded.dataset.columns, rows, given.task, given.target, given.metric)
    with temporary_folder() as folder:
        run = Run(folder, blueprint, rows.reset_index(drop=True))
        run.train(started, given.budget)
        run.predict(asked).to_csv(given.out, index=False)


def drafted(columns: Sequence[Column], rows: pd.DataFrame, task: str, target: str, metric: str) -> Blueprint:
    """The blueprint that follows from the data by rules."""
    seed = int(os.environ.get("PEERS_SEED", "0"))
    if task == "tabular_clustering":
        clusters = int(os.environ.get("PEERS_CLUSTERS") or 0) or None
        return draft_clusters(columns, rows, clusters, seed=seed)
    positive = os.environ.get("PEERS_POSITIVE") or None
    kind: Literal["classification", "regression"] = (
        "classification" if task == "tabular_classification" else "regression"
    )
    return draft(Goal(kind, target, metric, positive), columns, rows, seed=seed)


class Run:
    """A project in a folder: written, trained, chosen from, asked."""

    def __init__(self, folder: Path, blueprint: Blueprint, rows: pd.DataFrame) -> None:
        self.folder, self.blueprint, self.modality = folder, blueprint, modality_of(blueprint)
        self.material = Material(rows, rows.iloc[:0], None)
        self.project = Project(folder, Sandbox())
        modality = self.modality
        for files in (modality.preparation_files(), modality.track_files(TRACK), modality.shared_files([TRACK])):
            self.project.write(files)

    def train(self, started: float, budget: float) -> None:
        """Searches until `budget` seconds after `started`, a value of time.monotonic(); leaves what is chosen."""
        self.project.lay_out(self.material, self.blueprint)
        # Starting took this program as long as it takes the next, on a machine that others use as well.
        spent = time.monotonic() - started
        seconds = max(1.0, budget * (1 - CHOICE_SHARE) - spent - 2 * max(START_SECONDS, spent))
        done = self.project.train(TRACK, self.blueprint, seconds)
        print(done.stdout, file=sys.stderr)
        found = self.modality.candidates(self.folder / "tracks" / TRACK, self.material)
        if not found.candidates:
            told = "; ".join(violation.message for violation in found.violations)
            ended = f"Training {done.ended} {done.note}: {told}\n{done.stderr[-2000:]}"
            raise DeveloperError(ended, code="no-candidate")
        asked = [one for one in found.candidates if one.trial.algorithm in self.blueprint.algorithms]
        chosen = select(asked or found.candidates, self.modality.judge(self.material))
        members = ", ".join(f"{member.weight:.2f} {member.name}" for member in chosen.members)
        left = started + budget - time.monotonic()
        said = f"{chosen.metric} {chosen.score:.5f} (single best {chosen.single_score:.5f})"
        print(f"{said} of {members}; {left:.1f} s left", file=sys.stderr)
        (self.folder / "tracks" / TRACK / "members.json").write_text(chosen.model_dump_json(), encoding="utf-8")

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Predictions for rows, with `proba_<class>` of classes."""
        made = self.project.predict(rows, self.blueprint, self.folder / "new", model=f"tracks/{TRACK}")
        if isinstance(made, ExecutionResult):
            raise DeveloperError(f"Prediction failed: {made.stderr[-2000:]}", code="prediction-failed")
        return table_of(made)


def table_of(made: Predictions) -> pd.DataFrame:
    """Predictions as the comparison reads them."""
    import pandas as pd

    table = pd.DataFrame({"prediction": made.values})
    for place, name in enumerate(made.classes):
        assert made.probabilities is not None
        table[f"proba_{name}"] = made.probabilities[:, place]
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
