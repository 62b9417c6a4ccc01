"""Properties of a forecast that the data determine: stamps, frequency, horizon and seasons."""

import importlib.util
import re

import numpy as np
import pandas as pd

from palmette.automl.candidates import SeriesUse
from palmette.automl.learners.forecasting.series import filled, regular_tables
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.forecasting.windows import RowPositions
from palmette.automl.splitting.data_splits import SplitRequest
from palmette.errors import MachineError, UserError, counted
from palmette.problems import error_of

FEWEST = 3  # fewest horizons in a series: to train, to validate and to hold out
SHARE = 0.05  # share of a series that is the horizon if neither the request nor a season gives one
MOST_CONTEXT = 1500  # most rows of history in a request to the model, unless seasons are longer
MOST_SERIES = 20  # most series that seasons are looked for in, the longest ones
MIN_CORRELATION = 0.2
NEARLY = 0.9
"""Share of the strongest season's correlation at which a shorter season counts; the longer one is its multiple."""
REGULAR, NEAR = 0.5, 0.1
"""Share of equal distances from which stamps are regular; of others, how far the median may be from a round step."""
REPEATED, UNIQUE = 0.2, 0.01
"""Share of repeated stamps from which rows may be of several series; most repeated stamps within one of these."""
SECONDS = (1, 5, 10, 15, 30, 60, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
"""Round steps."""
USUAL_SEASONS: dict[str, tuple[float, ...]] = {"day": (1.0, 7.0), "week": (7.0, 365.25), "year": (365.25,)}
"""Lengths of usual seasons in days, for steps shorter than a day, of a day, and longer."""


def read_use(rows: pd.DataFrame, request: SplitRequest) -> SeriesUse:
    """Determines the frequency, horizon and seasons of typed rows.

    Raises UserError where the series are too short or mixed, or horizon, frequency or country cannot be read.
    """
    wish, time = request.forecast, request.time
    used = [one for one in dict.fromkeys((time, wish.series, *wish.targets)) if one]
    if time and not wish.series and (mixed := _mixed_series(rows, time, used)):
        raise error_of(UserError, "repeated-times", columns=request, name=mixed)
    frequency = _frequency(rows, request)
    if wish.holidays:
        _require_holidays(wish.holidays, frequency)
    tables = regular_tables(rows[used], wish.series, time, frequency)
    lengths = sorted(len(one) for one in tables.values())
    if not lengths:
        raise error_of(UserError, "no-times/rows")
    longest = sorted(tables.values(), key=len, reverse=True)[:MOST_SERIES]
    values = [filled(one[target]) for one in longest for target in wish.targets]
    seasons = seasons_of(values, frequency, lengths[len(lengths) // 2])
    horizon = _horizon(wish.horizon, frequency, lengths[len(lengths) // 2], seasons, time)
    if lengths[-1] < FEWEST * horizon + 2:
        raise error_of(UserError, "series-too-short", horizon=horizon, longest=lengths[-1], least=FEWEST * horizon + 2)
    shortest = max(next((one for one in lengths if one >= 2 * horizon), lengths[-1]), 1)
    return SeriesUse(
        targets=wish.targets,
        time=time,
        frequency=frequency,
        series=wish.series,
        horizon=horizon,
        seasons=seasons,
        holidays=wish.holidays,
        quantiles=wish.quantiles,
        shortest=shortest,
        count=len(tables),
        context=min(lengths[-1], max(MOST_CONTEXT, *(4 * one for one in seasons), 0)),
        is_positive=min(float(one.min()) for one in values) > 0,
    )


def _require_holidays(country: str, frequency: str) -> None:
    if importlib.util.find_spec("holidays") is None:
        raise error_of(MachineError, "missing-library/holidays", country=country)
    from palmette.automl.learners.forecasting.public_holidays import dates_of

    if days_of(frequency) is None:
        raise error_of(UserError, "bad-holidays/dates", country=country)
    try:
        dates_of(country, 2000, 2001)
    except NotImplementedError as error:
        raise error_of(UserError, "bad-holidays", country=country) from error


def repairs_of(rows: pd.DataFrame, use: SeriesUse) -> tuple[str, ...]:
    """Describes the repairs of time stamps, one sentence each."""
    places = RowPositions.of(rows, use)
    known, count = places.step >= 0, sum(places.lengths)
    distinct = len(np.unique((places.series * count + places.step)[known]))
    missing, repeated, gaps = int((~known).sum()), int(known.sum()) - distinct, count - distinct
    repairs = {
        f"{counted(missing, 'row')} without a time stamp: left out.": missing,
        f"{counted(repeated, 'row')} with a repeated time stamp: the values are averaged.": repeated,
        f"{counted(gaps, 'step')} without a row: filled with the value before.": gaps,
    }
    return tuple(text for text, count in repairs.items() if count)


def seasons_of(values: list[Floats], frequency: str, length: int) -> tuple[int, ...]:
    """Returns the seasons that fit twice into a series and show in the autocorrelation, the best first."""
    step = days_of(frequency)
    if step is None:
        tried = list(range(2, max(3, min(400, length // 3))))
    else:
        kind = "day" if step < 1 else "week" if step == 1 else "year"
        tried = [round(days / step) for days in USUAL_SEASONS[kind]]
        tried = [12] if 28 <= step <= 31 else [4] if 89 <= step <= 92 else tried
    strengths = {one: _correlation(values, one) for one in tried if 1 < one <= length // 2}
    if step is None:  # of many lags, only peaks count
        beside = {one: max(strengths.get(one - 1, 1.0), strengths.get(one + 1, 1.0)) for one in strengths}
        strengths = {one: value for one, value in strengths.items() if value >= beside[one]}
    found = sorted(one for one, value in strengths.items() if value > MIN_CORRELATION)
    first = next((one for one in found if strengths[one] >= NEARLY * max(strengths.values())), 0)
    others = sorted((one for one in found if one != first), key=lambda one: -strengths[one])
    return (first, *others[: 0 if step is None else 1]) if first else ()


def days_of(frequency: str) -> float | None:
    """Returns the days between two steps; None for numbered steps."""
    try:
        offset = pd.tseries.frequencies.to_offset(frequency)
    except ValueError:
        return None
    start = pd.Timestamp(2001, 1, 1)
    return float((start + 100 * offset - start) / pd.Timedelta(days=1) / 100)


def _mixed_series(rows: pd.DataFrame, time: str, used: list[str]) -> str:
    """Returns the column that tells rows with equal stamps apart; '' if there is none."""
    dated = rows[rows[time].notna()]
    if dated.duplicated(time).mean() < REPEATED:
        return ""
    others = [name for name in map(str, dated) if name not in used]
    few = [name for name in others if 1 < dated[name].nunique() <= len(dated) / FEWEST]
    return next((name for name in few if dated.duplicated([time, name]).mean() <= UNIQUE), "")


def _frequency(rows: pd.DataFrame, request: SplitRequest) -> str:
    wish = request.forecast
    if wish.frequency:
        try:
            return str(pd.tseries.frequencies.to_offset(wish.frequency).freqstr)
        except ValueError as error:
            raise error_of(UserError, "bad-frequency", wish=wish) from error
    if not request.time:
        return "1"
    stamps = rows[request.time]
    by = rows[wish.series].astype(str) if wish.series else pd.Series("", index=rows.index)
    ordered = stamps.groupby(by).apply(lambda one: one.dropna().drop_duplicates().sort_values().diff())
    apart = ordered.dropna()
    apart = apart[apart > apart.iloc[0] * 0] if len(apart) else apart
    if not len(apart):
        raise error_of(UserError, "no-times/equal", columns=request)
    if not pd.api.types.is_datetime64_any_dtype(stamps.dtype):
        return f"{float(apart.median()):g}"
    return _offset(stamps.dropna(), apart)


def _offset(stamps: pd.Series, apart: pd.Series) -> str:
    """Returns the pandas offset of the usual distance between stamps."""
    median, usual = pd.Timedelta(apart.median()), pd.Timedelta(apart.mode().iloc[0])
    month_ends = float(stamps.dt.is_month_end.mean()) > 0.9
    for least, most, start, end in ((27.5, 31.5, "MS", "ME"), (89, 93, "QS", "QE"), (360, 370, "YS", "YE")):
        if least <= median / pd.Timedelta(days=1) <= most:
            return end if month_ends else start
    if float((apart == usual).mean()) < REGULAR:
        nearest = pd.Timedelta(seconds=min(SECONDS, key=lambda one: abs(one - median.total_seconds())))
        usual = nearest if abs(nearest - median) <= NEAR * median else median
    if usual == pd.Timedelta(days=1) and float((stamps.dt.dayofweek >= 5).mean()) == 0 and len(stamps) > 14:
        return "B"
    if usual == pd.Timedelta(days=7):
        return f"W-{stamps.dt.day_name().mode().iloc[0][:3].upper()}"
    return str(pd.tseries.frequencies.to_offset(usual).freqstr)


def _horizon(text: str, frequency: str, length: int, seasons: tuple[int, ...], time: str) -> int:
    """Returns the horizon in steps; without a text, the first season that fits, or a share of the series."""
    if not text:
        usual = next((one for one in seasons if one <= length // 6), 0)
        return usual or max(1, min(24, round(SHARE * length)))
    named = {_steps(one, frequency, time) for one in text.split(",")}
    if len(named) > 1:
        raise error_of(UserError, "bad-horizon/several", text=text)
    return named.pop()


def _steps(text: str, frequency: str, time: str) -> int:
    """Returns the steps in a number of steps or a time; numbers count years in a column `year`, or as 1956.25."""
    found = re.fullmatch(r"\s*0*([1-9]\d*)\s*([a-z ]*?)s?\s*", text.casefold())
    count, unit = (int(found[1]), found[2]) if found else (0, "")
    if found and unit in ("", "step", "row", "value", "observation", "period", "point"):
        return count
    step = days_of(frequency)
    lasting = {"min": 1 / 1440, "minute": 1 / 1440, "hour": 1 / 24, "h": 1 / 24, "day": 1.0, "d": 1.0, "week": 7.0,
               "business day": 1.4, "working day": 1.4, "trading day": 1.4,
               "month": 30.4375, "quarter": 91.3125, "year": 365.25}  # fmt: skip
    if found and step is None and unit in re.findall(r"[a-z]+?(?=s?(?![a-z]))", time.casefold()):
        return max(1, round(count / float(frequency)))
    if found and step is None and unit in lasting and float(frequency) < 1:
        step = 365.25 * float(frequency)
    if not found or unit not in lasting or step is None:
        raise error_of(UserError, "bad-horizon", text=text)
    return max(1, round(count * lasting[unit] / step))


def _correlation(values: list[Floats], lag: int) -> float:
    """Returns the mean autocorrelation at a lag after linear detrending; 0 if half the lag correlates more."""
    found = []
    for one in values:
        if len(one) <= 2 * lag:
            continue
        rest = one - np.poly1d(np.polyfit(np.arange(len(one)), one, 1))(np.arange(len(one)))
        spread = float(rest.std())
        if spread > 0:
            half = float(np.mean(rest[lag // 2 :] * rest[: len(rest) - lag // 2])) / spread**2 if lag > 3 else 0.0
            whole = float(np.mean(rest[lag:] * rest[:-lag])) / spread**2
            found.append(whole if whole > half else 0.0)
    return float(np.mean(found)) if found else 0.0
