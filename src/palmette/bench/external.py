"""The adapter that a comparison of AutoML systems calls: from two CSV files to predictions within a budget.

`python -m palmette.bench.external TRAIN_CSV TEST_FEATURES_CSV TARGET TASK METRIC BUDGET OUT_PREDICTIONS_CSV`

TASK is `tabular_classification` or `tabular_regression`, BUDGET seconds of wall time for everything. The output has
the column `prediction`, a row for each test row in order, and of classes one column `proba_<class>` each. The
environment may name PEERS_SEED and PEERS_POSITIVE, the positive class.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.measure import metric_of
from palmette.automl.modalities.tabular import Blueprint, write_project
from palmette.automl.modalities.tabular.draft import Goal, class_names, draft
from palmette.automl.modalities.tabular.folds import folds_of
from palmette.automl.selection import Expected, Judge, read_candidates, select
from palmette.errors import DeveloperError
from palmette.sandbox import ExecutionResult, Limits, Sandbox, python_command

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

START_SECONDS = 2.5
"""What a program takes at least to import its libraries: twice, to train and to predict."""
CHOICE_SHARE = 0.04
"""Of the budget: choosing members, and predicting with them."""


def main(arguments: list[str]) -> None:
    """Runs with the arguments of the module's docstring."""
    started = time.monotonic()
    train, test, target, task, metric, budget, out = arguments
    kind = task.rsplit("_", 1)[-1]
    if kind not in ("classification", "regression"):
        raise SystemExit(f"{task!r} is not supported: tabular_classification or tabular_regression")
    from palmette.automl.data.load import load

    loaded = load([train, test])
    assert loaded.predict is not None
    goal = Goal(kind, target, metric, os.environ.get("PEERS_POSITIVE") or None)  # type: ignore[arg-type]  # checked above
    seed = int(os.environ.get("PEERS_SEED", "0"))
    blueprint = draft(goal, loaded.dataset.columns, loaded.table, seed=seed)
    with tempfile.TemporaryDirectory(prefix="palmette-bench-") as name:
        project = Run(Path(name), blueprint)
        project.train(loaded.table, started, float(budget))
        project.predict(loaded.predict).to_csv(out, index=False)


class Run:
    """A project in a folder: written, trained, chosen from, asked."""

    def __init__(self, folder: Path, blueprint: Blueprint) -> None:
        self.folder, self.blueprint = folder, blueprint
        for file in write_project(blueprint):
            (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / file.path).write_text(file.text, encoding="utf-8")

    def train(self, rows: pd.DataFrame, started: float, budget: float) -> None:
        """Searches until `budget` seconds after `started`, a value of time.monotonic(); leaves `members.json`."""
        blueprint, folds = self.blueprint, self.folds(rows)
        rows.to_csv(self.folder / "train.csv", index=False)
        # Starting took this program as long as it takes the next, on a machine that others use as well.
        spent = time.monotonic() - started
        seconds = max(1.0, budget * (1 - CHOICE_SHARE) - spent - 2 * max(START_SECONDS, spent))
        given = ["--data", "train.csv", "--folds", "folds.csv", "--out", "model", "--seconds", f"{seconds:.1f}"]
        done = self._python("train.py", *given, seconds=2 * budget + 60)
        print(done.stdout, file=sys.stderr)
        expected = Expected(folds, blueprint.outputs, probabilities=bool(blueprint.classes))
        found = read_candidates(self.folder / "model", expected)
        if not found.candidates:
            told = "; ".join(violation.message for violation in found.violations)
            ended = f"Training {done.ended} {done.note}: {told}\n{done.stderr[-2000:]}"
            raise DeveloperError(ended, code="no-candidate")
        chosen = select(found.candidates, self._judge(rows[blueprint.target]), blueprint.algorithms)
        members = ", ".join(f"{member.weight:.2f} {member.name}" for member in chosen.members)
        left = started + budget - time.monotonic()
        said = f"{blueprint.metric} {chosen.score:.5f} (single best {chosen.single_score:.5f})"
        print(f"{said} of {members}; {left:.1f} s left", file=sys.stderr)
        (self.folder / "model" / "members.json").write_text(chosen.model_dump_json(indent=1), encoding="utf-8")

    def _judge(self, target: pd.Series) -> Judge:
        blueprint = self.blueprint
        return Judge(
            metric_of(blueprint.metric, blueprint.task),
            class_names(target).to_numpy(str) if blueprint.classes else target.to_numpy(float),
            classes=blueprint.classes,
            positive=blueprint.positive,
            restore=blueprint.restored,
        )

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Predictions for rows, with `proba_<class>` of classes."""
        import pandas as pd

        rows.to_csv(self.folder / "new.csv", index=False)
        done = self._python("predict.py", "--input", "new.csv", "--output", "said.csv", seconds=600)
        if not done.ok:
            raise DeveloperError(f"Prediction failed: {done.stderr[-2000:]}", code="prediction-failed")
        said = pd.read_csv(self.folder / "said.csv", dtype={"prediction": str} if self.blueprint.classes else None)
        return said.rename(columns=lambda name: name.replace("probability_", "proba_", 1))

    def folds(self, rows: pd.DataFrame) -> NDArray[np.int64]:
        """The fold of each row (n,), as `folds.csv` has it."""
        import pandas as pd

        folds = folds_of(rows, self.blueprint)
        pd.DataFrame({"row": range(len(rows)), "fold": folds}).to_csv(self.folder / "folds.csv", index=False)
        return folds

    def _python(self, *arguments: str, seconds: float) -> ExecutionResult:
        environment = {"PYTHONPATH": str(self.folder)}
        limits = Limits(seconds=seconds, file_mb=4096)
        return Sandbox().run(python_command(*arguments), cwd=self.folder, env=environment, limits=limits)


if __name__ == "__main__":
    main(sys.argv[1:])
