"""Hold-out, folds and origins of forecasts, in whole horizons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.candidates import SeriesUse
from palmette.automl.learners.forecasting.series import by_series, filled, grid_of, places_in, regular_tables
from palmette.automl.measure.metrics import Floats

VALIDATED = 0.5  # share of a series, at its end, over which folds are spread
MOST_WINDOWS = 64  # most windows of a fold; each has an origin of its own
MOST_ROWS = 20_000  # most rows per call of the delivered package
MOST_ORIGINS = 16  # most origins in the hold-out from which the delivered package forecasts
NEVER = -1  # fold number of rows that are used for training only
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RowPositions:
    """Positions of a table's rows in their series."""

    series: Ints  # (n,): number of the series
    step: Ints  # (n,): step in the series; -1 without a time stamp
    lengths: tuple[int, ...]  # number of steps by series

    @classmethod
    def of(cls, rows: pd.DataFrame, use: SeriesUse) -> "RowPositions":
        series, step = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
        numbered = rows.reset_index(drop=True)
        lengths = []
        for number, part in enumerate(by_series(numbered, use.series).values()):
            series[part.index] = number
            stamps = part[use.time].dropna().sort_values(kind="stable") if use.time else part.index.to_series()
            is_dated = bool(use.time) and len(stamps) > 0
            grid = grid_of(stamps, use.frequency) if is_dated else stamps.index
            step[stamps.index] = places_in(grid, stamps) if is_dated else np.arange(len(stamps))
            lengths.append(len(grid))
        return cls(series, step, tuple(lengths))


def held_out(places: RowPositions, use: SeriesUse, share: float) -> NDArray[np.bool_]:
    """(n,): whether a row is in the hold-out, the last whole horizons of its series; short series have none."""
    lengths, horizon = np.array(places.lengths), use.horizon
    windows = np.clip((share * lengths / horizon).astype(int), 1, np.maximum(lengths // horizon - 2, 1))
    starts = lengths - windows * horizon
    return np.asarray((places.step >= starts[places.series]) & (starts >= horizon + 2)[places.series])


def folds_of(places: RowPositions, use: SeriesUse, count: int) -> Ints:
    """(n,): the fold of each row: stretches of whole horizons, spread over the later part of each series."""
    folds = np.full(len(places.step), NEVER, dtype=np.int64)
    for number, length in enumerate(places.lengths):
        here = places.series == number
        for fold, (start, end) in enumerate(stretches(length, use.horizon, count)):
            folds[here & (places.step >= start) & (places.step < end)] = fold
    return folds


def stretches(length: int, horizon: int, count: int) -> Iterator[tuple[int, int]]:
    """Yields the first step of each fold of a series and the step after its last; empty folds if it is too short.

    >>> list(stretches(100, 10, 2))
    [(55, 75), (80, 100)]
    """
    room = min(VALIDATED * length, length - 2 * horizon)
    windows = int(min(MOST_WINDOWS, max(room // (count * horizon), 1)))
    apart = max(windows * horizon, int(room // count))
    for fold in range(count):
        end = length - (count - 1 - fold) * apart
        start = end - windows * horizon
        yield (start, end) if start >= 2 else (0, 0)


class ForecastWindow(NamedTuple):
    """A horizon of the hold-out, forecast from the rows before it."""

    origin: int  # number of the origin, the same for windows of several series
    name: str  # name of the series
    step: int  # first step


@dataclass(frozen=True)
class HoldoutWindows:
    """The windows of the hold-out, with their true values."""

    train: pd.DataFrame
    holdout: pd.DataFrame
    use: SeriesUse

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The regular rows of each series, training and hold-out together."""
        return self._regular(pd.concat([self.train, self.holdout], ignore_index=True))

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first step of the hold-out by series."""
        known = {name: len(table) for name, table in self._regular(self.train).items()}
        return {name: start for name, start in known.items() if len(self.tables[name]) - start >= self.use.horizon}

    @cached_property
    def windows(self) -> list[ForecastWindow]:
        """By origin and series; evenly spread if there are many origins."""
        horizon = self.use.horizon
        counts = {name: (len(self.tables[name]) - start) // horizon for name, start in self.starts.items()}
        most = max(counts.values(), default=0)
        picks = np.unique(np.linspace(0, most - 1, min(MOST_ORIGINS, most)).round().astype(int))
        return [
            ForecastWindow(origin, name, start + int(pick) * horizon)
            for origin, pick in enumerate(picks)
            for name, start in self.starts.items()
            if pick < counts[name]
        ]

    def model_inputs(self) -> list[pd.DataFrame]:
        """Returns the history and the known future values at each origin; many series are split into several tables."""
        some, found = max(1, MOST_ROWS // (self.use.context + self.use.horizon)), []
        for _, group in groupby(self.windows, lambda one: one.origin):
            rows = [self.history(one) for one in group]
            found += [pd.concat(rows[at : at + some], ignore_index=True) for at in range(0, len(rows), some)]
        return found

    @cached_property
    def truth(self) -> Floats:
        """(m,): true values by window, step and target, in this order; NaN if unknown."""
        targets, horizon = list(self.use.targets), self.use.horizon
        parts = [self.tables[one.name][targets].iloc[one.step : one.step + horizon] for one in self.windows]
        return np.concatenate([*(one.to_numpy(float).ravel() for one in parts), np.zeros(0)])

    @cached_property
    def units(self) -> Ints:
        """(m,): the resampling unit of each value: an origin, or a window if there are few origins."""
        origins = np.array([one.origin for one in self.windows], dtype=np.int64)
        units = np.arange(len(origins)) if len({*origins}) < MOST_ORIGINS // 2 else origins
        return np.repeat(units, self.use.horizon * len(self.use.targets)).astype(np.int64)

    @cached_property
    def scales(self) -> Floats:
        """(m,): the training error of the seasonal naive forecast, for the series and target of each value."""
        known = naive_errors({name: self.tables[name].iloc[:start] for name, start in self.starts.items()}, self.use)
        return np.concatenate([*(np.tile(known[one.name], self.use.horizon) for one in self.windows), np.zeros(0)])

    def _regular(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return regular_tables(rows, self.use.series, self.use.time, self.use.frequency)

    def history(self, window: ForecastWindow) -> pd.DataFrame:
        """Returns the rows of a series before a window, and the known values in it."""
        use, step = self.use, window.step
        first = max(0, step - use.context)
        rows = self.tables[window.name].iloc[first : step + (use.horizon if use.known else 0)].copy()
        end = step - first
        for names, values in ((use.targets, rows[[*use.targets]].ffill()), (use.past, rows[[*use.past]])):
            rows[[*names]] = values.head(end)  # rows after the origin have no values
        if use.time:
            rows.insert(0, use.time, rows.index)
        if use.series:
            rows.insert(0, use.series, window.name)
        return rows.reset_index(drop=True)


def naive_errors(tables: Mapping[str, pd.DataFrame], use: SeriesUse) -> dict[str, list[float]]:
    """Returns the mean absolute difference of values a season apart, by series and target, of regular rows; of
    neighbours if the series is too short."""
    return {name: [_naive_error(table[one], use.season) for one in use.targets] for name, table in tables.items()}


def _naive_error(values: pd.Series, season: int) -> float:
    numbers = filled(values)
    lag = season if len(numbers) > season else 1
    error = float(np.abs(numbers[lag:] - numbers[:-lag]).mean()) if len(numbers) > lag else 0.0
    return max(error, 1e-3 * float(np.abs(numbers).mean()) if len(numbers) else 0.0, 1e-12)
