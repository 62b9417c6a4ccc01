"""Series: rows in any order become regular series without gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Series:
    """One variable over time."""

    key: str  # the column, preceded by the id of the series if there are several
    values: np.ndarray  # (steps,), without gaps
    known: np.ndarray  # (steps + horizon, k): calendar, and covariates known ahead
    past: np.ndarray  # (steps, p): covariates known up to the last step

    def until(self, end: int, horizon: int) -> "Series":
        """Returns what is known after `end` steps."""
        return Series(self.key, self.values[:end], self.known[: end + horizon], self.past[:end])


@dataclass(frozen=True)
class SeriesColumns:
    """The roles of the columns in a table of series."""

    targets: Sequence[str]  # columns to forecast
    time: str = ""  # time stamps or step numbers; empty if each row is a step
    frequency: str = "1"  # distance between rows as a pandas offset or a number
    series: str = ""  # the column that names the series; empty for one series
    known: Sequence[str] = ()  # columns whose values are known ahead
    past: Sequence[str] = ()  # columns whose values are known up to the last row

    @property
    def used(self) -> list[str]:
        names = (self.time, self.series, *self.targets, *self.known, *self.past)
        return list(dict.fromkeys(one for one in names if one))


@lru_cache(maxsize=64)  # many series have the same stamps
def steps_from(first: Any, count: int, frequency: str) -> pd.Index:
    """Returns `count` stamps from the first one on; a number as frequency counts steps."""
    try:
        return pd.Index(float(str(first)) + float(frequency) * np.arange(count))
    except ValueError:
        return pd.date_range(first, periods=count, freq=frequency)


def grid_of(stamps: pd.Series, frequency: str) -> pd.Index:
    """Returns regular stamps that cover sorted ones, with their most common phase, else the mean one."""
    first, last = stamps.iloc[0], stamps.iloc[-1]
    offset: Any = None if frequency.replace(".", "", 1).isdigit() else pd.tseries.frequencies.to_offset(frequency)
    try:
        step: Any = float(frequency) if offset is None else pd.Timedelta(offset)
    except ValueError:  # months and the like have no fixed length
        return pd.date_range(offset.rollback(first.normalize()), offset.rollforward(last.normalize()), freq=offset)
    phases = (stamps - first) % step
    phase = phases.mode().iloc[0]
    if (phases == phase).mean() < 0.5:
        centre = step * (np.angle(np.exp(2j * np.pi * (phases / step).to_numpy()).mean()) / (2 * np.pi) % 1)
        phase = phases.iloc[int((phases - centre).abs().argmin())]
    first = first + phase - (step if phase > step / 2 else 0 * step)
    return steps_from(first, max(round((last - first) / step), 0) + 1, frequency)


def places_in(grid: pd.Index, stamps: pd.Series) -> np.ndarray:
    """Returns the position of the nearest step for each stamp (n,)."""
    return np.asarray(grid.get_indexer(pd.Index(stamps), method="nearest"))


def regular(rows: pd.DataFrame, time: str, frequency: str) -> pd.DataFrame:
    """Returns one row for each step of a series: repeated stamps are averaged, gaps have missing values.

    Rows without a stamp are left out; an empty `time` makes each row a step. `frequency` is a pandas offset, or the
    distance of numbered steps.
    """
    if not time:
        return rows.reset_index(drop=True)
    rows = rows[rows[time].notna()].sort_values(time, kind="stable")
    if rows.empty:
        return rows.drop(columns=time)
    values, grid = rows.drop(columns=time), steps_from(rows[time].iloc[0], len(rows), frequency)
    if grid.equals(pd.Index(rows[time])):  # this is much quicker
        return values.set_axis(grid)
    grid = grid_of(rows[time], frequency)
    places = places_in(grid, rows[time])
    if len(np.unique(places)) < len(places):
        is_number = pd.api.types.is_numeric_dtype
        values = values.groupby(places).agg({name: "mean" if is_number(values[name]) else "last" for name in values})
    else:
        values = values.set_axis(places)
    return values.reindex(range(len(grid))).set_axis(grid)


def by_series(rows: pd.DataFrame, series: str) -> Mapping[str, pd.DataFrame]:
    """Returns the rows of each series by its id; all rows under an empty id if there is one series."""
    if not series:
        return {"": rows}
    return {str(name): part.drop(columns=series) for name, part in rows.groupby(rows[series].astype(str), sort=True)}


def regular_tables(rows: pd.DataFrame, series: str, time: str, frequency: str) -> dict[str, pd.DataFrame]:
    """Returns the regular rows of each series by its id."""
    return {name: regular(part, time, frequency) for name, part in by_series(rows, series).items() if len(part)}


@lru_cache(maxsize=64)
def calendar(first: Any, count: int, frequency: str) -> np.ndarray:
    """Returns (n, 5): hour, weekday, day of month, day of year and month of each stamp; (n, 0) for numbered steps."""
    stamps = steps_from(first, count, frequency)
    if not isinstance(stamps, pd.DatetimeIndex):
        return np.zeros((len(stamps), 0))
    hours = stamps.hour + stamps.minute / 60 + stamps.second / 3600
    return np.column_stack([hours, stamps.dayofweek, stamps.day, stamps.dayofyear, stamps.month]).astype(float)


def filled(values: pd.DataFrame | pd.Series) -> np.ndarray:
    """Fills gaps with the last value before them, else the first one after them, else 0."""
    return values.ffill().bfill().fillna(0.0).to_numpy(dtype=float)


def scales_of(series: Sequence[Series]) -> dict[str, float]:
    """Returns the standard deviation of each series, at least a hundredth of the median one."""
    found = {one.key: float(np.std(one.values)) for one in series}
    floor = 0.01 * float(np.median(list(found.values()))) or 1e-9
    return {key: max(scale, floor) for key, scale in found.items()}
