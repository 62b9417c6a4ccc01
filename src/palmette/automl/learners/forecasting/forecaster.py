"""Forecasts of tables: the rows that follow those of one or several series, with prediction intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from palmette.automl.learners.forecasting.series import (
    Series,
    SeriesColumns,
    calendar,
    filled,
    regular_tables,
    scales_of,
    steps_from,
)

HELD = 0.25  # share of a series, at its end, whose errors give the intervals
CONTEXTS = 600  # most forecasts whose errors are measured
ENOUGH = 50  # errors per interval; with fewer, those of neighbouring steps are added
MIRRORED = 8.0  # independent errors that count as much as mirrored ones
UNRELATED = 0.05  # correlation below which later errors are independent of earlier ones


@dataclass(eq=False, repr=False)
class Forecaster(BaseEstimator):
    """Forecasts the next rows of each series in a table.

    Intervals are conformal: they come from the errors on the latest rows of a model fitted to the rows before them.
    """

    estimator: Any  # fits regular series; forecasts (n, horizon), the values after each of n contexts
    columns: SeriesColumns  # the roles of the columns
    horizon: int  # rows to forecast
    quantiles: Sequence[float] = ()  # quantiles to forecast beside the values, such as 0.1 and 0.9
    holidays: Any = None  # counts the holidays of time stamps

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Fits the rows of a table, in any order."""
        tables = self.tables_of(X)
        words = X[[*self.columns.known, *self.columns.past]].select_dtypes(exclude=["number", "bool"])
        values = {name: sorted(cells.dropna().unique()) for name, cells in words.items()}
        self.codes_ = {name: {one: code for code, one in enumerate(some)} for name, some in values.items()}
        series = [one for table, name in self._parts(tables) for one in self.series_of(table, name)]
        self.ends_ = {name: table.index[-1] for name, table in tables.items() if len(table)}
        self.lowest_ = 0.0 if min(one.values.min() for one in series) >= 0 else -np.inf
        self.offsets_ = self._offsets(series) if self.quantiles else {}
        self.estimator_ = clone(self.estimator).fit(series, self.horizon)
        return self

    def predict(self, X: pd.DataFrame) -> pd.DataFrame:
        """Forecasts the next rows of each series, with a column `<target>_p<percent>` for each quantile.

        Rows after the last one with a target are not history: they hold future values of the `known` columns.
        """
        targets = [*self.columns.targets]
        if not X[targets].notna().to_numpy().any():
            raise ValueError(f"No row has a value of {', '.join(targets)}.")
        made = [self._forecast(table, name) for table, name in self._parts(self.tables_of(X))]
        return pd.concat(made, ignore_index=True)

    def tables_of(self, X: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Returns the regular rows of each series by its id."""
        columns = self.columns
        return regular_tables(X[columns.used], columns.series, columns.time, columns.frequency)

    def series_of(self, table: pd.DataFrame, name: str, ahead: pd.DataFrame | None = None) -> list[Series]:
        """Returns the targets of the series `name`, by its regular rows, with its covariates.

        `ahead` are the rows after them with future values of the `known` columns.
        """
        stamps = table.index[0], len(table) + self.horizon, self.columns.frequency
        index = steps_from(*stamps)
        rows = table if ahead is None else pd.concat([table, ahead])
        whole = rows.reset_index(drop=True).reindex(range(len(index)))
        known = [filled(self._numbers(one, whole[one])) for one in self.columns.known]
        parts = calendar(*stamps) if self.columns.time else np.zeros((len(index), 0))
        known += [self.holidays.counts(index)] if self.holidays else []
        past = [filled(self._numbers(one, table[one])) for one in self.columns.past]
        return [
            Series(
                f"{name}/{target}" if name else target,
                filled(table[target]),
                np.column_stack([parts, *known]),
                np.column_stack([np.zeros((len(table), 0)), *past]),
            )
            for target in self.columns.targets
        ]

    def _parts(self, tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[pd.DataFrame, str]]:
        found = [(table, name) for name, table in tables.items() if len(table)]
        if not found:
            raise ValueError("There are no rows with a time stamp.")
        yield from found

    def _numbers(self, name: str, values: pd.Series) -> pd.Series:
        return values.map(self.codes_[name]).astype(float) if name in self.codes_ else values

    def _forecast(self, table: pd.DataFrame, name: str) -> pd.DataFrame:
        """Forecasts the next rows of one series."""
        end = len(table)
        if self.columns.known:
            present = np.flatnonzero(table[list(self.columns.targets)].notna().any(axis=1))
            end = int(present[-1]) + 1 if len(present) else end
        series = self.series_of(table.iloc[:end], name, table.iloc[end : end + self.horizon])
        made = np.maximum(self.estimator_.predict(series), self.lowest_)
        index = steps_from(table.index[0], end + self.horizon, self.columns.frequency)[end:]
        found: dict[str, Any] = {self.columns.time or "step": index}
        if self.columns.series:
            found[self.columns.series] = name
        for target, one, values in zip(self.columns.targets, series, made, strict=True):
            found[target] = values
            usual = self.offsets_[""] * float(np.std(one.values)) if self.quantiles else ()  # of a series that is new
            for quantile, offsets in zip(self.quantiles, self.offsets_.get(one.key, usual), strict=True):
                found[f"{target}_p{100 * quantile:g}"] = np.maximum(values + offsets, self.lowest_)
        return pd.DataFrame(found)

    def _offsets(self, series: Sequence[Series]) -> dict[str, np.ndarray]:
        """Returns error quantiles (quantiles, horizon) by series; the empty key pools all series, in units of scale."""
        horizon, scales = self.horizon, scales_of(series)
        cuts = [max(1, len(one.values) - max(horizon, round(HELD * len(one.values)))) for one in series]
        early = [one.until(cut, horizon) for one, cut in zip(series, cuts, strict=True)]
        model = clone(self.estimator).fit(early, horizon)
        ends = [range(cut, len(one.values) - horizon + 1) for one, cut in zip(series, cuts, strict=True)]
        stride = max(1, -(-sum(map(len, ends)) // CONTEXTS))
        asked = [(one, end) for one, some in zip(series, ends, strict=True) for end in some[::-1][::stride]]
        if not asked:
            asked = [(one, len(one.values) - horizon) for one in series if len(one.values) > horizon]
        made = model.predict([one.until(end, horizon) for one, end in asked])
        errors: dict[str, list[np.ndarray]] = {}
        for (one, end), values in zip(asked, made, strict=True):
            found = one.values[end : end + horizon] - values
            errors.setdefault(one.key, []).append(found)
            errors.setdefault("", []).append(found / scales[one.key])
        whole = self._quantiles_of(np.array(errors.pop("")))
        own = {key: self._quantiles_of(np.array(some)) for key, some in errors.items() if len(some) * horizon >= ENOUGH}
        return {one.key: own.get(one.key, whole * scales[one.key]) for one in series} | {"": whole}

    def _quantiles_of(self, errors: np.ndarray) -> np.ndarray:
        """Returns quantiles (quantiles, horizon) of errors (n, horizon), with neighbouring steps if they are few.

        Overlapping forecasts err alike, so a drift may look like a bias: the fewer errors are independent, the more
        count their mirror images, and the wider is the interval.
        """
        width = min(self.horizon, -(-ENOUGH // len(errors)) // 2)
        found = np.empty((len(self.quantiles), self.horizon))
        for step in range(self.horizon):
            near, count = errors[:, max(0, step - width) : step + width + 1], independent(errors[:, step])
            # By Weibull's rule, a new error lies below a quantile as often as its name says, also with few errors.
            own, mirrored = (np.quantile(one, self.quantiles, method="weibull") for one in (near, [near, -near]))
            share = MIRRORED / (MIRRORED + count)
            found[:, step] = (share * mirrored + (1 - share) * own) * np.sqrt(1 + 1 / count)
        return found


def independent(errors: np.ndarray) -> float:
    """Returns how many independent errors are worth as much as these (n,), which follow one another.

    >>> round(independent(np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])), 1)
    2.9
    """
    products = np.correlate(errors, errors, "full")[len(errors) - 1 :]
    related = products / (products[0] or 1.0)
    ends = np.flatnonzero(related < UNRELATED)
    return len(errors) / (1 + 2 * float(related[1 : ends[0] if len(ends) else None].sum()))
