"""A hold-out that coding agents are scored on and never see: its file lies outside of the folders they may use."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.documents import Model
from palmette.engine import runs_folder
from palmette.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from palmette.automl.measure.metrics import Metric, Predictions

MOST = 10  # submissions that are scored: with more, the hold-out would be fitted


class HoldOutScore(Model):
    """What a submission scored."""

    metric: str
    score: float
    low: float
    """Of the 95 % bootstrap interval."""
    high: float
    rows: int
    left: int
    """Submissions that may still be scored."""


class ScoredHoldOut:
    """The truth, and the record of who asked."""

    def __init__(self, text: str) -> None:
        """`text` is FILE:TARGET:METRIC, as the person gives it who starts the server."""
        from palmette.automl.endpoint.delivered import rows_of_file
        from palmette.automl.measure.metrics import METRICS
        from palmette.automl.task_spec.task_file import nearest_metric
        from palmette.automl.task_spec.vocabulary import metric_named

        file, _, rest = text.partition(":")
        self.target, _, name = rest.partition(":")
        if (metric := METRICS.get(metric_named(name) or name)) is None:
            raise UserError(f"There is no metric {name!r}.", nearest_metric(name), code="unknown-metric")
        self.metric: Metric = metric
        frame = rows_of_file(Path(file))
        if self.target not in frame:
            near = did_you_mean(self.target, map(str, frame))
            message = f"The hold-out {file!r} has no column {self.target!r}.{near}"
            raise UserError(message, "Name it FILE:TARGET:METRIC.", code="no-target")
        self._truth = _column(frame, self.target, self.metric)
        digest = hashlib.sha256(f"{self.target}\0{self.metric.name}\0".encode() + Path(file).read_bytes()).hexdigest()
        self._record = runs_folder() / "holdouts" / f"{digest[:16]}.jsonl"
        self._one_at_a_time = threading.Lock()  # calls of tools run side by side, and each counts

    def score(self, submission: Path) -> HoldOutScore:
        """Scores the rows of a file, in the order of the hold-out; each new submission is recorded and counts.

        The file has a column named as the target, or `prediction`; for probabilities, a column for each class.

        Raises:
            UserError: no submission is left, or the file does not fit.
        """
        with self._one_at_a_time:
            return self._score(submission)

    def _score(self, submission: Path) -> HoldOutScore:
        from palmette.automl.endpoint.delivered import rows_of_file
        from palmette.automl.measure.intervals import interval
        from palmette.automl.measure.metrics import score

        digest = hashlib.sha256(submission.read_bytes()).hexdigest()
        record = self._record.read_text("utf-8") if self._record.is_file() else ""
        asked = [json.loads(line) for line in record.splitlines()]
        if known := next((one for one in asked if one["submission"] == digest), None):
            return HoldOutScore.model_validate({**known["score"], "left": MOST - len(asked)})
        if len(asked) >= MOST:
            message = f"{MOST} submissions were scored on this hold-out, and no more are."
            raise UserError(message, "Compare candidates by cross-validation.", code="holdout-used-up")
        made = self._predictions(rows_of_file(submission), submission.name)
        try:
            value, spread = score(self.metric, self._truth, made), interval(self.metric, self._truth, made)
        except ValueError as error:
            raise _bad(f"{submission.name!r} cannot be scored: {error}.") from error
        name, left = self.metric.name, MOST - len(asked) - 1
        rows = len(self._truth)
        found = HoldOutScore(metric=name, score=value, low=spread.low, high=spread.high, rows=rows, left=left)
        self._record.parent.mkdir(parents=True, exist_ok=True)
        with self._record.open("a", encoding="utf-8") as file:
            line = {"at": time.time(), "submission": digest, "score": found.model_dump(exclude={"left"})}
            file.write(json.dumps(line) + "\n")
        return found

    def _predictions(self, frame: pd.DataFrame, name: str) -> Predictions:
        import numpy as np

        from palmette.automl.measure.metrics import Predictions

        if len(frame) != len(self._truth):
            raise _bad(f"{name!r} has {len(frame)} rows, and the hold-out has {len(self._truth)}, in this order.")
        classes = tuple(sorted(set(map(str, self._truth)))) if self.metric.task == "classification" else ()
        if classes and set(classes) <= set(frame):
            shares = np.column_stack([_column(frame, one, None) for one in classes])
            return Predictions(np.array(classes)[shares.argmax(axis=1)], shares, classes)
        column = next((one for one in (self.target, "prediction") if one in frame), None)
        if column is None:
            raise _bad(f"{name!r} has neither the column {self.target!r} nor 'prediction'.")
        return Predictions(_column(frame, column, self.metric))


def _bad(message: str) -> UserError:
    return UserError(message, "Correct the file; no submission was counted.", code="bad-submission")


def _column(frame: pd.DataFrame, name: str, metric: Metric | None) -> Any:
    """The cells of a column: class names of a classification, of which `1.0` is `1`, else numbers."""
    import pandas as pd

    from palmette.automl.encoders.columns import text_of

    if metric is not None and metric.task == "classification":
        return frame[name].astype(str).str.strip().map(text_of).to_numpy(object)
    try:
        numbers = pd.to_numeric(frame[name])
    except (ValueError, TypeError) as error:
        raise _bad(f"Column {name!r} has a cell that is not a number: {error}.") from error
    if numbers.isna().any():
        raise _bad(f"Column {name!r} has empty cells.")
    return numbers.to_numpy(float)
