"""The delivered package of a forecast: facts for its templates, an example history, and requests to its endpoint."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.candidates import Blueprint, SeriesUse
from palmette.automl.learners.forecasting.series import regular_tables, steps_from
from palmette.automl.measure.metrics import Predictions
from palmette.automl.problems.forecasting.windows import MOST_ROWS, HoldoutWindows
from palmette.automl.problems.problem import EndpointRequest

TEMPLATES = Path(__file__).parent / "templates"
ASKED = 3  # number of requests that are compared and timed


def name_of(target: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", target.casefold()).strip("_")[:40].strip("_") or "series"
    return f"{'m_' if plain[0].isdigit() else ''}{plain}_forecast"


def band(target: str, quantile: float) -> str:
    """Returns the name of a quantile's column.

    >>> band("load", 0.1)
    'load_p10'
    """
    return f"{target}_p{100 * quantile:g}"


def facts(use: SeriesUse) -> Mapping[str, Any]:
    """Returns the template variables that only forecasts have."""
    columns = [use.time or "step", *([use.series] if use.series else [])]
    targets = [name for target in use.targets for name in (target, *(band(target, one) for one in use.quantiles))]
    what = f"{use.horizon} rows of {', '.join(use.targets[:6])}{', ...' if len(use.targets) > 6 else ''}"
    return {
        "use": use,
        "about": f"Forecasts the next {what}" + (f" of each {use.series}" if use.series else ""),
        "made": [*columns, *targets],
        "most_rows": MOST_ROWS + use.context + use.horizon,
    }


def examples(blueprint: Blueprint, use: SeriesUse) -> pd.DataFrame:
    """Returns a short history of made-up values; no row of the data is in it."""
    count = max(30, 2 * use.season if use.season <= 60 else 30)
    made: dict[str, Any] = {}
    for one in blueprint.columns:
        values = [value for value in one.examples if value is not None] or [0.0]
        if one.name == use.time:
            first = float(values[0]) if one.kind == "number" else pd.Timestamp(str(values[0])).tz_localize(None)
            made[one.name] = steps_from(first, count, use.frequency)
        elif one.name == use.series:
            made[one.name] = [str(values[0])] * count
        else:
            made[one.name] = np.resize(np.array(values, dtype=float if one.kind == "number" else object), count)
    return pd.DataFrame(made)


def requests(windows: HoldoutWindows, made: Predictions) -> tuple[EndpointRequest, ...]:
    """Returns the histories of the first series at the first origins, with their forecasts."""
    use, size, first = windows.use, windows.use.horizon * len(windows.use.targets), dict[int, int]()
    for place, one in enumerate(windows.windows):
        first.setdefault(one.origin, place)
    asked = [(windows.windows[place], np.arange(place * size, place * size + size)) for place in first.values()]
    return tuple(request_of(windows.history(one), made.take(places), use) for one, places in asked[:ASKED])


def request_of(rows: pd.DataFrame, made: Predictions, use: SeriesUse) -> EndpointRequest:
    """Returns a request with the rows and the forecasts of the rows that follow."""
    answer, size = list[dict[str, Any]](), use.horizon * len(use.targets)
    for number, (name, table) in enumerate(regular_tables(rows, use.series, use.time, use.frequency).items()):
        present = np.flatnonzero(table[list(use.targets)].notna().any(axis=1))
        end = int(present[-1]) + 1 if use.known and len(present) else len(table)
        index = steps_from(table.index[0], end + use.horizon, use.frequency)[end:]
        answer += _answer(use, name, index, made.take(np.arange(number * size, (number + 1) * size)))
    return EndpointRequest(rows, {"forecast": answer})


def _answer(use: SeriesUse, name: str, index: pd.Index, made: Predictions) -> list[dict[str, Any]]:
    """Returns the rows of a forecast as JSON."""
    values = made.values.astype(float).reshape(use.horizon, len(use.targets))
    bands = None if made.quantiles is None else made.quantiles.reshape(use.horizon, len(use.targets), -1)
    stamps = [stamp.isoformat() if hasattr(stamp, "isoformat") else float(stamp) for stamp in index]
    rows = pd.DataFrame({use.time or "step": stamps, **({use.series: name} if use.series else {})})
    for place, target in enumerate(use.targets):
        rows[target] = values[:, place]
        for number, quantile in enumerate(use.quantiles):
            rows[band(target, quantile)] = None if bands is None else bands[:, place, number]
    return [{str(key): one for key, one in row.items()} for row in rows.to_dict("records")]
