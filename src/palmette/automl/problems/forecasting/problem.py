"""The problem `forecasting`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from palmette.automl.calls import Call
from palmette.automl.candidates import Candidate, Ensembling, Folds, SeriesUse, Strategy
from palmette.automl.formatting import many, share
from palmette.automl.kinds import Kind
from palmette.automl.learners.forecasting.series import regular_tables
from palmette.automl.measure.intervals import Units
from palmette.automl.measure.metrics import Floats, Metric, Predictions, Task, undefined
from palmette.automl.measure.scorer import SupervisedScorer
from palmette.automl.plots import Axis, Figure, Plot, around
from palmette.automl.problems.forecasting import package
from palmette.automl.problems.forecasting.data import read_use, repairs_of
from palmette.automl.problems.forecasting.windows import HoldoutWindows, RowPositions, folds_of, held_out, naive_errors
from palmette.automl.problems.problem import FIRST_ROWS, EndpointRequest, EnsembleMember, Evaluator, Problem, ReportData
from palmette.automl.problems.supervised import first_metric
from palmette.automl.profile import Profile
from palmette.automl.splitting.data_splits import DataSplits, SplitRequest
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError
from palmette.problems import error_of

FOLDS = 3
SHOWN = 6  # most forecasts that the report draws
WEIGHTED = "palmette.automl.learners.forecasting.simple.WeightedForecasts"
POWER = 3.0  # members are weighted by the inverse of their error to this power


class ForecastScorer(SupervisedScorer):
    """Compares outputs (n, targets) on the training rows that are in a fold and have known values."""

    measured = "over rolling origins"

    def __init__(self, metric: Metric, truth: Floats, scales: Floats, units: NDArray[np.int64]) -> None:
        """`truth` and `scales` are (n, targets), NaN to exclude a value; `units` is (n,)."""
        self._known = np.isfinite(truth) & np.isfinite(scales)
        self._scales = scales[self._known] if metric.name == "mase" else np.ones(int(self._known.sum()))
        rows = np.repeat(units[:, None], truth.shape[1], axis=1)[self._known]
        super().__init__(metric, truth[self._known] / self._scales, units=rows)

    def part(self, rows: NDArray[np.bool_]) -> None:
        """Returns None: rows are not independent."""

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        return Predictions(outputs[self._known] / self._scales)

    def stacked(self, outputs: Sequence[Floats]) -> Floats:
        """Returns the mean weighted by error: a linear model would fit the noise of few origins."""
        return self.blended(outputs, self.shares(outputs))

    def shares(self, outputs: Sequence[Floats]) -> list[float]:
        """Returns weights proportional to error to the power of -3: a mean of many forecasts beats choosing one by few
        origins (FFORMA and later competitions).
        """
        errors = np.maximum([abs(self.utility(one)) for one in outputs], 1e-12)
        weights = (errors.min() / errors) ** POWER
        return [float(one) for one in weights / weights.sum()]


class Forecasting(Problem):
    """Compares candidates by forecasts from rolling origins in the training rows."""

    name: ClassVar[str] = "forecasting"
    has_target: ClassVar[bool] = False
    task: ClassVar[Task] = "forecasting"
    draws_rows: ClassVar[bool] = False
    side_metrics: ClassVar = ("mae", "rmse", "mase", "smape", "wql")
    templates: ClassVar[Path | None] = package.TEMPLATES
    together: ClassVar[str] = "history"
    no_onnx: ClassVar[str] = "each prediction depends on a history of rows"

    @staticmethod
    def draft(task: TaskSpec, profile: Profile, rows: pd.DataFrame) -> Mapping[str, Any]:
        use = read_use(rows, profile.split)
        aside = {*use.targets, use.time, use.series, *profile.dropped, *profile.split.hidden}
        usable = [one for one in profile.columns if one.kind in ("number", "boolean", "category")]
        covariates = [one.name for one in usable if one.name not in aside]
        known = tuple(name for name in covariates if name in task.forecast.known_ahead)
        past = tuple(name for name in covariates if name not in known)
        title = ", ".join(use.targets[:3]) + (", ..." if len(use.targets) > 3 else "")
        count = FOLDS if use.shortest >= 5 * use.horizon else 2
        several = len(task.forecast.targets) > 1 or bool(task.forecast.series)
        return {
            # Of several series in the unit of their naive forecasts' errors.
            "metric": first_metric(task) or ("mase" if several else "mae"),
            "series": use.model_copy(update={"known": known, "past": past}),
            "title": f"Forecast of {title}",
            "package": package.name_of(use.targets[0]),
            "folds": Folds(count=task.split.folds or count, kind="time", by=use.time),
            "derived": (),
            "remarks": repairs_of(rows, use),
        }

    @staticmethod
    def kinds(task: TaskSpec) -> Mapping[str, Kind]:
        found: dict[str, Kind] = dict.fromkeys(task.forecast.targets or (task.target,), "number")
        return found | ({task.forecast.series: "category"} if task.forecast.series else {})

    @staticmethod
    def held_out(rows: pd.DataFrame, request: SplitRequest) -> tuple[NDArray[np.bool_], tuple[str, ...]] | None:
        use = read_use(rows, request)
        if request.test_from and use.time:
            return None
        held = held_out(RowPositions.of(rows, use), use, request.test_share)
        if not held.any():
            raise error_of(UserError, "series-too-short/hold-out", use=use)
        where = f"the end of each series by {use.time!r}" if use.time else "the last rows"
        reason = f"The hold-out is {where}, in stretches of {use.horizon} steps; training ends before it."
        return held, (reason, *repairs_of(rows, use))

    @property
    def use(self) -> SeriesUse:
        assert self.blueprint.series is not None
        return self.blueprint.series

    def baselines(self) -> tuple[Candidate, ...]:
        """Returns the last value, and the last season if there is one."""
        last = Candidate(name="naive-last", learner="naive", reason="the last value again")
        season = self.use.season
        name, reason = f"naive-season-{season}", f"the last {season} steps again"
        seasonal = Candidate(name=name, learner="naive", settings={"season": season}, reason=reason)
        return (last, seasonal) if self.use.seasons else (last,)

    def folds(self, splits: DataSplits) -> NDArray[np.int64]:
        return folds_of(RowPositions.of(splits.train, self.use), self.use, self.blueprint.folds.count)

    def fold_rows(
        self, rows: pd.DataFrame, folds: NDArray[np.int64], fold: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns the rows before the fold, to train on, and the same rows with the fold's own, to forecast from."""
        places, inside = RowPositions.of(rows, self.use), folds == fold
        steps = pd.Series(places.step[inside]).groupby(places.series[inside])
        start, last = (one.reindex(places.series).to_numpy() for one in (steps.min(), steps.max()))
        return (places.step >= 0) & ~(places.step >= start), (places.step >= 0) & (places.step <= last)

    def outputs(self, estimator: Any, features: Any, strategy: Strategy) -> Floats:
        """Forecasts the rows after the training rows (n, targets), one horizon at a time."""
        places, horizon = RowPositions.of(features, self.use), self.use.horizon
        made = np.zeros((len(features), len(self.use.targets)))
        for number, (name, table) in enumerate(estimator.tables_of(features).items()):
            if name not in estimator.ends_ or not len(table):
                continue
            first = int(table.index.get_indexer([estimator.ends_[name]], method="nearest")[0]) + 1
            origins = range(first, len(table), horizon)
            if not origins:
                continue
            series = estimator.series_of(table, name)
            contexts = [one.until(origin, horizon) for origin in origins for one in series]
            forecasts = np.maximum(estimator.estimator_.predict(contexts), estimator.lowest_)
            steps = forecasts.reshape(len(origins), len(series), horizon).transpose(0, 2, 1).reshape(-1, len(series))
            here = np.flatnonzero((places.series == number) & (places.step >= first))
            made[here] = steps[places.step[here] - first]
        return made

    def output_error(self, outputs: Floats) -> str:
        if outputs.ndim != 2 or outputs.shape[1] != len(self.use.targets):
            return f"has outputs of the shape {outputs.shape}, not a column for each of {len(self.use.targets)} targets"
        return ""

    def scorer(self, splits: DataSplits) -> ForecastScorer:
        rows, use = splits.train, self.use
        places, folds = RowPositions.of(rows, use), self.folds(splits)
        truth = rows[list(use.targets)].to_numpy(float, na_value=np.nan)
        errors = naive_errors(regular_tables(rows, use.series, use.time, use.frequency), use)
        scales = np.array(list(errors.values()))[places.series]
        truth[folds < 0] = np.nan
        units = folds * (1 + max(places.lengths)) + places.step // use.horizon
        return ForecastScorer(self.metric, truth, scales, units)

    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        """Returns a forecaster with quantiles, of one estimator or of the weighted mean of several."""
        first = members[0].learner
        if len(members) > 1:
            named = [(one.candidate.name.replace("-", "_"), one.learner.arguments["estimator"]) for one in members]
            weights = [round(one.weight, 4) for one in members]
            first = first.where(estimator=Call(WEIGHTED, {"members": named, "weights": weights}))
        return first.where(quantiles=list(self.use.quantiles)) if self.use.quantiles else first

    def package_facts(self) -> Mapping[str, Any]:
        return package.facts(self.use)

    def examples(self) -> pd.DataFrame:
        return package.examples(self.blueprint, self.use)

    def holdout_inputs(self, splits: DataSplits) -> list[pd.DataFrame]:
        return self._windows(splits).model_inputs()

    def answer_size(self, rows: int) -> tuple[int, int]:
        use = self.use
        return use.horizon * use.count, 2 + len(use.targets) * (1 + len(use.quantiles))

    def requests(self, splits: DataSplits, made: Predictions) -> tuple[EndpointRequest, ...]:
        """Returns requests from the hold-out; without one, the training rows that `made` continues."""
        found = package.requests(self._windows(splits), made)
        return found or (package.request_of(splits.train.head(FIRST_ROWS), made, self.use),)

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        """Reads the forecasts of all rows and targets, flattened by row, from a table of texts."""
        targets, levels = self.use.targets, self.use.quantiles
        columns = [list(targets), *([package.band(target, one) for target in targets] for one in levels)]
        values, *bands = (table[names].astype(float).to_numpy().ravel() for names in columns)
        if not all(np.isfinite(one).all() for one in (values, *bands)):
            raise ValueError("some forecasts are not finite")
        return Predictions(values, quantiles=np.column_stack(bands) if bands else None, levels=levels)

    def evaluator(self, splits: DataSplits) -> Evaluator:
        return partial(_compared, self._windows(splits))

    def unmeasured(self, splits: DataSplits) -> str:
        truth = self._windows(splits).truth
        return undefined(self.metric, truth[np.isfinite(truth)])

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        shuffled = "a series that is shuffled is no longer a series"
        facts = ReportData(missing={"importances": shuffled, "predictions": "forecasts are drawn instead"})
        if made is None or not len(splits.holdout):
            return facts
        windows = self._windows(splits)
        figures = tuple(_figures(windows, made))
        limits = ("A forecast continues what the past shows; it knows of no event that was never there before.",)
        return replace(facts, limits=limits, figures=figures, summary=_coverage(windows, made))

    def _windows(self, splits: DataSplits) -> HoldoutWindows:
        return HoldoutWindows(splits.train, splits.holdout, self.use)


