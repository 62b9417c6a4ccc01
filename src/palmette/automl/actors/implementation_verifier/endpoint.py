"""The package's endpoint, started once: its answers agree with `predict.py`, and how long they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.automl.artefacts import Latency
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint import (
    Expected,
    Service,
    answers_of,
    check_endpoint,
    measure_batch,
    measure_latency,
    rows_of_requests,
)
from palmette.automl.measure import Predictions
from palmette.automl.project import in_file_form
from palmette.engine import Violation

if TYPE_CHECKING:
    import pandas as pd

COMPARED = 100
"""Rows whose answers are compared."""
ASKED = 20
"""Different rows of the requests that are timed."""


def measured(
    service: Service, blueprint: Blueprint, rows: pd.DataFrame, predictions: Predictions, batch: bool
) -> tuple[Latency | None, tuple[Violation, ...]]:
    """Latency of requests in the form of the user's file, and what is wrong with the answers.

    Args:
        service: Of the package; it may still be starting.
        blueprint: The blueprint.
        rows: Typed rows; those with predictions come first.
        predictions: By `predict.py`.
        batch: Whether all rows are predicted in requests of many, too.
    """
    hidden = [name for name in (blueprint.target, blueprint.labels) if name in rows]
    requests = rows_of_requests(in_file_form(rows.drop(columns=hidden), blueprint))
    compared = min(COMPARED, len(predictions))
    numbers = [one.in_file for one in blueprint.columns if one.kind == "number"]
    expected = Expected(requests[:compared], answers_of(predictions)[:compared], tuple(numbers))
    if not service.is_healthy():
        message, log = "The endpoint of the package does not start.", service.output()[-3000:]
        return None, (Violation(code="endpoint-unhealthy", message=message, evidence=log, subject="serve.py"),)
    checked = check_endpoint(service, expected)
    if checked.violations:
        return None, checked.violations
    latency = measure_latency(service, requests[:ASKED])
    seconds = round(measure_batch(service, requests), 3) if batch else None
    return latency.model_copy(update={"batch_seconds": seconds}), ()
