"""Refits a delivered model on new rows, and replaces it if the new one is better by more than noise."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.candidates import Blueprint, Strategy
from palmette.automl.endpoint.delivered import delivered, delivered_blueprint, opened
from palmette.automl.endpoint.folder import CACHES, add
from palmette.automl.problems.problem import problem_of
from palmette.automl.profile import Profile
from palmette.automl.project.built import FITTED, MODEL, BuiltPackage
from palmette.automl.samples import Samples
from palmette.automl.samples.load import as_asked, load
from palmette.automl.splitting.data_splits import DataSplits
from palmette.documents import Model
from palmette.errors import MachineError, UserError
from palmette.problems import error_of
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.temporary import temporary_folder

SHARE = 0.25  # share of the new rows that is held out for the comparison
FEWEST = 20  # fewest held-out rows for a comparison
SECONDS = 3600.0  # time limit of a fit
NEW = "model_new"


class Retraining(Model):
    """Scores of both models on the same rows, which neither was trained on."""

    metric: str
    old: float
    new: float
    low: float
    """Lower end of the 95 % bootstrap interval of the new score."""
    high: float
    rows: int
    """Rows of the file with a target."""
    held_out: int
    repeated: int
    """Rows of the file that the old model was trained on; none is held out."""
    replaced: bool
    """Whether the new model is better by more than noise; it is then refitted on all rows and delivered."""
    folder: str


def retrain(run: str, data: Path, table: str = "", tell: Callable[[str], object] = str) -> Retraining:
    """Compares the delivered model of a run with one fitted on the new rows of a file; `tell` receives progress.

    Raises:
        UserError: The file lacks columns, has unknown classes, or has too few new rows.
        MachineError: The package fails.
    """
    folder, blueprint = delivered(run), delivered_blueprint(opened(run))
    if not problem_of(blueprint).draws_rows:
        raise error_of(UserError, "retraining-unsupported", blueprint=blueprint, folder=str(folder), data=data)
    rows, beside = _rows(data, table, blueprint)
    repeated = _repeated(run, rows, blueprint)
    test = _held_out(rows, ~repeated, blueprint)
    train, holdout = rows[~test].reset_index(drop=True), rows[test].reset_index(drop=True)
    with temporary_folder() as scratch:
        shutil.copytree(folder, scratch / "package", ignore=shutil.ignore_patterns(*CACHES))
        package = BuiltPackage(scratch / "package", Sandbox(), blueprint)

        def fit(known: pd.DataFrame, others: list[pd.DataFrame]) -> None:
            tell(f"fitting on {len(known)} rows")
            _sound(package.fit(_visible(known, others, blueprint), scratch / "train", SECONDS, NEW))

        fit(train, [holdout, beside])
        old, new = (_sound(package.predict(holdout, scratch / name, name)) for name in (MODEL, NEW))
        problem, splits = problem_of(blueprint), DataSplits(train, holdout, None)
        score = next(iter(problem.scores(splits, new, old)), None)
        if score is None or score.metric != blueprint.metric:
            raise error_of(UserError, "too-few-rows/metric", blueprint=blueprint, why=problem.unmeasured(splits))
        found = Retraining(
            metric=score.metric,
            old=score.value if score.baseline is None else score.baseline,
            new=score.value,
            low=score.low,
            high=score.high,
            rows=len(rows),
            held_out=len(holdout),
            repeated=int(repeated.sum()),
            replaced=problem.better(splits, new, old),
            folder=str(folder),
        )
        if found.replaced:
            fit(rows, [beside])
            _replace(folder, package.folder / NEW, found)
    return found


def _visible(rows: pd.DataFrame, others: list[pd.DataFrame], blueprint: Blueprint) -> pd.DataFrame:
    """The training rows, and other rows without their target where the problem sees all rows."""
    if not problem_of(blueprint).sees_all_rows:
        return rows
    context = pd.concat(others, ignore_index=True).drop(columns=blueprint.target, errors="ignore")
    return DataSplits(rows, rows.iloc[:0], None, context=context).visible


def _rows(data: Path, table: str, blueprint: Blueprint) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The typed rows of a file: those with a target, and those without."""
    loaded = load([data], table, [one.array.asked for one in blueprint.columns if one.array])
    target = blueprint.target or blueprint.labels
    needed = [*(one.name for one in blueprint.columns), *([target] if target else [])]
    if absent := [name for name in needed if name not in loaded.table]:
        raise error_of(UserError, "columns-missing", data=str(data), absent=absent)
    times = (one.name for one in blueprint.columns if one.reading.form == "unix")
    loaded = as_asked(loaded, blueprint.threshold, *times)
    known = loaded.table[target].notna() if target else pd.Series(True, index=loaded.table.index)
    rows = loaded.table[known]
    try:
        problem_of(blueprint).encoded_target(rows, Strategy())
    except ValueError as error:
        raise error_of(UserError, "target-differs", data=str(data), error=error) from error
    return rows.reset_index(drop=True), loaded.table[~known].reset_index(drop=True)


def _repeated(run: str, rows: pd.DataFrame, blueprint: Blueprint) -> NDArray[np.bool_]:
    """(n,): whether the old model was trained on the row; False where the data of the run are gone."""
    made = opened(run)
    try:
        known = DataSplits.of(made.artefact("samples", Samples), made.artefact("profile", Profile).split).train
    except UserError:
        return np.zeros(len(rows), dtype=bool)
    columns = [name for name in (*(one.name for one in blueprint.columns), blueprint.target) if name in rows]
    digests, trained = (
        pd.util.hash_pandas_object(part[columns].astype(str), index=False).to_numpy() for part in (rows, known)
    )
    return np.isin(digests, trained)


def _held_out(rows: pd.DataFrame, fresh: NDArray[np.bool_], blueprint: Blueprint) -> NDArray[np.bool_]:
    """(n,): whether the row is held out: by time, by group or at random, as in the run's folds."""
    by = blueprint.folds.by if blueprint.folds.by in rows else ""
    units: NDArray[Any] = np.random.default_rng(blueprint.seed).permutation(len(rows))
    if by and blueprint.folds.kind == "time":
        units = rows[by].rank(method="first", na_option="top").to_numpy()
    elif by and blueprint.folds.kind == "grouped":
        units = units[pd.factorize(rows[by].astype(str))[0]]
    usable = np.sort(units[fresh])
    count = round(SHARE * len(usable))
    held = fresh & (units >= usable[len(usable) - count]) if count else np.zeros(len(rows), dtype=bool)
    if held.sum() < FEWEST or held.all():
        raise error_of(
            UserError, "too-few-rows", held=int(held.sum()), fresh=int(fresh.sum()), least=round(FEWEST / SHARE)
        )
    return held


def _replace(folder: Path, fitted: Path, found: Retraining) -> None:
    contents = {name: (fitted / name).read_bytes() for name in FITTED}
    facts = json.loads(contents["metadata.json"]) | {"score": found.new, "score_before": found.old}
    contents["metadata.json"] = json.dumps(facts, indent=2, ensure_ascii=False).encode() + b"\n"
    add(folder, {f"{MODEL}/{name}": content for name, content in contents.items()})


def _sound(done: Any) -> Any:
    """The result of a program of the package; raises MachineError if it failed."""
    if isinstance(done, ExecutionResult) and not done.ok:
        raise error_of(MachineError, "retraining-failed", done=done, error_line=done.error_line[:500])
    return done
