"""Reads the driver's trials and verifies its outputs; nothing that it wrote is trusted unchecked."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import FailFast, Field, ValidationError

from palmette.automl.candidates import Candidate, Trial
from palmette.automl.composition import learner_named
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.search.job import LOG, OUTPUTS
from palmette.documents import Model
from palmette.engine.actor import Violation
from palmette.errors import PalmetteError
from palmette.sandbox.reading import read_made

LOG_BYTES = 1 << 22
MOST_TRIALS = 1000  # more than any search produces
HEADER_BYTES = 1024  # upper limit of the header of a `.npy` file


class SearchLog(Model):
    """The driver's log; its scores only guide the search."""

    trials: Annotated[tuple[Trial, ...], Field(max_length=MOST_TRIALS), FailFast()] = ()
    processor_seconds: float = 0.0


@dataclass(frozen=True)
class CandidateResult:
    """A trial that finished, with its verified outputs."""

    trial: Trial
    outputs: Floats  # (n, k) probabilities, (n,) in the unit of the target, or (n, 2) for clusters

    @property
    def name(self) -> str:
        return self.trial.candidate.name

    def part(self, rows: NDArray[np.bool_]) -> CandidateResult:
        """Returns the result restricted to the rows of a mask."""
        return replace(self, outputs=self.outputs[rows])


@dataclass(frozen=True)
class CandidateLoad:
    """Every trial, the verified results, and the violations of the others."""

    trials: tuple[Trial, ...] = ()
    results: tuple[CandidateResult, ...] = ()
    violations: tuple[Violation, ...] = ()
    processor_seconds: float = 0.0

    def result(self, name: str) -> CandidateResult | None:
        """Returns the result of a candidate, or None."""
        return next((one for one in self.results if one.name == name), None)


def read_results(
    folder: Path, problem: Problem, rows: int, expected: Sequence[Candidate] = (), whole: bool = True
) -> CandidateLoad:
    """Reads and verifies the trials and outputs in a folder.

    Args:
        folder: The folder that the driver or `write_results` wrote to.
        problem: Decides whether outputs are sound.
        rows: Number of rows that outputs must have.
        expected: The candidates of the job. Trials of others are refused, unless only their settings were tuned.
        whole: Whether outputs cover all training rows; partial ones are checked for soundness once they are combined.
    """
    try:
        log = SearchLog.model_validate_json(read_made(folder, LOG, LOG_BYTES))
    except (OSError, ValidationError) as error:
        return CandidateLoad(violations=(_violation("trials-unreadable", LOG, f"cannot be read: {str(error)[:300]}"),))
    unexpected = [one for one in log.trials if expected and not _is_expected(one.candidate, expected)]
    violations = [
        _violation("trials-unreadable", one.candidate.name, "is no candidate of the job") for one in unexpected
    ]
    results = []
    for trial in log.trials:
        if trial.status == "finished" and trial not in unexpected:
            outputs = _outputs(folder, trial, problem, rows, whole)
            if isinstance(outputs, Violation):
                violations.append(outputs)
            else:
                results.append(CandidateResult(trial, outputs))
    trials = tuple(one for one in log.trials if one not in unexpected)
    if not results and not violations:
        notes = "; ".join(f"{trial.candidate.name}: {trial.note}" for trial in trials if trial.note)
        violations.append(_violation("no-candidate", LOG, f"has no candidate that finished: {notes}"))
    return CandidateLoad(trials, tuple(results), tuple(violations), log.processor_seconds)


def write_results(folder: Path, load: CandidateLoad) -> None:
    """Writes verified results in the driver's format, for processes that read them later."""
    (folder / OUTPUTS).mkdir(parents=True, exist_ok=True)
    log = SearchLog(trials=load.trials, processor_seconds=load.processor_seconds)
    (folder / LOG).write_text(log.model_dump_json(), encoding="utf-8")
    for one in load.results:
        np.save(folder / OUTPUTS / f"{one.name}.npy", one.outputs, allow_pickle=False)


def outputs_of(load: CandidateLoad) -> Mapping[str, Floats]:
    """Returns the verified outputs by candidate name."""
    return {one.name: one.outputs for one in load.results}


def _outputs(folder: Path, trial: Trial, problem: Problem, rows: int, whole: bool) -> Floats | Violation:
    """Reads the outputs of a trial; returns a violation if they are unusable."""
    name = trial.candidate.name
    most = HEADER_BYTES + 8 * rows * max(2, len(problem.blueprint.classes), problem.columns_of_outputs)
    try:
        content = read_made(folder / OUTPUTS, f"{name}.npy", most)
        made = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return _violation("outputs-unreadable", name, f"cannot be read: {error}")
    if made.dtype != np.float64 or not made.ndim or len(made) != rows:
        return _violation("outputs-rows", name, f"has outputs of the shape {made.shape}, not of {rows} rows")
    if not np.isfinite(made).all():
        return _violation("outputs-values", name, "has outputs that are not finite")
    if whole and (wrong := problem.output_error(made)):
        return _violation("outputs-values", name, wrong)
    return np.asarray(made)


def _is_expected(candidate: Candidate, expected: Sequence[Candidate]) -> bool:
    """Returns whether it is a candidate of the job, or one with other settings of a registered learner."""
    if candidate in expected:
        return True
    kept = {"name", "settings", "reason"}
    return any(
        one.tuned and one.model_dump(exclude=kept) == candidate.model_dump(exclude=kept) and _is_registered(one)
        for one in expected
    )


def _is_registered(candidate: Candidate) -> bool:
    try:
        return bool(learner_named(candidate.learner))
    except PalmetteError:
        return False


def _violation(code: str, subject: str, clause: str) -> Violation:
    return Violation(code=code, message=f"{subject} {clause}"[:600], subject=subject)
