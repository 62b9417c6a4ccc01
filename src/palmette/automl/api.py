"""`palmette.automl(...)` and the run that it returns."""

from __future__ import annotations

import html
import os
import shutil
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from palmette.errors import UserError
from palmette.problems import error_of

if TYPE_CHECKING:
    import pandas as pd

    from palmette.automl.artefacts import Assessment
    from palmette.automl.delivered import DeliveredPackage
    from palmette.automl.report.verdict import VerdictText
    from palmette.automl.task_spec.spec import TaskSpec
    from palmette.engine import Observer, RunResult

    Place = str | Path | pd.DataFrame
    Data = Place | Sequence[Place]


class AutoMLOptions(TypedDict, total=False):
    """The optional fields of a request, as in `task.yaml`, and settings of the run."""

    table: str
    arrays: str | Sequence[str]
    problem: str
    metric: str
    positive: str | int | float | bool
    threshold: str
    clusters: str | int
    labels: str
    include: str | Sequence[str]
    exclude: str | Sequence[str]
    known_after: str | Sequence[str]
    group_by: str
    horizon: str | int
    frequency: str
    series: str
    known_ahead: str | Sequence[str]
    holidays: str
    quantiles: Sequence[float]
    time: str
    split: str | float
    constraints: str | Sequence[str]
    """E.g. `latency<=20ms`, `accuracy>=0.9`."""
    learners: str | Sequence[str]
    prefer: str | Sequence[str]
    tracks: str | Sequence[str]
    ensemble: bool
    budget: float | str
    """Seconds, or a text such as `5min`."""
    plans: int
    seed: int
    out: str | Path
    task: str | Path
    """A `task.yaml`; the arguments win over it."""
    topology: str
    approve: Sequence[str]
    human: str
    model: str
    """The language model, e.g. `openai:gpt-5`; `offline` for the built-in rules."""
    planner: str
    tokens: int
    money: float


def automl(
    sentence: str = "",
    data: Data = (),
    *,
    target: str = "",
    observer: Observer | None = None,
    **options: Unpack[AutoMLOptions],
) -> AutoMLRun:
    """Builds, verifies and delivers a model.

    >>> run = palmette.automl(data=frame, target="price", budget="60s")  # doctest: +SKIP
    >>> run.predict(new_rows)  # doctest: +SKIP

    Args:
        sentence: The request in plain words; may be empty.
        data: A DataFrame, the path of a file or folder, the name of a set such as `sklearn:iris`, or several of them.
        target: The column to predict; empty for clustering, or where sentence or data name it.
        observer: Receives every event; by default progress is shown in terminals and notebooks.
        options: See `AutoMLOptions`; the same as the flags of `palmette automl`.

    Raises:
        InputError: The data cannot be read.
        UserError: The target cannot be learnt, or a name is unknown.
        RunStopped: The run needs a person, or a budget was reached, before a model was delivered.
    """
    from palmette.automl.arguments import arguments_of, title_of
    from palmette.automl.live import LiveProgress
    from palmette.engine import new_run_folder, run_environment

    if not isinstance(sentence, str):
        raise error_of(UserError, "bad-argument", kind=type(sentence).__name__)
    places = list(data) if isinstance(data, Sequence) and not isinstance(data, str) else [data]
    folder = new_run_folder(title_of(places) or target or "automl")
    try:
        paths = [_path(place, folder / "data", number) for number, place in enumerate(places, start=1)]
        arguments = arguments_of(sentence, paths, target=target, **options)
        result = run_environment("automl", arguments, folder, observer or LiveProgress(folder))
    finally:
        if not (folder / "artefacts").exists():  # refused before there was a run
            shutil.rmtree(folder / "data", ignore_errors=True)
    return AutoMLRun(result.raise_if_stopped())


def _path(place: Place, folder: Path, number: int) -> str:
    """The path of the data; a DataFrame is written to the run's folder first, with absolute paths of files."""
    if isinstance(place, str | Path):
        return str(place)
    levels = [name for name in place.index.names if name is not None and name not in place]
    frame = (place.reset_index(levels) if levels else place).rename(columns=str)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"frame{number}.parquet"
    try:
        objects = {str(name): one for name, one in frame.items() if one.dtype == object}
        mixed = [name for name, one in objects.items() if one.dropna().map(type).nunique() > 1]  # not so in Parquet
        texts = objects | {name: objects[name].map(str, na_action="ignore") for name in mixed}
        named = {name: one.map(_absolute) for name, one in texts.items()}
        frame.assign(**named).to_parquet(path, index=False)
    except (ValueError, TypeError) as error:
        raise error_of(UserError, "frame-unwritable", error=error) from error
    return str(path)


def _absolute(cell: Any) -> Any:
    """The absolute path of a file, such as a picture; any other cell as it is."""
    from palmette.automl.kinds import file_suffixes

    is_path = isinstance(cell, str) and cell.lower().endswith(file_suffixes())
    return str(Path(cell).absolute()) if is_path and os.path.isfile(cell) else cell  # noqa: PTH113 - of any length


