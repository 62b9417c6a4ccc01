"""Forecasts from one origin, with a model that is built at the first origin and reused at later ones."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from palmette.errors import MachineError

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "package"
SPARE = 100
"""Rows passed to the model beyond those that a forecast uses."""


def forecast_at_origin(train: Path, history: Path, targets: str, metric: str, seconds: float) -> pd.DataFrame:
    """Returns the rows that follow a history: a column for each target, series one after the other.

    Args:
        train: CSV file of the rows to learn from, the same at each origin.
        history: CSV file of all rows before the origin.
        targets: Columns, separated by commas.
        metric: Metric of the run; ignored if it is not a forecasting metric.
        seconds: Budget of the run.

    Raises:
        UserError: a column is missing, or the series are too short.
        MachineError: no package was delivered.
    """
    import pandas as pd

    folder, series = Path(os.environ["PEERS_STATE"]) / FOLDER, os.environ.get("PEERS_SERIES_ID", "")
    if not folder.exists():
        _build(train, folder, targets, metric, seconds)
    module = _package(folder)
    model = module.load(folder / "model")
    rows = pd.read_csv(history, dtype=str, keep_default_na=False)
    groups = rows.groupby(series) if series else rows.groupby(lambda _: 0)
    made: pd.DataFrame = module.predictions(model, groups.tail(last_rows(model[-1]) + SPARE))
    return made


def last_rows(estimator: Any) -> int:
    """Returns the rows at the end of a series that a forecast depends on."""
    members = [one for _, one in getattr(estimator, "members", ())] or [getattr(estimator, "estimator", None)]
    nested = [last_rows(one) for one in members if one is not None]
    return max(nested) if nested else int(getattr(estimator, "lookback", 0) or estimator.lags)


def _build(train: Path, folder: Path, targets: str, metric: str, seconds: float) -> None:
    """Builds a model from all training rows, without a hold-out."""
    from palmette.automl.api import automl
    from palmette.automl.task_spec.vocabulary import vocabulary

    given, known = os.environ, vocabulary().metrics.get(metric)
    os.environ["PALMETTE_MEMORY"] = "off"  # earlier runs on the same set are no part of what is compared
    automl(
        data=train,
        target=targets,
        problem="forecasting",
        horizon=given["PEERS_HORIZON"],
        time=given["PEERS_TIME"],
        metric=metric if known and "forecasting" in (known.problem, *known.also) else "",
        split="0%",
        budget=seconds,
        seed=int(given.get("PEERS_SEED", "0")),
        out=folder,
        frequency=given.get("PEERS_FREQUENCY", ""),
        series=given.get("PEERS_SERIES_ID", ""),
    )
    if not folder.exists():
        raise MachineError(f"No package was delivered to {str(folder)!r}.", "See the run.", code="not-delivered")


def _package(folder: Path) -> ModuleType:
    import importlib
    import sys

    name = next(one.parent.name for one in sorted(folder.glob("*/__init__.py")) if one.parent.name != "tests")
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)
