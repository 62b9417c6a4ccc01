"""Loads a delivered package into this process, and explains predictions of any model by Shapley values."""

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.candidates import Blueprint
from palmette.automl.measure.metrics import Floats
from palmette.errors import UserError
from palmette.problems import error_of

_importing = threading.Lock()
BACKGROUND = 100  # number of background rows

Predict = Callable[[pd.DataFrame], Floats]  # from rows to outputs of the model, (n, k)


@dataclass(frozen=True)
class DeliveredPackage:
    """An imported package and its fitted model."""

    module: ModuleType
    model: Any
    blueprint: Blueprint

    @classmethod
    def load(cls, folder: Path, blueprint: Blueprint) -> "DeliveredPackage":
        """Imports the package of a delivered folder; raises UserError if it is missing."""
        if not (folder / blueprint.package / "__init__.py").is_file():
            raise error_of(UserError, "no-package", blueprint=blueprint, folder=str(folder))
        with _imported(folder, blueprint.package) as module:
            return cls(module, module.load(folder / "model"), blueprint)

    def predictions(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Returns a frame with `prediction` and, for classifications, the probability of each class."""
        made: pd.DataFrame = self.module.predictions(self.model, rows)
        return made


@contextmanager
def _imported(folder: Path, name: str) -> Iterator[ModuleType]:
    """Imports the package `name` from a folder.

    It stays in `sys.modules`, so that its models can be pickled, unless another package already has this name.
    """

    def forget() -> dict[str, ModuleType]:
        return {key: sys.modules.pop(key) for key in [*sys.modules] if key.partition(".")[0] == name}

    with _importing:
        loaded = sys.modules.get(name)
        if loaded and Path(str(loaded.__file__)).parent == folder.resolve() / name:
            yield loaded
            return
        others = forget()
        sys.path.insert(0, str(folder.resolve()))
        try:
            importlib.invalidate_caches()
            yield importlib.import_module(name)
        except BaseException:
            forget()
            raise
        finally:
            sys.path.remove(str(folder.resolve()))
            if others:
                forget()
                sys.modules.update(others)


def explanation(
    package: DeliveredPackage, rows: pd.DataFrame, background: pd.DataFrame, permutations: int
) -> pd.DataFrame:
    """Computes Shapley values; see `AutoMLRun.explain`."""
    blueprint = package.blueprint
    if not blueprint.target or blueprint.series:
        raise error_of(UserError, "nothing-to-explain")

    def predict(frame: pd.DataFrame) -> Floats:
        table = package.predictions(frame)
        columns = [f"probability_{name}" for name in blueprint.classes] or ["prediction"]
        return table[columns].to_numpy(float)

    some = background.sample(min(len(background), BACKGROUND), random_state=blueprint.seed).reset_index(drop=True)
    base, values = shapley_values(predict, rows[list(some)], some, permutations, blueprint.seed)
    totals = base + values.sum(axis=1)
    place, names = _explained(package, totals)
    each = np.arange(len(rows))
    made = pd.DataFrame(values[each, :, place], rows.index, list(some))
    beside = pd.DataFrame({"explained": names, "base": base[place]}, rows.index)
    return pd.concat([beside, made, pd.Series(totals[each, place], rows.index, name="prediction")], axis=1)


def _explained(package: DeliveredPackage, totals: Floats) -> tuple[np.ndarray, list[str]]:
    """The explained output of each row: the only one, the positive class, or the most probable one."""
    blueprint, classes = package.blueprint, package.blueprint.classes
    if not classes:
        return np.zeros(len(totals), int), [blueprint.target] * len(totals)
    if len(classes) == 2:
        positive = classes.index(blueprint.positive) if blueprint.positive in classes else 1
        return np.full(len(totals), positive), [classes[positive]] * len(totals)
    place = totals.argmax(axis=1)
    return place, [classes[one] for one in place]


def shapley_values(
    predict: Predict, rows: pd.DataFrame, background: pd.DataFrame, permutations: int, seed: int
) -> tuple[Floats, Floats]:
    """Returns the mean output of the background (k,), and contributions (n, columns, k) that add up to the difference.

    In random orders and their reverses, columns of background rows are replaced by those of the row, one by one.
    """
    random = np.random.default_rng(seed)
    base, outputs = predict(background).mean(axis=0), predict(rows)
    count = rows.shape[1]
    values = np.zeros((len(rows), count, len(base)))
    for place in range(len(rows)):
        orders = [random.permutation(count) for _ in range(-(-permutations // 2))]
        orders = [order for pair in orders for order in (pair, pair[::-1])]
        donors = random.integers(len(background), size=len(orders))
        moved = np.array([[order.argsort() < step for step in range(count + 1)] for order in orders])
        starts = background.iloc[np.repeat(donors, count + 1)]
        made = predict(_mixed(rows.iloc[[place]], starts, moved.reshape(-1, count)))
        steps = np.diff(made.reshape(len(orders), count + 1, -1), axis=1)
        for order, step in zip(orders, steps, strict=True):
            values[place, order] += step / len(orders)
    # The mean over the donors differs from that over the background; the difference is spread over the columns.
    return base, values + ((outputs - base - values.sum(axis=1)) / count)[:, None, :]


def _mixed(row: pd.DataFrame, donors: pd.DataFrame, moved: np.ndarray) -> pd.DataFrame:
    """Returns the donors, with the row's values where `moved` (m, columns) is true."""
    made = {}
    for place, name in enumerate(donors):
        column = donors[name].to_numpy(None if row[name].dtype == donors[name].dtype else object)
        made[name] = np.where(moved[:, place], row[name].to_numpy(column.dtype)[0], column)
    return pd.DataFrame(made)