@dataclass(frozen=True)
class ReportPage(os.PathLike[str]):
    """The path of a report; notebooks display the report itself."""

    path: Path

    def open(self) -> None:
        """Opens the report in the browser."""
        webbrowser.open(self.path.as_uri())

    def __fspath__(self) -> str:
        return str(self.path)

    __repr__ = __fspath__

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 800px; border: 0"></iframe>'


class AutoMLRun:
    """A finished run and its delivered model.

    `model`, `predict` and `explain` import the delivered package into this process. `palmette predict` and
    `palmette serve` run it in the sandbox instead.
    """

    def __init__(self, result: RunResult) -> None:
        self.result = result
        """The run, with all its artefacts."""

    @classmethod
    def open(cls, run: str | Path = "latest") -> AutoMLRun:
        """Opens an earlier run by id or folder; `latest` is the newest run with a model."""
        from palmette.automl.endpoint.delivered import opened

        return cls(opened(str(run)))

    @property
    def folder(self) -> Path:
        """The folder of the delivered project."""
        return Path(self._artefact("delivery").folder)

    @property
    def task(self) -> TaskSpec:
        """The interpreted request."""
        return cast("TaskSpec", self._artefact("task"))

    @property
    def assessment(self) -> Assessment:
        """The verdict."""
        return cast("Assessment", self._artefact("assessment"))

    @property
    def leaderboard(self) -> pd.DataFrame:
        """The candidates with their out-of-fold scores, best first."""
        import pandas as pd

        board = self._artefact("comparison").leaderboard
        return pd.DataFrame([one.model_dump(exclude={"candidate"}) for one in board])

    @property
    def report(self) -> ReportPage:
        """The path of the report."""
        return ReportPage(self.folder / "report.html")

    @property
    def model(self) -> Any:
        """The fitted scikit-learn estimator of the delivered package."""
        return self._package.model

    def predict(self, rows: pd.DataFrame) -> pd.Series[Any] | pd.DataFrame:
        """Predictions for rows as `pd.read_csv` makes them, with their index; for a forecast, the next rows."""
        made, blueprint = self._package.predictions(rows), self._package.blueprint
        return made if blueprint.series else made["prediction"].rename(blueprint.target or "cluster")

    def explain(self, rows: pd.DataFrame, permutations: int = 20) -> pd.DataFrame:
        """Returns sampled Shapley values: the contribution of each column to the prediction of each row.

        The result has the columns `explained` (the target, or the class whose probability is explained), `base` (the
        mean prediction of training rows), one for each column that the model uses, and `prediction`, their sum.

        Args:
            rows: Tens of rows, as `pd.read_csv` makes them.
            permutations: Orders in which the columns of each row are replaced; more give more exact values.

        Raises:
            UserError: The model makes clusters or forecasts, or the training data are missing.
        """
        from palmette.automl.delivered import explanation
        from palmette.automl.project.reading import in_file_names
        from palmette.automl.splitting.data_splits import DataSplits

        blueprint = self._package.blueprint
        splits = DataSplits.of(self._artefact("samples"), self._artefact("profile").split)
        background = in_file_names(splits.train, blueprint)[[one.in_file for one in blueprint.columns]]
        return explanation(self._package, rows, background, permutations)

    @cached_property
    def _package(self) -> DeliveredPackage:
        from palmette.automl.delivered import DeliveredPackage
        from palmette.automl.endpoint.delivered import delivered_blueprint

        return DeliveredPackage.load(self.folder, delivered_blueprint(self.result))

    def _artefact(self, name: str) -> Any:
        from palmette.automl.artefacts import Delivery
        from palmette.automl.report.findings import SHOWN

        kind: Any = {**SHOWN, "delivery": Delivery}[name]
        return self.result.artefact(name, kind)

    @property
    def _verdict(self) -> VerdictText:
        from palmette.automl.report.verdict import verdict_text

        return verdict_text(self.assessment, self._artefact("comparison").measured)

    @property
    def _title(self) -> str:
        from palmette.automl.formatting import learner

        members = self._artefact("comparison").selection.members
        return f"{self._artefact('delivery').package} by {learner(', '.join(one.candidate.learner for one in members))}"

    def __repr__(self) -> str:
        verdict = self._verdict
        return f"AutoMLRun {self._title}\n  {verdict.headline}; {verdict.better.text}\n  in {self.folder}"

    def _repr_html_(self) -> str:
        from palmette.automl.report.verdict import MARKS

        verdict = self._verdict
        items = "".join(f"<li>{MARKS[one.status]} {html.escape(str(one))}</li>" for one in verdict.lines)
        board = self.leaderboard.head(5).drop(columns=["low", "high"]).round(4).to_html(index=False, border=0)
        return (
            f"<h4>{html.escape(self._title)}</h4><p><b>{html.escape(verdict.headline)}</b></p><ul>{items}</ul>"
            f"<p>{html.escape(verdict.figures)}</p>{board}<p><code>{html.escape(str(self.folder))}</code></p>"
        )
