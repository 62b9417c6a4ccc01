"""Reading back what the driver left: trials, and outputs that are verified; nothing of it is believed unseen."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import FailFast, Field, ValidationError

from palmette.automl.candidates import Candidate
from palmette.automl.composition import learner_named
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.search.job import LOG, OUTPUTS
from palmette.automl.trials import Trial
from palmette.documents import Model
from palmette.engine.actor import Violation
from palmette.errors import PalmetteError
from palmette.sandbox.reading import read_made

LOG_BYTES = 1 << 22
MOST_TRIALS = 1000
"""More than any search comes to."""
HEADER_BYTES = 1024
"""Of a file of numpy, at most."""


class SearchLog(Model):
    """What the driver wrote down; its scores guide the search only."""

    trials: Annotated[tuple[Trial, ...], Field(max_length=MOST_TRIALS), FailFast()] = ()
    processor_seconds: float = 0.0


@dataclass(frozen=True)
class CandidateResult:
    """A trial that finished, with its verified outputs."""

    trial: Trial
    outputs: Floats
    """(n, k) of probabilities, (n,) in the unit of the target, or (n, 2) of clusters."""

    @property
    def name(self) -> str:
        return self.trial.candidate.name

    def part(self, rows: NDArray[np.bool_]) -> CandidateResult:
        """The same with the outputs of some rows."""
        return replace(self, outputs=self.outputs[rows])


@dataclass(frozen=True)
class CandidateLoad:
    """What was read: every trial, the results that hold, and what is wrong with the others."""

    trials: tuple[Trial, ...] = ()
    results: tuple[CandidateResult, ...] = ()
    violations: tuple[Violation, ...] = ()
    processor_seconds: float = 0.0

    def result(self, name: str) -> CandidateResult | None:
        """The result of this name; None where there is none."""
        return next((one for one in self.results if one.name == name), None)


def read_results(
    folder: Path, problem: Problem, rows: int, expected: Sequence[Candidate] = (), whole: bool = True
) -> CandidateLoad:
    """The trials and outputs in a folder, verified.

    Args:
        folder: Where the driver, or `write_results`, has left them.
        problem: What outputs have to be.
        rows: That outputs have to be of.
        expected: The candidates of the job: trials of others, but for settings that were searched, are refused.
        whole: Whether outputs are of all training rows; those of a part are verified once they are put together.
    """
    try:
        log = SearchLog.model_validate_json(read_made(folder, LOG, LOG_BYTES))
    except (OSError, ValidationError) as error:
        return CandidateLoad(violations=(_violation("trials-unreadable", LOG, f"cannot be read: {str(error)[:300]}"),))
    strange = [one for one in log.trials if expected and not _is_expected(one.candidate, expected)]
    violations = [_violation("trials-unreadable", one.candidate.name, "is no candidate of the job") for one in strange]
    results = []
    for trial in log.trials:
        if trial.status == "finished" and trial not in strange:
            made = _outputs(folder, trial, problem, rows, whole)
            if isinstance(made, Violation):
                violations.append(made)
            else:
                results.append(CandidateResult(trial, made))
    trials = tuple(one for one in log.trials if one not in strange)
    if not results and not violations:
        notes = "; ".join(f"{trial.candidate.name}: {trial.note}" for trial in trials if trial.note)
        violations.append(_violation("no-candidate", LOG, f"has no candidate that finished: {notes}"))
    return CandidateLoad(trials, tuple(results), tuple(violations), log.processor_seconds)


def write_results(folder: Path, load: CandidateLoad) -> None:
    """Writes verified results as the driver does, for processes that read them later."""
    (folder / OUTPUTS).mkdir(parents=True, exist_ok=True)
    log = SearchLog(trials=load.trials, processor_seconds=load.processor_seconds)
    (folder / LOG).write_text(log.model_dump_json(), encoding="utf-8")
    for one in load.results:
        np.save(folder / OUTPUTS / f"{one.name}.npy", one.outputs, allow_pickle=False)


def outputs_of(load: CandidateLoad) -> Mapping[str, Floats]:
    """Verified outputs by candidate."""
    return {one.name: one.outputs for one in load.results}


def _outputs(folder: Path, trial: Trial, problem: Problem, rows: int, whole: bool) -> Floats | Violation:
    """The outputs of a trial, or what is wrong with them."""
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
    if whole and (wrong := problem.sound(made)):
        return _violation("outputs-values", name, wrong)
    return np.asarray(made)


def _is_expected(candidate: Candidate, expected: Sequence[Candidate]) -> bool:
    """Whether it is a candidate of the job, or one of them with other settings of registered learners."""
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
