"""Features computed from other columns of the same row, and the parts of timestamps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd


def add_columns(
    frame: pd.DataFrame, made: Mapping[str, tuple[Callable[..., np.ndarray], Sequence[str]]]
) -> pd.DataFrame:
    """Adds columns computed from others, including those added before; values that are not finite become missing."""
    for name, (make, columns) in made.items():
        given = [numbers_of(frame[column]) for column in columns]
        with np.errstate(all="ignore"):
            values = make.reduce(given) if isinstance(make, np.ufunc) and len(given) > 1 else make(*given)
        frame = frame.assign(**{name: np.where(np.isfinite(values), values, np.nan)})
    return frame


def numbers_of(column: pd.Series) -> np.ndarray:
    """Returns numbers as they are and timestamps as days since 1970."""
    if column.dtype.kind == "M":
        return (column.to_numpy("datetime64[ns]") - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    return column.to_numpy("float64")


def mean(*values: np.ndarray) -> np.ndarray:
    return np.mean(values, axis=0)


def log(values: np.ndarray) -> np.ndarray:
    """Returns log(1 + |x|) with the sign of x."""
    return np.sign(values) * np.log1p(np.abs(values))


def missing(*values: np.ndarray) -> np.ndarray:
    """Counts the missing values."""
    return np.isnan(values).sum(axis=0).astype("float64")


def hour(days: np.ndarray) -> np.ndarray:
    """Returns the hour of the day, with a fraction, from days since 1970."""
    return days % 1 * 24


def weekday(days: np.ndarray) -> np.ndarray:
    """Returns the weekday, 0 for Monday, from days since 1970."""
    return (np.floor(days) + 3) % 7


def day(days: np.ndarray) -> np.ndarray:
    """Returns the day of the month, 1 to 31, from days since 1970."""
    return pd.to_datetime(days, unit="D").day.to_numpy("float64")


def month(days: np.ndarray) -> np.ndarray:
    """Returns the month of the year, 1 to 12, from days since 1970."""
    return pd.to_datetime(days, unit="D").month.to_numpy("float64")


def datetime_parts(frame: pd.DataFrame, parts: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Extracts parts of timestamps: `month`, `day`, `weekday` (0 is Monday), `hour` with minutes, `days` since 1970."""
    made: dict[str, Any] = {}
    for name, wanted in parts.items():
        times, days = frame[name].dt, (frame[name] - pd.Timestamp(0)) / pd.Timedelta(days=1)
        known = {"days": days, "hour": times.hour + times.minute / 60}
        made |= {f"{name}_{part}": known.get(part, getattr(times, part, None)) for part in wanted}
    return pd.DataFrame(made, index=frame.index, dtype="float64")


def first_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Extracts the first number from texts such as `90 min`; missing where there is none."""
    return frame.apply(lambda texts: texts.astype("string").str.extract(r"(\d+(?:\.\d+)?)")[0]).astype("float64")
