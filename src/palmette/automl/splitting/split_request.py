"""From the request to the split: what is predicted, and how the rows are divided for it."""

from __future__ import annotations

import re

from palmette.automl.samples.artefacts import Column, Samples
from palmette.automl.splitting.artefacts import SplitRequest
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError, nearest

CELLS = 100_000
"""Values a second of the budget, to be written, read and learnt from."""
LEAST = 1_000
"""Rows that are learnt from whatever the budget."""
CLASSES = 20
"""Different whole numbers up to which a target of them is read as classes."""


def split_request_of(task: TaskSpec, samples: Samples) -> SplitRequest:
    """What is predicted, and how the rows are split for it.

    Raises:
        UserError: target, groups, times or parts are no columns of the data, or the inference rows lack others.
    """
    problem = task.problem or _problem(task, samples)
    target = "" if problem == "clustering" else _target(task, samples)
    by, column = task.split.by, task.split.column
    group = task.group_by or (column if by == "group" else "")
    time = task.time or (column if by == "time" else "")
    parts = column if by == "column" else samples.split_column
    if by == "column" and not parts:
        message = "The rows are to be split by a column, and none is named or recognised."
        raise UserError(message, "Name it: split by column NAME.", code="no-such-column")
    if by == "time" and not time:
        time = _time(samples, target)
    return SplitRequest(
        target=target,
        problem=problem,
        by=by,
        group=named_column(samples, group),
        time=named_column(samples, time) if task.split.test_share else "",
        column=named_column(samples, parts) if parts != target else "",
        since=task.split.test_from if task.split.test_share else "",
        share=task.split.test_share,
        seed=task.seed,
        most_rows=_most_rows(samples, task.budget),
    )


def _problem(task: TaskSpec, samples: Samples) -> str:
    """The problem that the target makes, where the request names none."""
    if task.clusters.count or task.labels or not (task.target or len(samples.targets) == 1):
        return "clustering"
    column = samples.column(_target(task, samples))
    fractions = column is not None and column.dtype.startswith("float")
    many = column is not None and column.kind == "number" and (column.distinct > CLASSES or fractions)
    return "regression" if many and task.threshold is None else "classification"


def _target(task: TaskSpec, samples: Samples) -> str:
    target = named_column(samples, task.target or (samples.targets[0] if len(samples.targets) == 1 else ""))
    if not target:
        listed = ", ".join(repr(one.name) for one in samples.columns[:12])
        raise UserError("No column is named to predict.", f"Name one by --target: {listed}.", code="request-no-target")
    if samples.inference_rows and samples.targets and target not in samples.targets:
        lacking = ", ".join(map(repr, samples.targets))
        raise UserError(
            f"{target!r} is to be predicted, but the {samples.inference_rows} rows to predict lack {lacking}.",
            f"Add {lacking} to their file, leave the file out, or ask for {lacking}.",
            code="rows-lack-columns",
        )
    return target


def named_column(samples: Samples, name: str) -> str:
    """The column's name in the table, by its name there or in the file; empty for none.

    Raises:
        UserError: there is no such column.
    """
    column = samples.column(name) if name else None
    if name and column is None:
        near = nearest(name, [one.name for one in samples.columns])
        hint = f" Did you mean {near!r}?" if near else ""
        listed = ", ".join(repr(one.name) for one in samples.columns[:12])
        raise UserError(f"There is no column {name!r}.{hint}", f"The columns are {listed}.", code="no-such-column")
    return column.name if column else ""


def _time(samples: Samples, target: str) -> str:
    """The column of timestamps with the most different ones, else one of years."""
    dated = [column for column in samples.columns if column.kind == "datetime"]
    found = [column for column in dated or filter(_has_years, samples.columns) if column.name != target]
    if not found:
        raise UserError(
            "The rows are to be split by time, and no column holds times.",
            "Leave that wish out of the request, or add a column of dates.",
            code="no-times",
        )
    return max(found, key=lambda column: column.distinct).name


def _has_years(column: Column) -> bool:
    named = re.search(r"(^|[^a-z])year([^a-z]|$)", column.name, re.IGNORECASE)
    return bool(named) and all(re.fullmatch(r"(?:19|20)\d\d(?:\.0)?", one) for one in column.examples)


def _most_rows(samples: Samples, seconds: float) -> int:
    """Rows that there is time for; 0 where all can be learnt from."""
    most = max(LEAST, round(CELLS * seconds / len(samples.columns)))
    return most if most < samples.rows else 0
