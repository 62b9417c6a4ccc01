"""Tests own code in the sandbox for the estimator contract: `python -m palmette.automl.estimator_contract FOLDER`.

The folder holds `job.json` (blueprint and candidate), `rows.parquet` (typed training rows), and `own/`, the modules.
If a class breaks the contract or raises an exception, the program exits with a traceback.
"""

import json
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from palmette.automl.calls import Call, build
from palmette.automl.candidates import Blueprint, Candidate, Strategy
from palmette.automl.composition import encoder_of, learner_of, reader_of
from palmette.automl.problems.problem import Problem, problem_of

MOST_FEATURES = 50
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Tolerances for repeated outputs of a row: sums over many rows may add up in a different order."""
SEVERAL = 5  # number of rows that are also predicted individually
HALF = 2


class ContractError(Exception):
    """Raised if a class breaks the contract; the message names the part."""


def main(folder: Path) -> None:
    """Checks the candidate's own classes."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    blueprint, candidate = Blueprint.model_validate(job["blueprint"]), Candidate.model_validate(job["candidate"])
    sys.path.insert(0, str(folder / "own"))
    rows = pd.read_parquet(folder / "rows.parquet")
    reader = build(reader_of(blueprint))
    frame = reader.fit_transform(rows)
    if candidate.features:
        nothing = pd.DataFrame([[None] * rows.shape[1]], columns=rows.columns, index=[len(rows)])
        check_features(build(Call(candidate.features)), frame, reader.transform(nothing))
    if "." in candidate.learner:
        problem = problem_of(blueprint)
        target = problem.encoded_target(rows, candidate.strategy)
        encoded = build(encoder_of(candidate, blueprint)).fit_transform(problem.inputs(frame, None), target)
        outputs = partial(sound_outputs, problem, candidate.strategy)
        check_learner(build(learner_of(candidate, blueprint)), np.asarray(encoded), target, outputs)


def check_features(transformer: Any, frame: pd.DataFrame, nothing: pd.DataFrame) -> None:
    """Requires that a transformer adds float columns that depend only on the row and on what `fit` learned.

    `nothing` is a row of missing values.
    """
    before, fitted = frame.copy(), clone(transformer).fit(frame)
    made = fitted.transform(frame)
    _require(isinstance(made, pd.DataFrame), f"transform returns {type(made).__name__}, not a DataFrame")
    _require(len(made) == len(frame) and made.index.equals(frame.index), "transform changes the rows or their index")
    names = list(made.columns)
    _require(0 < len(names) <= MOST_FEATURES, f"transform returns {len(names)} columns, not 1 to {MOST_FEATURES}")
    _require(len({*names}) == len(names) and all(isinstance(name, str) for name in names), f"the names are {names}")
    taken = sorted({*names} & {*map(str, frame.columns)})
    _require(not taken, f"{taken} are columns of X; return the added ones only")
    strange = {name: str(dtype) for name, dtype in made.dtypes.items() if dtype.kind != "f"}
    _require(not strange, f"columns are not float: {strange}")
    endless = [name for name in names if np.isinf(made[name].to_numpy()).any()]
    _require(not endless, f"columns are infinite in some rows: {endless}")
    _require(frame.equals(before), "transform changes X")
    for place in range(0, len(frame), -(-len(frame) // SEVERAL)):
        _same(fitted.transform(frame.iloc[[place]]), made.iloc[[place]], f"row {place} alone")
    _same(fitted.transform(frame.iloc[::-1]).iloc[::-1], made, "rows in reverse order")
    empty = fitted.transform(nothing).to_numpy(dtype=float)
    _require(not np.isinf(empty).any(), "a row without any value becomes infinite")
    again = clone(transformer).fit(frame.iloc[::HALF]).transform(frame)
    _require(list(again.columns) == names, "the columns depend on the rows that `fit` was given")
    _same(pickle.loads(pickle.dumps(fitted)).transform(frame), made, "after pickling")


def check_learner(learner: Any, features: Any, target: Any, outputs: Callable[[Any, Any], Any]) -> None:
    """Requires that an estimator's outputs are sound and depend only on the row and the fit.

    `outputs` takes a fitted estimator and rows, and raises `ContractError` if the outputs are unsound.
    """
    before, fitted = np.array(features, dtype=float), clone(learner).fit(features, target)
    _require(np.array_equal(np.asarray(features, dtype=float), before, equal_nan=True), "fit changes X")
    made = outputs(fitted, features)
    for place in range(0, len(made), -(-len(made) // SEVERAL)):
        _same(outputs(fitted, features[place : place + 1]), made[place : place + 1], f"row {place} alone")
    again = clone(learner).fit(features, target)
    _same(outputs(again, features), made, "after a second fit of the same rows")
    _same(outputs(pickle.loads(pickle.dumps(fitted)), features), made, "after pickling")


def sound_outputs(problem: Problem, strategy: Strategy, fitted: Any, features: Any) -> Any:
    """Returns a fitted estimator's outputs in the form that the search uses."""
    if problem.blueprint.classes:
        _require(hasattr(fitted, "classes_"), "fit does not set `classes_`, the sorted class numbers")
    made = problem.outputs(fitted, features, strategy)
    wrong = problem.output_error(made)
    _require(not wrong, f"it {wrong}")
    _require(len(made) == len(features), f"it predicts {len(made)} of {len(features)} rows")
    return made


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ContractError(message)


def _same(found: Any, due: Any, when: str) -> None:
    values, expected = (np.asarray(one, dtype=float) for one in (found, due))
    close = partial(np.allclose, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    same = values.shape == expected.shape and close(values, expected)
    _require(same, f"{when}, a row gives other values than before")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
