"""Three small sets with every kind of column, the blueprints of their projects, and projects on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.data import Reading
from palmette.automl.measure import metric_of
from palmette.automl.modalities.tabular import Blueprint, ColumnPlan, Dropped, Folds, write_project
from palmette.automl.selection import Expected, Found, Judge, Selection, read_candidates
from palmette.sandbox import ExecutionResult, Limits, Sandbox, python_command

ROWS = 240
COLUMNS = (
    ColumnPlan(name="Age (years)", kind="numeric", treatment="A tenth is missing", examples=(31.5, None, 50.0)),
    ColumnPlan(name="City", kind="categorical", categories=("Oslo", "Paris", "Rome"), examples=("Rome", "Bonn", None)),
    ColumnPlan(
        name="joined",
        kind="datetime",
        reading=Reading(form="date", formats=("%d.%m.%Y",)),
        examples=("2024-02-03", "2024-12-30T10:00:00Z"),
    ),
    ColumnPlan(name="remark", kind="text", treatment="Free words", examples=("bad cold dish", "good", None)),
    ColumnPlan(name="member?", kind="boolean", examples=(True, False)),
)
ALGORITHMS = {
    "binary": ("lightgbm", "knn", "linear"),
    "multiclass": ("xgboost", "random_forest", "linear"),
    "regression": ("lightgbm", "extra_trees", "mlp"),
}


def guests(task: str, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Rows whose target depends on every column but the date; some numbers are too large, cities may be many."""
    random = np.random.default_rng(seed)
    age = random.normal(40, 12, rows).round(1)
    city, member = random.choice(["Paris", "Rome", "Oslo"], rows), random.choice(["yes", "no"], rows)
    remark = random.choice(["very good soup", "bad cold dish", "nice place indeed", "slow and bad service"], rows)
    joined = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, rows), unit="D")
    signal = age / 10 + 2 * (city == "Rome") + (member == "yes") - 3 * pd.Series(remark).str.contains("bad").to_numpy()
    signal = signal + random.normal(0, 0.5, rows)
    table = pd.DataFrame(
        {"Age (years)": age, "City": city, "joined": joined.strftime("%d.%m.%Y"), "remark": remark, "member?": member}
    )
    table.loc[random.random(rows) < 0.1, "Age (years)"] = np.nan
    table.loc[random.random(rows) < 0.1, "City"] = None
    if task == "multiclass":
        table.loc[:1, "Age (years)"] = [1e200, -np.inf]
    if task == "regression":
        table["City"] = table["City"].fillna(pd.Series([f"Village {index}" for index in range(rows)]))
        table.loc[: rows // 3, "City"] = [f"Hamlet {index % 40}" for index in range(rows // 3 + 1)]
    target = {
        "binary": np.where(signal > np.quantile(signal, 0.7), "good", "bad"),
        "multiclass": np.digitize(signal, np.quantile(signal, [0.5, 0.85])).astype(str),
        "regression": np.exp(signal / 3),
    }
    return table.assign(target=target[task])


def blueprint_of(task: str, **changes: Any) -> Blueprint:
    common: dict[str, Any] = {
        "title": "guests",
        "target": "target",
        "task": "regression" if task == "regression" else "classification",
        "columns": COLUMNS,
        "dropped": (Dropped(name="id", reason="names the row"),),
        "rows": ROWS,
        "algorithms": ALGORITHMS[task],
        "folds": Folds(count=3, kind="random" if task == "regression" else "stratified"),
        "threads": 1,
        "trials": 1,
    }
    own: dict[str, Any] = {
        "binary": {"metric": "f1", "classes": ("bad", "good"), "positive": "good"},
        "multiclass": {"metric": "f1_macro", "classes": ("0", "1", "2")},
        "regression": {"metric": "rmsle", "transform": "log1p", "bounds": (0.1, 80.0)},
    }[task]
    return Blueprint(**(common | own | changes))


ONE_BY_ONE = """
import json, runpy, sys
for sys.argv in json.loads(sys.argv[1]):
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def training(out: str, *more: str) -> tuple[str, ...]:
    """The command of a training; folds are given, as a harness gives them."""
    return ("train.py", "--data", "train.csv", "--folds", "folds.csv", "--out", out, "--seconds", "100", *more)


@dataclass(frozen=True)
class Project:
    """A project on disk, and how its programs are run."""

    folder: Path
    blueprint: Blueprint
    data: pd.DataFrame
    sandbox: Sandbox

    def command(self, *arguments: str) -> tuple[tuple[str, ...], dict[str, str]]:
        return python_command(*arguments), {"PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1"}

    def run(self, *arguments: str) -> ExecutionResult:
        """A program of the project, in the sandbox."""
        argv, env = self.command(*arguments)
        return self.sandbox.run(argv, cwd=self.folder, env=env, limits=Limits(seconds=120))

    def run_all(self, *programs: tuple[str, ...]) -> str:
        """Programs of the project one after the other in one process, to import their libraries once; what is said."""
        done = self.run("-c", ONE_BY_ONE, json.dumps(programs))
        assert done.ok, done.stdout + done.stderr
        return done.stdout

    @property
    def folds(self) -> np.ndarray:
        return np.arange(len(self.data)) % self.blueprint.folds.count

    @property
    def judge(self) -> Judge:
        blueprint = self.blueprint
        truth = self.data["target"].to_numpy(str if blueprint.classes else float)
        metric = metric_of(blueprint.metric, blueprint.task)
        return Judge(
            metric, truth, classes=blueprint.classes, positive=blueprint.positive, restore=blueprint.restored
        )

    def found(self, out: str) -> Found:
        expected = Expected(self.folds, self.blueprint.outputs, probabilities=bool(self.blueprint.classes))
        return read_candidates(self.folder / out, expected)


def write(folder: Path, blueprint: Blueprint, data: pd.DataFrame) -> Path:
    for file in write_project(blueprint):
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_text(file.text, encoding="utf-8")
    data.to_csv(folder / "train.csv", index=False)
    folds = {"row": range(len(data)), "fold": np.arange(len(data)) % blueprint.folds.count}
    pd.DataFrame(folds).to_csv(folder / "folds.csv", index=False)
    return folder


@dataclass(frozen=True)
class Trained:
    """A project after a search and a choice, which has then predicted new rows and was trained again."""

    project: Project
    found: Found
    chosen: Selection
    again: Found
    """Of the same search; of the chosen members, where `is_repeated`."""
    told: str
    """What that search, or fit, has said."""
    is_repeated: bool
    new: pd.DataFrame
    said: pd.DataFrame
