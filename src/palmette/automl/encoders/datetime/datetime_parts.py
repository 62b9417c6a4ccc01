"""Numeric parts of timestamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


def datetime_parts(frame: pd.DataFrame, parts: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Extracts parts of timestamps: `month`, `day`, `weekday` (0 is Monday), `hour` with minutes, `days` since 1970."""
    made = {}
    for name, wanted in parts.items():
        times = pd.DatetimeIndex(frame[name])
        days = (times - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1)
        for part in wanted:
            value = {"days": days, "hour": times.hour + times.minute / 60}.get(part, getattr(times, part, None))
            made[f"{name}_{part}"] = np.asarray(value, dtype="float64")
    return pd.DataFrame(made, index=frame.index)
