"""Public holidays of a country as covariates that are known ahead."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from holidays import country_holidays

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class PublicHolidays:
    """Counts the holidays around each step of a regular series."""

    country: str  # ISO code, such as DE, or that of a part of the country, such as DE-BY

    def counts(self, stamps: pd.DatetimeIndex) -> np.ndarray:
        """Returns (n, 3): the holidays of the day of each stamp, of the next day and of the one before; of whole steps
        where these are longer than a day, which stamps at the ends of months end and others begin."""
        days = np.unique(stamps.to_numpy("datetime64[D]"))
        step = max(np.median(np.diff(days)).astype("timedelta64[D]"), DAY) if len(days) > 1 else DAY
        starts = np.concatenate([[days[0] - step], days, [days[-1] + step]])
        if step > DAY and stamps.is_month_end.all():
            starts = np.concatenate([[starts[0] - step], starts[:-1]]) + DAY
        ends = starts + DAY if step == DAY else np.append(starts[1:], starts[-1] + step)
        dates = dates_of(self.country, days[0].astype(object).year - 1, days[-1].astype(object).year + 1)
        found = np.searchsorted(dates, ends) - np.searchsorted(dates, starts)
        around = np.column_stack([found[1:-1], found[2:], found[:-2]])
        return around[np.searchsorted(days, stamps.to_numpy("datetime64[D]"))].astype(float)


@cache
def dates_of(country: str, first: int, last: int) -> np.ndarray:
    """Returns the sorted dates of holidays in these years; raises NotImplementedError for an unknown country."""
    name, _, part = country.partition("-")
    known = country_holidays(name, subdiv=part or None, years=range(first, last + 1))
    return np.array(sorted(known), dtype="datetime64[D]")