def _compared(windows: HoldoutWindows, metric: Metric, made: Predictions) -> tuple[Floats, Predictions, Units]:
    """Returns the truth, predictions and units of known values, divided by the naive error for MASE."""
    known = np.flatnonzero(np.isfinite(windows.truth))
    scales = windows.scales[known] if metric.name == "mase" else np.ones(len(known))
    some = made.take(known)
    bands = None if some.quantiles is None else some.quantiles / scales[:, None]
    scaled = Predictions(some.values.astype(float) / scales, quantiles=bands, levels=some.levels)
    return windows.truth[known] / scales, scaled, windows.units[known]


def _figures(windows: HoldoutWindows, made: Predictions) -> Iterator[Figure]:
    """Draws some forecasts with the values before them and the true values."""
    use, shape = windows.use, (len(windows.windows), windows.use.horizon, len(windows.use.targets))
    bands = None if made.quantiles is None else made.quantiles.reshape(*shape, -1)
    for number, place in enumerate(range(0, shape[0], max(1, shape[0] // SHOWN))[:SHOWN]):
        one, target = windows.windows[place], number % len(use.targets)
        table = windows.tables[one.name]
        before = table[use.targets[target]].iloc[max(0, one.step - 3 * use.horizon) : one.step].to_numpy(float)
        truth, values = (side.reshape(shape)[place, :, target] for side in (windows.truth, made.values.astype(float)))
        ends = [] if bands is None else [bands[place, :, target, side] for side in (0, -1)]
        title = " ".join(filter(None, (one.name, use.targets[target], f"from {table.index[one.step]}")))
        past, steps = np.concatenate([before, truth]), np.arange(1 - len(before), use.horizon + 1, dtype=float)
        ahead = steps[len(before) :]
        x = Axis("Steps from the origin", float(steps[0]), float(steps[-1]))
        y = Axis("Value", *around(np.concatenate([past, values, *ends]).tolist(), 0.05))
        plot = Plot(f"Forecast of {title}", x, y)
        if ends:
            plot.band(ahead, ends[0], ends[1])
        plot.line(steps, past)
        plot.line(ahead, values, "c1")
        band = ", with the band that should hold most values" if ends else ""
        caption = f"The last known values, then the forecast and the true values{band}."
        yield Figure(title, plot.svg(), caption, (("c0", "true value"), ("c1", "forecast")))


def _coverage(windows: HoldoutWindows, made: Predictions) -> str:
    """States how many values the intervals held; empty without intervals."""
    levels, known = windows.use.quantiles, np.isfinite(windows.truth)
    promised = levels[-1] - levels[0] if len(levels) > 1 else 0.0
    if made.quantiles is None or promised <= 0 or not known.any():
        return ""
    truth, band = windows.truth[known], made.quantiles[known]
    inside = float(np.mean((truth >= band[:, 0]) & (truth <= band[:, -1])))
    text = Markup("The band that promises to hold {} of the values held <strong>{}</strong> of {}.")
    return text.format(share(promised), share(inside), many(len(truth), "held-out value"))
