"""Reads the driver's trials and verifies its outputs; nothing that it wrote is trusted unchecked."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from palmette.automl.candidates import Blueprint, Candidate, Trial
from palmette.automl.composition import encoding_key
from palmette.automl.measure.metrics import Floats
from palmette.automl.problems.problem import Problem
from palmette.automl.search.job import LEAST_ROWS, LOG, OUTPUTS, SearchLog, sampled_rows, uses_own_code
from palmette.automl.splitting.data_splits import DataSplits
from palmette.engine.actor import Violation
from palmette.sandbox import ExecutionResult
from palmette.sandbox.reading import read_made

HEADER_BYTES = 1024  # upper limit of the header of a `.npy` file


@dataclass(frozen=True)
class CandidateResult:
    """A trial that finished, with its verified outputs."""

    trial: Trial
    outputs: Floats  # (n, k) probabilities, (n,) in the unit of the target, or (n, 2) for clusters

    @property
    def name(self) -> str:
        return self.trial.candidate.name

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """(n,): the rows whose outputs are finite."""
        return np.asarray(np.isfinite(self.outputs).reshape(len(self.outputs), -1).all(axis=1))

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
    seconds: float = 0.0  # wall-clock time of the search
    rows: int = 0  # number of rows that were sampled; 0 for all
    starting: float = 0.0  # seconds that a program takes to start
    failures: tuple[Violation, ...] = ()  # runs of the driver that crashed, were killed or produced no results

    @classmethod
    def merged(cls, loads: Iterable[CandidateLoad]) -> CandidateLoad:
        """Returns what several runs of the driver left."""
        every = list(loads)
        return cls(
            trials=tuple(one for load in every for one in load.trials),
            results=tuple(one for load in every for one in load.results),
            violations=tuple(one for load in every for one in load.violations),
            processor_seconds=sum(load.processor_seconds for load in every),
            rows=max((load.rows for load in every), default=0),
            starting=max((load.starting for load in every), default=0.0),
            failures=tuple(one for load in every for one in load.failures),
        )

    def after_failure(self, done: ExecutionResult) -> CandidateLoad:
        """Adds the failure of the driver's run, with its output as evidence."""
        wrong = "; ".join(one.message for one in self.violations)
        ending = " ".join(dict.fromkeys((done.note, done.error_line)))
        how = "" if done.ok else f"the search ended ({done.ended}): {ending}".strip()
        message = "; ".join(filter(None, (how, wrong)))[:600] or "the search left nothing"
        found = Violation(code="search-failed", message=message, evidence=done.stderr[-4000:])
        return replace(self, failures=(*self.failures, found))

    def result(self, name: str) -> CandidateResult | None:
        """Returns the result of a candidate, or None."""
        return next((one for one in self.results if one.name == name), None)


def read_results(
    folder: Path,
    problem: Problem,
    rows: int,
    expected: Sequence[Candidate] = (),
    folds: NDArray[np.int64] | None = None,
    whole: bool = True,
) -> CandidateLoad:
    """Reads and verifies the trials and outputs in a folder.

    Args:
        problem: Decides whether outputs are sound.
        rows: Number of rows that outputs must have.
        expected: The candidates of the job. Trials of others are refused, unless only their settings were tuned.
        folds: (n,); if given, outputs may lack the rows of the folds that a trial reports as missing, and no others.
        whole: Whether outputs cover all training rows; partial ones are checked for soundness once they are combined.
    """
    try:
        log = SearchLog.read(folder)
    except (OSError, ValidationError) as error:
        return CandidateLoad(violations=(_violation("trials-unreadable", LOG, f"cannot be read: {str(error)[:300]}"),))
    trials = [one for one in log.trials if not expected or _is_expected(one.candidate, expected)]
    unexpected = [one.candidate.name for one in log.trials if one not in trials]
    violations = [_violation("trials-unreadable", name, "is not a candidate of the job") for name in unexpected]
    every = np.ones(rows, dtype=bool)
    read = [
        _verified(folder, one, problem, rows, _due(one, log, problem, folds, every) if whole else every, whole)
        for one in trials
        if one.status == "finished"
    ]
    results = [one for one in read if isinstance(one, CandidateResult)]
    violations += [one for one in read if isinstance(one, Violation)]
    if not results and not violations:
        untried = ["the time was up; a longer --budget helps"]
        notes = [f"{trial.candidate.name}: {trial.note}" for trial in trials if trial.note] or untried
        violations.append(_violation("no-candidate", LOG, f"has no candidate that finished: {'; '.join(notes)}"))
    return CandidateLoad(
        trials=tuple(trials),
        results=tuple(results),
        violations=tuple(violations),
        processor_seconds=log.processor_seconds,
        rows=log.rows,
        starting=log.starting,
    )


