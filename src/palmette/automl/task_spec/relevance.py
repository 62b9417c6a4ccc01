"""Checks that a request asks for a model and that it is supported."""

from __future__ import annotations

import re

from palmette.automl.task_spec.request import DataSummary, Request, SentenceReading
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.task_spec.vocabulary import vocabulary
from palmette.errors import UserError

SUPPORTED = (
    "classification, regression and clustering of tables, whose columns may hold text, images and sounds, "
    "classification of nodes of a graph, and forecasts of series"
)
EXAMPLE = 'A request that works: "Predict churn; ROC AUC at least 0.8" --data customers.csv.'
_GOALS = frozenset({"target", "problem", "threshold", "labels", "clusters.count", "clusters.least", "clusters.most"})
_MODELLING = re.compile(r"\b(?:predict|classif|estimat|regress|cluster|segment|model|forecast|train)", re.I)


def require_relevant(request: Request, data: DataSummary, given: TaskSpec, reading: SentenceReading) -> None:
    """Raises `UserError` for a request for something other than a model, an unsupported problem or missing data."""
    goals = _GOALS & {*given.sources, *reading.task.sources}
    if not goals and not reading.candidates:
        for kind, patterns in vocabulary().other.items():
            asked = any(re.search(pattern, request.text, re.I) for pattern in patterns)
            is_of_model = _MODELLING.search(request.text) and "difference" not in request.text
            if asked and not (kind == "question" and is_of_model):
                what = "something other than a model" if kind == "irrelevant" else "an answer to a question"
                raise UserError(f"The request asks for {what}.", EXAMPLE, code=f"request-{kind}")
    if reading.refused and "problem" not in given.sources:
        refused = next(one for one in vocabulary().refused if one.name == reading.refused)
        raise unsupported(refused.name, refused.reason)
    if not data.columns and not request.files:
        message = "There are no data to learn from: no file was given, and the request names none that exists."
        raise UserError(message, f"Give a file: --data FILE. {EXAMPLE}", code="request-no-data")
    for name in reading.missing:
        data.require(name, "The request")


def require_understood(request: Request, given: TaskSpec, reading: SentenceReading) -> None:
    """Raises `UserError` if the rules understand nothing of a sentence and no flag or file sets a goal."""
    if not request.text.strip() or reading.task.sources or reading.candidates or _GOALS & given.sources.keys():
        return
    if not _MODELLING.search(request.text):
        message = "The request does not state what to predict or to group, as far as it was understood."
        remedy = f"Plain English is read without a language model; or name the column: --target COLUMN. {EXAMPLE}"
        raise UserError(message, remedy, code="request-irrelevant")


def unsupported(what: str, remedy: str = "") -> UserError:
    """Returns the error for an unsupported problem."""
    return UserError(f"The request asks for {what}. Supported are {SUPPORTED}.", remedy, code="task-unsupported")
