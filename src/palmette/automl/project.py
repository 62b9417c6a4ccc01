"""A delivered project at work: written into a folder, trained and asked in the sandbox, read back by the harness."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palmette.automl.data import Dataset
from palmette.automl.measure import Predictions, metric_of
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.selection import Expected, Judge
from palmette.engine import TextFile
from palmette.sandbox import ExecutionResult, Limits, Sandbox, python_command

if TYPE_CHECKING:
    import pandas as pd

TRIALS = "trials.json"
FILE_MB = 4096
"""Largest file that a project may write."""
WATCHED = 1.0
"""Seconds between two looks at what training has written."""


@dataclass(frozen=True)
class Material:
    """The rows of a run, in the trusted process; `holdout` never leaves it with its target."""

    train: pd.DataFrame
    holdout: pd.DataFrame
    groups: NDArray[np.int64] | None
    """(n,): equal for training rows that stay together."""

    @classmethod
    def of(cls, dataset: Dataset, profile: Profile) -> Material:
        """The rows, from the files as they are now.

        Raises:
            UserError: a file has changed since the run began.
        """
        from palmette.automl.data.cut import cut_for
        from palmette.automl.data.load import reload

        loaded = reload(dataset)
        split = cut_for(loaded, profile.aim)
        train, holdout = (loaded.table.iloc[rows].reset_index(drop=True) for rows in (split.train, split.holdout))
        return cls(train, holdout, split.groups)

    def folds(self, blueprint: Blueprint) -> NDArray[np.int64]:
        """(n,): the fold of each training row."""
        from palmette.automl.modalities.tabular.folds import folds_of

        return folds_of(self.train, blueprint, self.groups)

    def sample(self, blueprint: Blueprint, most: int) -> Material:
        """A part of the training rows that has every class as often as it allows."""
        if len(self.train) <= most:
            return self
        random = np.random.default_rng(blueprint.seed)
        order = random.permutation(len(self.train))
        if blueprint.classes:
            codes = truth_of(self.train.iloc[order], blueprint)
            rank = np.zeros(len(order), dtype=int)
            for name in np.unique(codes):
                rank[codes == name] = np.arange(int((codes == name).sum()))
            order = order[np.argsort(rank >= max(2, blueprint.folds.count), kind="stable")]
        rows = np.sort(order[:most])
        groups = None if self.groups is None else self.groups[rows]
        return Material(self.train.iloc[rows].reset_index(drop=True), self.holdout.iloc[:0], groups)


def truth_of(rows: pd.DataFrame, blueprint: Blueprint) -> NDArray[np.generic]:
    """The target (n,): class names as text, or numbers."""
    from palmette.automl.modalities.tabular.draft import class_names

    target = rows[blueprint.target]
    return class_names(target).to_numpy(str) if blueprint.classes else target.to_numpy(float)


def judge_of(blueprint: Blueprint, rows: pd.DataFrame) -> Judge:
    """Who scores outputs for these rows."""
    return Judge(
        metric_of(blueprint.metric, blueprint.task),
        truth_of(rows, blueprint),
        classes=blueprint.classes,
        positive=blueprint.positive,
        restore=blueprint.restored,
    )


def expected_of(blueprint: Blueprint, folds: NDArray[np.int64]) -> Expected:
    """What out-of-fold predictions must be of."""
    return Expected(folds, blueprint.outputs, probabilities=bool(blueprint.classes))


class Project:
    """A project in a folder, run in the sandbox only."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder, self.sandbox = folder, sandbox

    def write(self, files: Iterable[TextFile]) -> None:
        """Writes its files."""
        for file in files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")

    def python(self, *arguments: str, seconds: float) -> ExecutionResult:
        """Runs one of its modules in its folder, for as many seconds at most."""
        limits = Limits(seconds=seconds, file_mb=FILE_MB)
        env = {"PYTHONPATH": str(self.folder)}
        return self.sandbox.run(python_command(*arguments), cwd=self.folder, env=env, limits=limits)

    def lay_out(self, material: Material, blueprint: Blueprint, place: str = "") -> None:
        """Writes the training rows, as files of the user look, and their folds into a folder of the project."""
        from palmette.automl.modalities.tabular.folds import write_folds
        from palmette.automl.modalities.tabular.rows import write_rows

        folder = self.folder / place
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(material.train, blueprint, folder / f"train.{blueprint.source.format}")
        write_folds(material.folds(blueprint), str(folder / "folds.csv"))

    def train(
        self,
        track: str,
        blueprint: Blueprint,
        seconds: float,
        place: str = "",
        told: Callable[[str], None] = lambda _: None,
    ) -> ExecutionResult:
        """Searches a track for some seconds on the rows that were laid out in `place`; leaves `tracks/<track>` there."""
        out = f"{place}/tracks/{track}".lstrip("/")
        rows, folds = (f"{place}/{name}".lstrip("/") for name in (f"train.{blueprint.source.format}", "folds.csv"))
        given = ["--data", rows, "--folds", folds, "--out", out, "--track", track, "--seconds", f"{seconds:.1f}"]
        with _Watch(self.folder / out / TRIALS, track, seconds, told):
            return self.python("train.py", *given, seconds=2 * seconds + 60)

    def predict(
        self, rows: pd.DataFrame, blueprint: Blueprint, scratch: Path, model: str = "model"
    ) -> Predictions | ExecutionResult:
        """What the fitted model in the folder `model` says of rows, without their target; how it ended if it fails."""
        import pandas as pd

        from palmette.automl.modalities.tabular.rows import write_rows

        scratch.mkdir(parents=True, exist_ok=True)
        given, said = scratch / "asked", scratch / "said.csv"
        write_rows(rows.drop(columns=blueprint.target, errors="ignore"), blueprint, given)
        done = self.python(
            "predict.py", "--model", model, "--input", str(given), "--output", str(said), seconds=900
        )
        if not done.ok:
            return done
        return read_predictions(pd.read_csv(said, dtype=str, keep_default_na=False), blueprint, len(rows))


def read_predictions(table: pd.DataFrame, blueprint: Blueprint, count: int) -> Predictions:
    """Predictions from what `predict.py` wrote.

    Raises:
        ValueError: they are not those of so many rows.
    """
    if len(table) != count:
        raise ValueError(f"{len(table)} predictions for {count} rows")
    if not blueprint.classes:
        values = table["prediction"].to_numpy(float)
        if not np.isfinite(values).all():
            raise ValueError("a prediction is not a finite number")
        return Predictions(values)
    chances = table[[f"probability_{name}" for name in blueprint.classes]].to_numpy(float)
    return Predictions(table["prediction"].to_numpy(str), chances, blueprint.classes)


class _Watch:
    """Tells, while training goes on, how many candidates were tried and how the best one did."""

    def __init__(self, path: Path, track: str, seconds: float, told: Callable[[str], None]) -> None:
        self._path, self._track, self._told = path, track, told
        self._end = time.monotonic() + seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(WATCHED):
            self._told(f"{self._track}: {self._said()}, {max(0.0, self._end - time.monotonic()):.0f} s left")

    def _said(self) -> str:
        try:
            trials: Sequence[dict[str, object]] = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there yet, or half written
            return "starting"
        scores = [one["score"] for one in trials if isinstance(one.get("score"), int | float)]
        best = f", best so far {max(scores):.4f}" if scores else ""  # type: ignore[type-var]  # numbers, see above
        return f"{len(trials)} candidates tried{best}"