def write_results(folder: Path, load: CandidateLoad) -> None:
    """Writes verified results in the driver's format, for processes that read them later."""
    (folder / OUTPUTS).mkdir(parents=True, exist_ok=True)
    log = SearchLog(
        trials=load.trials, processor_seconds=load.processor_seconds, rows=load.rows, starting=load.starting
    )
    (folder / LOG).write_text(log.model_dump_json(), encoding="utf-8")
    for one in load.results:
        np.save(folder / OUTPUTS / f"{one.name}.npy", one.outputs, allow_pickle=False)


def fit_seconds(trials: Iterable[Trial], blueprint: Blueprint, share: float = 1.0) -> float:
    """Returns the expected seconds to fit candidates together on a share of the rows."""
    every = list(trials)
    return max((one.loading for one in every), default=0.0) + share * _row_seconds(every, blueprint)


def _row_seconds(every: Sequence[Trial], blueprint: Blueprint) -> float:
    """Returns the part of `fit_seconds` that grows with the rows; equal features are computed once."""
    if blueprint.ensembling == "stacking":
        return (blueprint.folds.count + 1) * sum(one.learning + one.encoding for one in every)
    encoding = {encoding_key(one.candidate, blueprint): one.encoding for one in every}
    return sum(one.learning for one in every) + sum(encoding.values())


def fitted_rows(trials: Iterable[Trial], problem: Problem, searched: int, rows: int, seconds: float) -> int:
    """Returns how many of the training rows there is time to fit candidates on, of which `searched` were; 0 for all."""
    every = list(trials)
    left = seconds - fit_seconds(every, problem.blueprint, 0.0)
    kept = max(LEAST_ROWS, int(searched * min(left / max(_row_seconds(every, problem.blueprint), 1e-3), rows)))
    return kept if kept < rows and problem.draws_rows else 0


def comparable(
    results: Sequence[CandidateResult], splits: DataSplits
) -> tuple[tuple[CandidateResult, ...], DataSplits]:
    """Returns results and the training rows that all candidates predicted, on which they are judged alike."""
    rows = np.logical_and.reduce([one.predicted for one in results]) if results else np.ones(len(splits.train), bool)
    if rows.all():
        return tuple(results), splits
    groups, units = (None if one is None else one[rows] for one in (splits.groups, splits.units))
    part = replace(splits, train=splits.train[rows].reset_index(drop=True), groups=groups, units=units)
    return tuple(one.part(rows) for one in results), part


def _due(
    trial: Trial, log: SearchLog, problem: Problem, folds: NDArray[np.int64] | None, every: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """(n,): the rows that must have outputs; None for those that have some, where it is unknown which are missing."""
    if not trial.missing and not log.rows:
        return every
    if folds is None:
        return None
    kept = sampled_rows(len(every), log.rows or len(every), problem.blueprint.seed)
    return np.isin(np.arange(len(every)), kept) & ~np.isin(folds, trial.missing)


def _verified(
    folder: Path, trial: Trial, problem: Problem, rows: int, due: NDArray[np.bool_] | None, whole: bool
) -> CandidateResult | Violation:
    """Reads the outputs of a trial, which must be finite in the rows `due` (n,), and missing in the others."""
    name = trial.candidate.name
    most = HEADER_BYTES + 8 * rows * problem.answer_size(rows)[1]
    try:
        made = np.load(io.BytesIO(read_made(folder / OUTPUTS, f"{name}.npy", most)), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return _violation("outputs-unreadable", name, f"cannot be read: {error}")
    if made.dtype != np.float64 or not made.ndim or len(made) != rows:
        return _violation("outputs-rows", name, f"has outputs of the shape {made.shape}, not of {rows} rows")
    result = CandidateResult(trial, np.asarray(made))
    due = result.predicted if due is None else due
    is_complete = due.any() and (result.predicted == due).all()
    wrong = "has outputs that are not finite" if not is_complete else problem.output_error(made[due]) if whole else ""
    return _violation("outputs-values", name, wrong) if wrong else result


def _is_expected(candidate: Candidate, expected: Sequence[Candidate]) -> bool:
    """Returns whether it is a candidate of the job, or one with other settings of a registered learner."""
    kept = {"name", "settings", "reason"}
    return candidate in expected or any(
        one.tuned and not uses_own_code(one) and one.model_dump(exclude=kept) == candidate.model_dump(exclude=kept)
        for one in expected
    )


def _violation(code: str, subject: str, clause: str) -> Violation:
    return Violation(code=code, message=f"{subject} {clause}"[:600], subject=subject)
